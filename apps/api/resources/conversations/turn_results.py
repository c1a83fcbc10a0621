"""The results of received messages (queued, running, answered or failed), and how to wait for them."""

from dataclasses import asdict, dataclass
from datetime import datetime
from time import monotonic, sleep
from typing import Any

from django.db.models import Sum
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from apps.conversations.models import InboundEvent, Message
from apps.desk.models import Draft
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import NotVisible
from apps.prompt.tables_and_charts import FIGURE_TOOLS, Figure
from apps.runtime.models import ModelCall, Turn
from apps.runtime.tools.table_and_chart_tools import figures_of
from apps.runtime.turns.blocked_turns import is_blocked

WAIT_SECONDS = 60
FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 0.25
QUEUED = "queued"
DELAYED = "delayed"
STATUSES = (QUEUED, DELAYED, *Turn.Status.values)
USAGE_FIELDS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "cost_micro_usd",
)


class TurnUsageSerializer(serializers.Serializer[Any]):
    """Tokens of all model calls of the turn, by billing class."""

    calls = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cache_read_tokens = serializers.IntegerField()
    cache_write_5m_tokens = serializers.IntegerField()
    cache_write_1h_tokens = serializers.IntegerField()
    cost_micro_usd = serializers.IntegerField(allow_null=True, help_text="Null where no price is known.")


class TurnReplySerializer(serializers.Serializer[Any]):
    """The agent's reply, and its usage."""

    text = serializers.CharField()
    model = serializers.CharField()
    is_stand_in = serializers.BooleanField(help_text="True if the stand-in model answered, not a real one.")
    usage = TurnUsageSerializer()
    turn_id = serializers.IntegerField()
    session_id = serializers.IntegerField(allow_null=True)
    message_id = serializers.IntegerField()
    figures = serializers.ListField(
        child=serializers.DictField(), help_text="Tables and charts of the reply; `text` is the text form of each."
    )


class TurnFailureSerializer(serializers.Serializer[Any]):
    """Why there is no reply."""

    code = serializers.CharField()
    detail = serializers.CharField()


class TurnDelaySerializer(serializers.Serializer[Any]):
    """Why the reply is delayed, and what the customer knows of it."""

    code = serializers.CharField()
    detail = serializers.CharField()
    next_attempt_at = serializers.DateTimeField()
    notice = serializers.CharField(help_text="The sentence that was sent to the customer; empty if none was.")


class MessageResultSerializer(serializers.Serializer[Any]):
    """A message that arrived, and its result."""

    event_id = serializers.IntegerField()
    conversation_id = serializers.IntegerField()
    status = serializers.ChoiceField(
        STATUSES,
        help_text="`queued`: no turn yet. `delayed`: the turn waits for a person, a budget or an endpoint; see `delay`.",
    )
    outcome = serializers.ChoiceField(
        Turn.Outcome.choices,
        required=False,
        help_text="Result of an ended turn: a reply; a draft for a person to decide on; a note for colleagues; a question to a "
        "person; nothing.",
    )
    poll = serializers.CharField(help_text="Address to poll.")
    reply = TurnReplySerializer(required=False)
    failure = TurnFailureSerializer(required=False)
    delay = TurnDelaySerializer(required=False)


@dataclass(frozen=True, slots=True)
class TurnUsage:
    """Token counts of a turn."""

    calls: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_5m_tokens: int
    cache_write_1h_tokens: int
    cost_micro_usd: int | None


@dataclass(frozen=True, slots=True)
class TurnReply:
    """The agent's reply."""

    text: str
    model: str
    is_stand_in: bool
    usage: TurnUsage
    turn_id: int
    session_id: int | None
    message_id: int
    figures: list[Figure]


@dataclass(frozen=True, slots=True)
class TurnDelay:
    """Why the reply is delayed."""

    code: str
    detail: str
    next_attempt_at: datetime
    notice: str


