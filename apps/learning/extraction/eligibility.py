"""Decides whether a resolved conversation is sent to the model at all."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from apps.conversations.rules import ConversationLine, ToolCall
from apps.prompt.builtin_tools import PERSISTING_TOOLS, RECALL_TOOLS, SELF_KNOWLEDGE_TOOLS

MIN_MESSAGES = 4


@dataclass(frozen=True, slots=True)
class EligibleConversation:
    """A conversation that is sent to the model."""


@dataclass(frozen=True, slots=True)
class LearningRejection:
    """A conversation from which nothing is learned; `verdict` is counted, `reason` is shown to people."""

    verdict: str
    reason: str


def check_eligibility(
    lines: Sequence[ConversationLine], outcome: str, *, off_the_record: bool
) -> EligibleConversation | LearningRejection:
    """Reject, without a model call, a conversation from which nothing can be learned or may be learned (R110, R113, R178)."""
    if off_the_record:
        return LearningRejection("off-record", "The conversation is off the record; nothing is learned from it.")
    if len(lines) < MIN_MESSAGES:
        return LearningRejection("too-short", f"{len(lines)} messages; at least {MIN_MESSAGES} are needed.")
    if all(call.name in SELF_KNOWLEDGE_TOOLS for line in drop_recalled_calls(lines) for call in line.tool_calls):
        reason = "The agent used no tool except to read and write its own knowledge, so there is no procedure to learn."
        return LearningRejection("trivial", reason)
    if outcome == "unsolved":
        return LearningRejection("unsolved", "The conversation did not end well for the customer.")
    return EligibleConversation()


def drop_recalled_calls(lines: Iterable[ConversationLine]) -> list[ConversationLine]:
    """Drop calls that read the agent's own skills, memory or notes, and the texts that other calls wrote to them.

    Otherwise the agent would learn its own knowledge again as if it were new, and so confirm itself (R110).
    """

    def told(call: ToolCall) -> ToolCall:
        return (
            replace(call, arguments=dict.fromkeys(call.arguments, ""), result="")
            if call.name in PERSISTING_TOOLS
            else call
        )

    return [
        replace(line, tool_calls=tuple(told(call) for call in line.tool_calls if call.name not in RECALL_TOOLS))
        for line in lines
    ]
