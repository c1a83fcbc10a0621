"""Whether a resolved conversation goes to the model at all."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from apps.conversations.rules import ConversationLine, ToolCall
from apps.prompt.builtin_tools import PERSISTING_TOOLS, RECALL_TOOLS, SELF_KNOWLEDGE_TOOLS

MIN_MESSAGES = 4


@dataclass(frozen=True, slots=True)
class EligibleConversation:
    """The conversation goes to the model."""


@dataclass(frozen=True, slots=True)
class LearningRejection:
    """The conversation teaches nothing; `verdict` is counted, `reason` is read by people."""

    verdict: str
    reason: str


def check_eligibility(
    lines: Sequence[ConversationLine], outcome: str, *, off_the_record: bool
) -> EligibleConversation | LearningRejection:
    """Refuse without a model call what can or may teach nothing (R110, R113, R178)."""
    if off_the_record:
        return LearningRejection("off-record", "The conversation is off the record; nothing is learned from it.")
    if len(lines) < MIN_MESSAGES:
        return LearningRejection("too-short", f"{len(lines)} messages; at least {MIN_MESSAGES} are needed.")
    if all(call.name in SELF_KNOWLEDGE_TOOLS for line in drop_recalled_calls(lines) for call in line.tool_calls):
        reason = "The agent answered without a tool but those by which it reads and keeps what it knows; that is no procedure."
        return LearningRejection("trivial", reason)
    if outcome == "unsolved":
        return LearningRejection("unsolved", "The conversation did not end well for the customer.")
    return EligibleConversation()


def drop_recalled_calls(lines: Iterable[ConversationLine]) -> list[ConversationLine]:
    """What was said and done, without what the agent read of its skills, memory and notes; of what it wrote there, that it did.

    Learned from, it would come back as new: an agent would confirm itself (R110).
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
