"""A customer's side of a conversation, and the results."""

from typing import Any

from apps.conversations.actions import receive_message
from apps.conversations.models import Conversation, InboundEvent, Message
from apps.governance.database.actor_transaction import acting_as
from apps.llm.model_backend import ModelBackend
from apps.runtime.models import Session, Turn
from apps.runtime.worker.sync_driver import answer_conversation
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World

CUSTOMER = "http:abc123"


def send_customer_message(
    world: World, text: str, *, thread: str = "thread", key: str = "", customer: str = CUSTOMER, **more: Any
) -> InboundEvent:
    """Receive a message that waits for a turn."""
    return receive_message(
        world.agent.pk,
        actor=world.bot,
        **{"channel": "http"} | more,
        conversation_key=thread,
        end_user_key=customer,
        text=text,
        idempotency_key=key or text[:100],
    )


def run_turn(world: World, event: InboundEvent, backend: ModelBackend) -> Turn:
    """Let a worker take the turn that the event waits for."""
    answer_conversation(world.tenant.pk, event.conversation_id, backend=backend)
    return turn_of(world, event)


def run_customer_turn(
    world: World, text: str, standin: StandIn, *, thread: str = "thread", customer: str = CUSTOMER
) -> Turn:
    """Receive a message and let a worker answer it."""
    turn = run_turn(world, send_customer_message(world, text, thread=thread, customer=customer), standin.backend)
    assert turn.status == Turn.Status.DONE, turn.failure
    return turn


def turn_of(world: World, event: InboundEvent) -> Turn:
    """Return the turn that took the event, in its present state."""
    with acting_as(world.system):
        taken = InboundEvent.objects.get(pk=event.pk)
        assert taken.turn_id is not None, "no worker took the event"
        return Turn.objects.select_related("reply", "session").get(pk=taken.turn_id)


def lines(world: World, conversation_id: int) -> list[tuple[str, str]]:
    """Return the transcript as people read it."""
    with acting_as(world.system):
        rows = Message.objects.filter(conversation=conversation_id).exclude(sender=Message.Sender.TOOL)
        return list(rows.values_list("sender", "text"))


def calls(world: World, turn: Turn) -> list[dict[str, Any]]:  # Any: arguments as the model chose them
    """Return every tool call of a turn with its result."""
    with acting_as(world.system):
        steps = Message.objects.filter(turn_id=turn.pk).exclude(tool_calls=[]).values_list("tool_calls", flat=True)
        return [call for step in steps for call in step]


def prompt(body: dict[str, Any]) -> str:  # Any: a body of the Messages API
    """Return the whole system prompt of a request."""
    return "".join(block["text"] for block in body["system"])


def without_cache_marks(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:  # Any: content of the Messages API
    """Return blocks without their cache marks, which are not content and move from call to call."""
    return [{name: value for name, value in block.items() if name != "cache_control"} for block in blocks]


def sessions(world: World, conversation: Conversation | int) -> list[Session]:
    """Return the sessions of a conversation, oldest first."""
    with acting_as(world.system):
        return list(Session.objects.filter(conversation=conversation).order_by("id"))


def expire_lease(world: World, turn: Turn) -> None:
    """Let time pass until another worker may take the turn."""
    with acting_as(world.system):
        Turn.objects.filter(pk=turn.pk).update(lease_until=turn.started_at, run_at=turn.started_at)


def tool(name: str, **arguments: object) -> dict[str, object]:
    """Return a step of the script: call this tool."""
    return {"tool": {"name": name, "arguments": arguments}}


def reply(text: str, **more: object) -> dict[str, object]:
    """Return a step of the script: answer with this text."""
    return {"reply": {"text": text, **more}}


def fault(kind: str) -> dict[str, object]:
    """Return a step of the script: fail in this way."""
    return {"fault": kind}
