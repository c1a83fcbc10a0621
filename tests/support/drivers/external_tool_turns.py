"""Turns that call external tools, against the one real tool server of the session."""

from typing import Any

from apps.governance.database.actor_transaction import acting_as
from apps.runtime.models import ToolStep, Turn
from apps.runtime.worker.sync_driver import answer_conversation
from apps.tools.actions import allow_tool
from apps.tools.models import AgentTool, ToolServer
from tests.support.drivers.conversation import send_customer_message, turn_of
from tests.support.factories.external_tools import tool_named
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World


def allow_agent_tool(world: World, server: ToolServer, name: str, *, waits: bool = False) -> AgentTool:
    found = tool_named(world, server, name)
    return allow_tool(world.agent.pk, found.pk, found.sha256, actor=world.operator, needs_approval=waits)


def run_scripted_turn(
    world: World, standin: StandIn, *script: dict[str, object], text: str = "Hello", **where: Any
) -> Turn:
    standin.play(*script)
    event = send_customer_message(world, text, **where)
    answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend)
    return turn_of(world, event)


def steps(world: World, turn: Turn) -> list[ToolStep]:
    with acting_as(world.system):
        return list(ToolStep.objects.filter(turn=turn))


def offered_external_tools(standin: StandIn) -> list[str]:
    return [definition["name"] for definition in standin.requests()[-1]["tools"] if "__" in definition["name"]]