@dataclass(frozen=True, slots=True)
class MessageResult:
    """The status of a received message."""

    event_id: int
    conversation_id: int
    status: str
    reply: TurnReply | None = None
    failure_code: str = ""
    failure: str = ""
    came_of_it: str = ""
    is_decided: bool = True
    delay: TurnDelay | None = None

    @property
    def is_final(self) -> bool:
        """Return whether further waiting changes nothing. A pending draft may still be sent later."""
        return self.status not in {QUEUED, DELAYED, Turn.Status.RUNNING} and self.is_decided

    def shown(self, poll: str) -> dict[str, Any]:
        """Return the members of the response."""
        members: dict[str, Any] = {
            "event_id": self.event_id,
            "conversation_id": self.conversation_id,
            "status": self.status,
            "poll": poll,
        }
        if self.came_of_it:
            members["outcome"] = self.came_of_it
        if self.reply:
            members["reply"] = asdict(self.reply)
        if self.status == Turn.Status.FAILED:
            members["failure"] = {"code": self.failure_code, "detail": self.failure}
        if self.delay:
            members["delay"] = asdict(self.delay)
        return members


def wait_seconds(request: Request) -> int:
    """Return how many seconds the client wants to wait."""
    asked = request.query_params.get("wait", "0")
    if not (asked.isascii() and asked.isdigit() and len(asked) <= 2 and int(asked) <= WAIT_SECONDS):
        raise ValidationError({"wait": [f"Send the seconds to wait, from 0 to {WAIT_SECONDS}."]})
    return int(asked)


def wait_for_turn(event_id: int, seconds: int, *, actor: Actor) -> MessageResult:
    """Poll until the turn has ended or the time is up. No transaction is open between two polls."""
    deadline = monotonic() + seconds
    pause = FIRST_PAUSE_SECONDS
    outcome = message_result(event_id, actor=actor)
    while not outcome.is_final and (left := deadline - monotonic()) > 0:
        sleep(min(pause, left))
        pause = min(pause * 1.5, LONGEST_PAUSE_SECONDS)
        outcome = message_result(event_id, actor=actor)
    return outcome


def message_result(event_id: int, *, actor: Actor) -> MessageResult:
    """Return the current status of an event."""
    with acting_as(actor):
        event = InboundEvent.objects.filter(tenant_id=actor.tenant_id, pk=event_id).first()
        if event is None:
            raise NotVisible("There is no such event, or you may not see it.")
        turns = Turn.objects.select_related("session", "delay_notice")
        turn = turns.filter(pk=event.turn_id).first() if event.turn_id else None
        if turn is None:
            return MessageResult(event.pk, event.conversation_id, QUEUED)
        if is_blocked(turn):
            return MessageResult(event.pk, event.conversation_id, DELAYED, delay=_delay(turn))
        return MessageResult(
            event.pk,
            event.conversation_id,
            turn.status,
            _reply(turn) if turn.status == Turn.Status.DONE else None,
            turn.failure_code,
            turn.failure,
            turn.outcome,
            is_decided=not _is_pending_review(turn, actor),
        )


def _delay(turn: Turn) -> TurnDelay:
    notice = turn.delay_notice.text if turn.delay_notice else ""
    return TurnDelay(turn.failure_code, turn.failure, turn.run_at, notice)


def _is_pending_review(turn: Turn, actor: Actor) -> bool:
    is_draft = turn.outcome == Turn.Outcome.DRAFTED
    return is_draft and Draft.objects.visible_to(actor).open().filter(turn_id=turn.pk).exists()


def _reply(turn: Turn) -> TurnReply | None:
    """Return the reply to the customer: from the end of the turn, or from a later time if a person sent its draft."""
    reply = Message.objects.filter(tenant_id=turn.tenant_id, turn_id=turn.pk, is_reply=True).first() or turn.reply
    if reply is None:
        return None
    last = turn.calls.last()
    return TurnReply(
        text=reply.text,
        model=last.model if last else "",
        is_stand_in=bool(last and last.is_stand_in),
        usage=_usage(turn),
        turn_id=turn.pk,
        session_id=turn.session_id,
        message_id=reply.pk,
        figures=_figures(turn),
    )


def _figures(turn: Turn) -> list[Figure]:
    if turn.session is None or not FIGURE_TOOLS & set(turn.session.tool_names):
        return []
    steps = Message.objects.filter(tenant_id=turn.tenant_id, turn_id=turn.pk, sender=Message.Sender.AGENT)
    return figures_of(
        call for calls in steps.order_by("position").values_list("tool_calls", flat=True) for call in calls
    )


def _usage(turn: Turn) -> TurnUsage:
    sums = ModelCall.objects.filter(turn=turn).aggregate(**{name: Sum(name) for name in USAGE_FIELDS})
    cost = sums.pop("cost_micro_usd")
    return TurnUsage(
        calls=turn.calls.count(), cost_micro_usd=cost, **{name: total or 0 for name, total in sums.items()}
    )
