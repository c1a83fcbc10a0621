"""Requests of external agents: open a session, call a tool, report a turn."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from apps.api.protocol.idempotency import KEY_HEADER
from apps.api.protocol.request_bodies import RequestBody, StrictBooleanField, StrictIntegerField, StrictTextField
from apps.conversations.inbound_messages import ThreadKey
from apps.conversations.rules import EVENT_CHARACTERS, LINE_CHARACTERS
from apps.governance.actors import Actor
from apps.governance.errors import NotPermitted
from apps.governance.policy.policy_table import Act
from apps.llm.model_backend import ToolUse
from apps.llm.request_body import arguments_of
from apps.runtime.external.external_tool_calls import call_tool
from apps.runtime.external.report_parsing import FAILURE_CHARACTERS, ID_CHARACTERS
from apps.runtime.external.turn_handout import ExternalMessageTerms, ExternalTurn, IncomingMessage, open_external_turn
from apps.runtime.external.turn_report import ExternalTurnReport, ReportedTurn, take_report
from apps.runtime.external.user_turn_sections import split_user_turn
from apps.runtime.models import Turn

MAX_MESSAGES = 20
AGENTS_ONLY_MESSAGE = "Only an agent opens sessions, with its own token. People and workers cannot."


class ExternalMessageBody(RequestBody):
    """One message of the customer."""

    text = StrictTextField(help_text=f"At most {EVENT_CHARACTERS} characters.")
    idempotency_key = StrictTextField(max_length=200, allow_blank=False)
    sender_name = StrictTextField(required=False, max_length=120)
    line = StrictTextField(required=False, source="line_key", max_length=LINE_CHARACTERS)

    @classmethod
    def taken(cls, raw_message: Any, place: int) -> IncomingMessage:
        """Parse one of several messages; an error names the message's position."""
        try:
            body = cls(data=cls()._require_object(raw_message))
            body.is_valid(raise_exception=True)
        except ValidationError as flaw:
            raise ValidationError({f"messages.{place}": flaw.detail}) from flaw
        return IncomingMessage(**body.validated_data)


class OpenSessionBody(RequestBody):
    """The thread, the customer, and the customer's messages."""

    acts = (Act.SESSION_OPEN,)

    channel = StrictTextField(default="http")
    conversation_key = StrictTextField(max_length=200, allow_blank=False)
    end_user_key = StrictTextField(required=False, max_length=200)
    user_hash = StrictTextField(required=False, max_length=64, help_text="Proves the customer, as with a message.")
    off_the_record = StrictBooleanField(required=False, help_text="Settled by the message that opens the conversation.")
    messages = serializers.ListField(
        child=serializers.DictField(),
        required=False,
        max_length=MAX_MESSAGES,
        help_text="What the customer wrote: each `text`, `idempotency_key` and, where known, `sender_name` and `line`. Left out,"
        " the turn that stands or waits is handed out.",
    )


class CallSessionToolBody(RequestBody):
    """A call of one of the session's tools, as the model requested it."""

    acts = (Act.TURN_REPORT,)

    turn_id = StrictIntegerField()
    call_id = StrictTextField(
        max_length=ID_CHARACTERS, allow_blank=False, help_text="The id that the model gave the call."
    )
    name = StrictTextField(max_length=ID_CHARACTERS, allow_blank=False)
    input = serializers.DictField(help_text="Its arguments.")


class ReportTurnBody(RequestBody):
    """The result of the turn."""

    acts = (Act.TURN_REPORT,)

    turn_id = StrictIntegerField()
    messages = serializers.ListField(
        child=serializers.DictField(),
        help_text="In the Messages API's form: each answer with `role`, `content`, `model`, `stop_reason` and `usage`, as the API"
        " gave it, and behind one that called tools a user message with their results.",
    )
    failure = StrictTextField(
        required=False,
        max_length=FAILURE_CHARACTERS,
        help_text="Why there is no answer, where the turn is given up; a person is asked then.",
    )
    idempotency_key = StrictTextField(
        required=False, max_length=200, help_text=f"Where the header {KEY_HEADER} cannot be sent."
    )


class UserTurnSerializer(serializers.Serializer[Any]):
    """The sections of the user turn. The last of `messages` contains all of them already."""

    date_line = serializers.CharField(allow_blank=True)
    off_the_record_line = serializers.CharField(
        allow_blank=True, help_text="The line that tells the agent that the conversation is off the record."
    )
    delivery_directive = serializers.CharField(
        allow_blank=True, help_text="The instruction to the model about what happens to its reply."
    )
    learning = serializers.ListField(child=serializers.CharField(), help_text="Bullets of the learning version.")
    corrections = serializers.ListField(
        child=serializers.DictField(), help_text="Drafts with their corrections by people."
    )
    text = serializers.CharField(help_text="The whole user turn, with customers' text fenced as data.")


class ExternalTurnSerializer(serializers.Serializer[Any]):
    """The turn that waits for its report."""

    id = serializers.IntegerField()
    event_ids = serializers.ListField(child=serializers.IntegerField(), help_text="The events that the turn answers.")
    report_due_at = serializers.DateTimeField(help_text="After this time the turn ends and is escalated to a person.")
    learning_version_id = serializers.IntegerField(
        allow_null=True, help_text="The learning version that the conversation is pinned to."
    )
    max_steps = serializers.IntegerField(help_text="Highest number of model calls in the turn.")
    turn_budget_micro_usd = serializers.IntegerField(allow_null=True)
    day_left_micro_usd = serializers.IntegerField(
        allow_null=True, help_text="What is left of the tenant's daily budget."
    )
    waiting_message_count = serializers.IntegerField(
        help_text="Number of messages that arrived since. The next turn answers them."
    )
    user_turn = UserTurnSerializer()


