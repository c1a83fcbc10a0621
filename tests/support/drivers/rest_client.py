"""REST requests as an agent or a person, and turns with their results."""

import json
from dataclasses import dataclass
from typing import Any

from django.test import Client
from django.utils import timezone

from apps.conversations.models import InboundEvent
from apps.governance.database.actor_transaction import acting_as
from apps.llm.model_backend import JsonObject, ModelReply, StopReason, Usage
from apps.prompt.prompt_input import Slot
from apps.prompt.rendering.segments import Segment, SlotText, encode_segments
from apps.runtime.models import Turn
from apps.runtime.sessions.session_prefix import open_session
from apps.runtime.turn_store.journal_rows import CallNotes, call_row
from apps.runtime.turn_store.model_steps import AssistantMessage, TurnStep
from apps.runtime.turn_store.turn_claim import claim_turn
from apps.runtime.turn_store.turn_journal import RenderedUserTurn, TurnEnd, close_turn, enter_session, record_steps
from apps.tenants.models import User
from tests.support.worlds.world import World

ROOT = "/api/v1"


@dataclass(frozen=True)
class Answer:
    """A response of the API."""

    status: int
    body: Any
    headers: Any

    @property
    def code(self) -> str:
        """The code of the problem document."""
        return str(self.body["code"])


@dataclass(frozen=True)
class RestClient:
    """A client with credentials."""

    client: Client

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send one request; a body that is not a text is sent as JSON."""
        content = body if isinstance(body, str | bytes) else json.dumps(body)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        options: dict[str, Any] = {"headers": given}
        if body is not None:
            options |= {"data": content, "content_type": "application/json"}
        response = self.client.generic(method, path if path.startswith("/") else f"{ROOT}/{path}", **options)
        is_json = response.content and response.headers.get("Content-Type", "").partition(";")[0].endswith("json")
        return Answer(response.status_code, response.json() if is_json else response.content, response.headers)

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        return self.ask("POST", path, body, **headers)

    def patch(self, path: str, body: Any, **headers: str) -> Answer:
        return self.ask("PATCH", path, body, **headers)

    def put(self, path: str, body: Any) -> Answer:
        return self.ask("PUT", path, body)

    def delete(self, path: str, **headers: str) -> Answer:
        return self.ask("DELETE", path, **headers)


def agent_client(world: World) -> RestClient:
    return bearer(world.token)


def bearer(token: str) -> RestClient:
    return RestClient(Client(headers={"Authorization": f"Bearer {token}"}))


def person_client(user: User, *, enforce_csrf_checks: bool = False) -> RestClient:
    client = Client(enforce_csrf_checks=enforce_csrf_checks)
    client.force_login(user)
    return RestClient(client)


def answer_event(world: World, event: InboundEvent, text: str = "Done.") -> Turn:
    """Take the turn of an event as a worker does, with a model that answers with this text."""
    claimed = claim_turn(event.conversation_id, actor=world.system)
    assert claimed is not None
    frozen = open_session(claimed.conversation, world.agent, system=world.system, agent_actor=world.bot)
    enter_session(claimed.turn, frozen.session, actor=world.system)
    message: JsonObject = {"role": "assistant", "content": text}
    record_steps(claimed.turn, [_model_call_row(1, text, message)], [], 2, actor=world.system)
    last = _model_call_row(2, text, message)
    close_turn(claimed, _asked_event(event), [TurnStep(text, message)], calls=[last], actor=world.system)
    with acting_as(world.system):
        claimed.turn.refresh_from_db()
    return claimed.turn


def fail_event(world: World, event: InboundEvent) -> Turn:
    """Let a turn end without a reply."""
    claimed = claim_turn(event.conversation_id, actor=world.system)
    assert claimed is not None
    ending = TurnEnd(Turn.Status.FAILED, Turn.Outcome.SILENT, "overloaded", "The provider has no capacity just now.")
    close_turn(claimed, _asked_event(event), (), ending, actor=world.system)
    return claimed.turn


def _model_call_row(step: int, text: str, message: JsonObject) -> JsonObject:
    reply = ModelReply(
        "msg_1", "stand-in", StopReason.END_TURN, (), text, (), Usage(120, 30, 900, 40, 5), is_stand_in=True
    )
    return call_row(AssistantMessage(step, text, message, "end_turn"), reply, _call_notes(), None)


def _call_notes() -> CallNotes:
    return CallNotes(timezone.now(), "", "", 900, has_unexpected_miss=False, cache_entries="", cache_ledger={})


def _asked_event(event: InboundEvent) -> RenderedUserTurn:
    slot_text = SlotText(Slot.TURN, (Segment(event.text, None, "event"),))
    return RenderedUserTurn({"role": "user", "content": event.text}, encode_segments(slot_text))
