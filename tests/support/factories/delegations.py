"""Lawful data of questions between agents."""

from typing import Any

from apps.conversations.models import Conversation, InboundEvent
from apps.governance.database.actor_transaction import acting
from apps.runtime.limits.turn_budgets import Money
from apps.runtime.models import Turn
from apps.runtime.tools.delegation_tools import ask_agent
from apps.runtime.worker.sync_driver import answer
from tests.support.drivers.conversation import reply, take, tell, tool
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_conversation, make_invokable

TASK = "What does customer abc123 still owe?"


def make_asking_conversation(world: World) -> Conversation:
    """A customer's, with an agent that may ask another one, billing."""
    make_invokable(world)
    return make_conversation(world)


def make_question(world: World, parent: Conversation | None = None, **more: Any) -> Conversation:
    """What billing was asked by the world's agent."""
    asked: dict[str, Any] = {"agent_key": "billing", "task": "What is owed?", "turn_id": 1, "money": Money()} | more
    return ask_agent(parent or make_asking_conversation(world), actor=world.bot, **asked)


def asks(world: World, standin: StandIn, *, then: str = "One moment, please.", off: bool = False) -> Conversation:
    """A customer writes, the agent asks billing; the conversation in which it asked."""
    standin.play(tool("delegate", agent_key="billing", task=TASK), reply(then))
    turn = take(world, tell(world, "What do I owe?", off_the_record=off), standin.backend)
    assert turn.status == Turn.Status.DONE, turn.failure
    with acting(world.system):
        return Conversation.objects.select_related("agent").get(pk=turn.conversation_id)


def below(world: World, parent: Conversation) -> Conversation:
    with acting(world.system):
        return Conversation.objects.select_related("agent").get(parent=parent)


def take_next(world: World, conversation: Conversation, standin: StandIn, *script: Any) -> Turn:
    standin.play(*script)
    answer(world.tenant.pk, conversation.pk, backend=standin.backend)
    with acting(world.system):
        return Turn.objects.filter(conversation=conversation).order_by("-pk")[0]


def told(world: World, parent: Conversation) -> list[tuple[str, str]]:
    """What the asking agent was told by others."""
    with acting(world.system):
        rows = InboundEvent.objects.filter(
            conversation=parent, kind__in=[InboundEvent.Kind.ANSWER, InboundEvent.Kind.PROGRESS]
        ).order_by("pk")
        return [(event.kind, event.text) for event in rows]


def latest(standin: StandIn) -> dict[str, Any]:
    return standin.requests()[-1]


def said_last(standin: StandIn) -> str:
    """The last user turn that a model was sent."""
    return str(latest(standin)["messages"][-1]["content"][-1]["text"])