class ExternalSessionSerializer(serializers.Serializer[Any]):
    """A frozen session and a turn in it, ready to be sent to the model."""

    id = serializers.IntegerField()
    conversation_id = serializers.IntegerField()
    prefix_sha256 = serializers.CharField()
    snapshot_at = serializers.DateTimeField()
    model = serializers.CharField(help_text="The agent's configured model. You may use another.")
    max_tokens = serializers.IntegerField()
    system = serializers.ListField(child=serializers.DictField(), help_text="The frozen prompt, with its cache marks.")
    tools = serializers.ListField(
        child=serializers.DictField(),
        help_text="Built-in tools, which are called through `calls/`. Put your own tools after them.",
    )
    messages = serializers.ListField(child=serializers.DictField(), help_text="The history, with the user turn last.")
    calls = serializers.CharField(help_text="Address for calls of built-in tools.")
    report = serializers.CharField(help_text="Address for the report of the turn.")
    turn = ExternalTurnSerializer()


class SessionToolCallSerializer(serializers.Serializer[Any]):
    """The tool's result. `content` and `is_error` go to the model unchanged."""

    call_id = serializers.CharField()
    name = serializers.CharField()
    content = serializers.CharField()
    is_error = serializers.BooleanField()


class TurnReportSerializer(serializers.Serializer[ReportedTurn]):
    """The result of the turn, and whether the reply may be sent."""

    turn_id = serializers.IntegerField(source="turn.pk")
    session_id = serializers.IntegerField(source="turn.session_id")
    status = serializers.ChoiceField(Turn.Status.choices, source="turn.status")
    outcome = serializers.ChoiceField(Turn.Outcome.choices, source="turn.outcome")
    may_send = serializers.BooleanField(help_text="True only if the reply may be sent to the customer.")
    instruction = serializers.CharField()
    message_id = serializers.IntegerField(source="turn.reply_id", allow_null=True)
    draft_id = serializers.IntegerField(allow_null=True, help_text="The draft that waits for a person's decision.")
    cost_micro_usd = serializers.IntegerField(
        allow_null=True, help_text="Cost by the installation's price list; null if a price is unknown."
    )
    has_waiting_messages = serializers.BooleanField(
        help_text="True: more messages arrived meanwhile. Open the session again."
    )
    failure = serializers.SerializerMethodField()

    @extend_schema_field(serializers.CharField())
    def get_failure(self, reported: ReportedTurn) -> str:
        """Return why there is no reply."""
        return reported.turn.failure


def open_external_session(request: Request, actor: Actor) -> ExternalTurn:
    """Open or continue the session that the body describes."""
    agent_id = _require_agent(actor)
    values = OpenSessionBody.read(request, actor).values
    messages = [ExternalMessageBody.taken(each, place) for place, each in enumerate(values.pop("messages", ()))]
    thread: ThreadKey = {
        "agent_id": agent_id,
        "channel": values.pop("channel"),
        "conversation_key": values.pop("conversation_key"),
    }
    return open_external_turn(thread, ExternalMessageTerms(**values), messages, actor=actor)


def call_session_tool(request: Request, session_id: int, actor: Actor) -> dict[str, Any]:
    """Make the tool call that the body describes."""
    _require_agent(actor)
    sent = CallSessionToolBody.read(request, actor).values
    made = call_tool(session_id, sent["turn_id"], ToolUse(sent["call_id"], sent["name"], sent["input"]), actor=actor)
    return {"call_id": made.call_id, "name": made.name, "content": made.result, "is_error": made.is_error}


def accept_turn_report(request: Request, session_id: int, actor: Actor) -> ReportedTurn:
    """Accept the report of a turn. An idempotency key in the header takes precedence over the body's."""
    _require_agent(actor)
    key = request.headers.get(KEY_HEADER)
    sent = ReportTurnBody.read(request, actor, None, **({"idempotency_key": key} if key else {})).values
    if not sent.get("idempotency_key"):
        raise ValidationError({"idempotency_key": [f"Send the header {KEY_HEADER} with a new key for each report."]})
    turn_id = sent.pop("turn_id")
    return take_report(session_id, turn_id, ExternalTurnReport.of(**sent), actor=actor)


def _require_agent(actor: Actor) -> int:
    if actor.agent_id is None:
        raise NotPermitted(AGENTS_ONLY_MESSAGE)
    return actor.agent_id


def session_payload(out: ExternalTurn, *, calls: str, report: str) -> dict[str, Any]:
    """Return the response: the model request in the API's own format, and additional data."""
    request, session, turn, user_turn = arguments_of(out.request), out.session, out.turn, split_user_turn(out.asked)
    return {
        "id": session.pk,
        "conversation_id": session.conversation_id,
        "prefix_sha256": session.prefix_sha256,
        "snapshot_at": session.snapshot_at,
        "model": request["model"],
        "max_tokens": request["max_tokens"],
        "system": request.get("system", []),
        "tools": request.get("tools", []),
        "messages": request["messages"],
        "calls": calls,
        "report": report,
        "turn": {
            "id": turn.pk,
            "event_ids": [event.pk for event in out.events],
            "report_due_at": turn.deadline_at,
            "learning_version_id": turn.learning_version_id,
            "max_steps": out.max_steps,
            "turn_budget_micro_usd": out.money.turn_budget,
            "day_left_micro_usd": out.money.day_left,
            "waiting_message_count": out.waiting_message_count,
            "user_turn": user_turn,
        },
    }
