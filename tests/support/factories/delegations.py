"""Lawful data of questions between agents."""

from typing import Any

from apps.conversations.models import Conversation, InboundEvent
from apps.governance.database.actor_transaction import acting_as
from apps.runtime.limits.turn_budgets import TurnMoney
from apps.runtime.models import Turn
from apps.runtime.tools.delegation_tools import ask_agent
from apps.runtime.worker.sync_driver import answer_conversation
from tests.support.drivers.conversation import reply, run_turn, send_customer_message, tool
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_conversation, make_invokable

TASK = "What does customer abc123 still owe?"


def make_asking_conversation(world: World) -> Conversation:
    """Make a customer's conversation, with an agent that may ask another one, billing."""
    make_invokable(world)
    return make_conversation(world)


def make_question(world: World, parent: Conversation | None = None, **more: Any) -> Conversation:
    """Make a question of the world's agent to billing."""
    asked: dict[str, Any] = {"agent_key": "billing", "task": "What is owed?", "turn_id": 1, "money": TurnMoney()} | more
    return ask_agent(parent or make_asking_conversation(world), actor=world.bot, **asked)


def ask_billing(
    world: World, standin: StandIn, *, then: str = "One moment, please.", off: bool = False
) -> Conversation:
    """Receive a customer's message, let the agent ask billing, and return the conversation in which it asked."""
    standin.play(tool("delegate", agent_key="billing", task=TASK), reply(then))
    turn = run_turn(world, send_customer_message(world, "What do I owe?", off_the_record=off), standin.backend)
    assert turn.status == Turn.Status.DONE, turn.failure
    with acting_as(world.system):
        return Conversation.objects.select_related("agent").get(pk=turn.conversation_id)


def child_conversation(world: World, parent: Conversation) -> Conversation:
    with acting_as(world.system):
        return Conversation.objects.select_related("agent").get(parent=parent)


def run_next_turn(world: World, conversation: Conversation, standin: StandIn, *script: Any) -> Turn:
    standin.play(*script)
    answer_conversation(world.tenant.pk, conversation.pk, backend=standin.backend)
    with acting_as(world.system):
        return Turn.objects.filter(conversation=conversation).order_by("-pk")[0]


def received_answers(world: World, parent: Conversation) -> list[tuple[str, str]]:
    """Return the answers that the asking agent received."""
    with acting_as(world.system):
        rows = InboundEvent.objects.filter(
            conversation=parent, kind__in=[InboundEvent.Kind.ANSWER, InboundEvent.Kind.PROGRESS]
        ).order_by("pk")
        return [(event.kind, event.text) for event in rows]


def last_request(standin: StandIn) -> dict[str, Any]:
    return standin.requests()[-1]


def last_user_turn(standin: StandIn) -> str:
    """Return the last user turn that a model was sent."""
    return str(last_request(standin)["messages"][-1]["content"][-1]["text"])
