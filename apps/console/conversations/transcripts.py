"""Transcript of a conversation: each message with its sender, and each tool call with its result."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Prefetch
from django.urls import reverse

from apps.conversations.models import Conversation, Message
from apps.desk.reports.models import Report
from apps.governance.actors import Actor
from apps.governance.governed_write import may
from apps.governance.policy.policy_table import Act
from apps.prompt.tables_and_charts import Figure
from apps.runtime.tools.table_and_chart_tools import figures_of


@dataclass(frozen=True, slots=True)
class ShownToolCall:
    """One tool call and its result."""

    name: str
    arguments: str
    result: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class TranscriptStep:
    """One step of the transcript."""

    position: int
    sender: str
    text: str
    calls: tuple[ShownToolCall, ...]
    figures: tuple[Figure, ...]
    at: datetime
    turn_id: int | None
    is_reply: bool
    message_id: int
    reports: tuple[Report, ...]

    @property
    def is_agents_reply(self) -> bool:
        """Whether the step is a reply of the agent to its customer. A delay notice is none: it is the agent's setting."""
        return self.is_reply and self.sender == Message.Sender.AGENT and self.turn_id is not None


def transcript(conversation: Conversation) -> list[TranscriptStep]:
    """Return every step. Tool results are shown with their calls, so the rows that carry them to the model are left out."""
    messages = conversation.messages.exclude(sender=Message.Sender.TOOL)
    reports = conversation.reports.exclude(status=Report.Status.WITHDRAWN).order_by("pk")
    return [_transcript_step(message) for message in messages.prefetch_related(Prefetch("reports", reports))]


def reporting_url(conversation: Conversation, actor: Actor) -> str:
    """Return the address where replies are reported; empty off the record, in talks, and for actors who may not report."""
    if conversation.off_the_record or conversation.is_talk or not may(actor, Act.REPORT_CREATE, row=conversation):
        return ""
    return reverse("admin:conversations_conversation_change", args=[conversation.pk])


def transcript_text(lines: Iterable[TranscriptStep], head: Iterable[str]) -> str:
    """Return a transcript to read outside the console; `head` is what the reader needs to know first."""
    return "\n\n".join((*head, *(_step_text(line) for line in lines))) + "\n"


def _step_text(line: TranscriptStep) -> str:
    called = (f"tool {call.name}({call.arguments})\n{call.result}" for call in line.calls)
    figures = (str(figure["text"]) for figure in line.figures)
    parts = (each for each in (line.text, *figures, *called) if each)
    return "\n".join((f"{line.sender.capitalize()}, {line.at:%Y-%m-%d %H:%M %Z}:", *parts))


def _transcript_step(message: Message) -> TranscriptStep:
    calls, figures = tuple(_shown_tool_calls(message.tool_calls)), tuple(figures_of(message.tool_calls))
    of_turn = (message.turn_id, message.is_reply)
    reported = (message.pk, tuple(message.reports.all()))
    return TranscriptStep(
        message.position, message.sender, message.text, calls, figures, message.created_at, *of_turn, *reported
    )


def shown_tool_call(name: str, arguments: object, result: object, *, is_error: bool) -> ShownToolCall:
    """Return a call with its arguments as indented JSON."""
    return ShownToolCall(name, json.dumps(arguments, indent=2, ensure_ascii=False), str(result), is_error)


def _shown_tool_calls(recorded: Iterable[Any]) -> Iterable[ShownToolCall]:
    for call in recorded:
        yield shown_tool_call(call["name"], call["arguments"], call["result"], is_error=bool(call["is_error"]))
