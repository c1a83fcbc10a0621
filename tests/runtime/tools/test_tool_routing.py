"""Sixty tools of somebody else: forty are carried, the others are listed, looked at and called through three of them."""

import json
from dataclasses import dataclass, field

import pytest

from apps.conversations.models import Message
from apps.governance.database.actor_transaction import acting_as
from apps.llm.model_backend import JsonObject, ToolDefinition
from apps.runtime.limits.turn_limits import TOOLS_OFFERED
from apps.runtime.models import ToolStep, Turn
from apps.runtime.tools.builtin_catalog import builtin_tools
from apps.runtime.tools.builtin_tool import DEFAULT_OFFER
from apps.runtime.tools.toolbox import UNKNOWN_OUTCOME, CallOutcome, Toolbox
from apps.runtime.worker.sync_driver import answer_conversation
from apps.tenants.actions import amend_agent
from tests.support.drivers.conversation import expire_lease, reply, send_customer_message, tool, turn_of
from tests.support.drivers.dying_worker import PowerCutError
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db

BUILTIN_TOOLS = builtin_tools(DEFAULT_OFFER)

ROUTING_TOOLS = ["list_resources", "use_resource", "call_tool"]
LAST_TOOL = "tool_60"


@dataclass
class NumberedTool:
    """One of somebody else's many tools."""

    number: int
    repeat_safety: ToolStep.RepeatSafety = ToolStep.RepeatSafety.READ_ONLY
    dies: bool = False
    name: str = ""
    called: list[tuple[JsonObject, str]] = field(default_factory=list)

    @property
    def definition(self) -> ToolDefinition:
        shape: JsonObject = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
        name = self.name or f"tool_{self.number}"
        return ToolDefinition(name, f"Do the thing with number {self.number}.\nIn detail.", shape)

    async def call(self, arguments: JsonObject, *, key: str, timeout_seconds: float) -> CallOutcome:
        assert timeout_seconds
        self.called.append((arguments, key))
        if self.dies and len(self.called) == 1:
            raise PowerCutError
        return CallOutcome(f"Done with {arguments['order']}.")


def toolbox_of(count: int, last: NumberedTool | None = None) -> Toolbox:
    tools = [*(NumberedTool(number) for number in range(1, count)), last or NumberedTool(count)]
    return Toolbox({tool.definition.name: tool for tool in tools})


@pytest.fixture
def world() -> World:
    return make_world()


def tool_step(called: str, arguments: dict[str, object]) -> dict[str, object]:
    """A step of the script whose arguments may be called `name`."""
    return {"tool": {"name": called, "arguments": arguments}}


def run_turn(world: World, standin: StandIn, toolbox: Toolbox, *script: dict[str, object], text: str = "Hello") -> Turn:
    standin.play(*script)
    event = send_customer_message(world, text)
    answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend, toolbox=toolbox)
    return turn_of(world, event)


def routed_call(name: str = LAST_TOOL, **arguments: object) -> dict[str, object]:
    return tool_step("call_tool", {"name": name, "arguments": arguments})


def offered_tools(standin: StandIn, at: int = -1) -> list[str]:
    return [definition["name"] for definition in standin.requests()[at]["tools"]]


def steps(world: World, turn: Turn) -> list[ToolStep]:
    with acting_as(world.system):
        return list(ToolStep.objects.filter(turn=turn))


def test_forty_tools_are_carried_as_they_are(world: World, standin: StandIn) -> None:
    # R125
    count = TOOLS_OFFERED - len(BUILTIN_TOOLS)
    run_turn(world, standin, toolbox_of(count), reply("Hello."))
    assert len(offered_tools(standin)) == TOOLS_OFFERED
    assert not set(ROUTING_TOOLS) & set(offered_tools(standin))


def test_of_more_the_first_are_carried_and_three_lead_to_the_rest(world: World, standin: StandIn) -> None:
    # R125
    run_turn(world, standin, toolbox_of(60), reply("Hello."))
    run_turn(world, standin, toolbox_of(60), reply("Hello again."), text="Hello again")
    names = offered_tools(standin)
    carried = TOOLS_OFFERED - len(BUILTIN_TOOLS) - len(ROUTING_TOOLS)
    assert names == [
        *(own.name for own in BUILTIN_TOOLS),
        *(f"tool_{n}" for n in range(1, carried + 1)),
        *ROUTING_TOOLS,
    ]
    assert offered_tools(standin, 0) == names
    # A bare agent has none of the house's own, and as many in all.
    amend_agent(world.agent, actor=world.admin, has_learning=False, session_idle_seconds=0)
    run_turn(world, standin, toolbox_of(60), reply("Bare."), text="And now?")
    assert offered_tools(standin) == [
        *(f"tool_{n}" for n in range(1, TOOLS_OFFERED - len(ROUTING_TOOLS) + 1)),
        *ROUTING_TOOLS,
    ]


def test_the_rest_is_listed_and_shown(world: World, standin: StandIn) -> None:
    # R125
    script = (
        *(
            tool("list_resources"),
            tool("list_resources", search="NUMBER 60"),
            tool_step("use_resource", {"name": LAST_TOOL}),
        ),
        *(tool_step("use_resource", {"name": "tool_1"}), reply("Good.")),
    )
    turn = run_turn(world, standin, toolbox_of(60), *script)
    everything, found, shown, carried = steps(world, turn)
    carried_count = TOOLS_OFFERED - len(BUILTIN_TOOLS) - len(ROUTING_TOOLS)
    listed = json.loads(everything.result)["tools"]
    assert [line["name"] for line in listed] == [f"tool_{n}" for n in range(carried_count + 1, 61)]
    assert json.loads(found.result) == {"tools": [{"name": LAST_TOOL, "description": "Do the thing with number 60."}]}
    assert json.loads(shown.result)["input_schema"]["required"] == ["order"]
    assert carried.is_error
    assert "list_resources tells those there are" in carried.result
    assert {step.repeat_safety for step in (everything, found, shown)} == {"read_only"}


def test_of_very_many_a_hundred_are_listed_and_the_others_counted(world: World, standin: StandIn) -> None:
    turn = run_turn(world, standin, toolbox_of(200), tool("list_resources"), reply("Good."))
    [listed] = steps(world, turn)
    listing = json.loads(listed.result)
    assert (len(listing["tools"]), listing["more"]) == (
        100,
        200 - (TOOLS_OFFERED - len(BUILTIN_TOOLS) - len(ROUTING_TOOLS)) - 100,
    )


def test_a_routed_call_is_a_call_of_the_tool_it_leads_to(world: World, standin: StandIn) -> None:
    # R125, R127
    last = NumberedTool(60, ToolStep.RepeatSafety.IDEMPOTENT)
    turn = run_turn(world, standin, toolbox_of(60, last), routed_call(order="12"), reply("Done."))
    assert turn.status == Turn.Status.DONE
    assert last.called == [({"order": "12"}, f"{turn.pk}:1:1:0")]
    [step] = steps(world, turn)
    assert (step.name, step.arguments, step.repeat_safety) == (LAST_TOOL, {"order": "12"}, "idempotent")
    assert step.result == "Done with 12."
    with acting_as(world.system):
        message = Message.objects.get(turn_id=turn.pk, sender=Message.Sender.AGENT, is_reply=False)
    assert [call["name"] for call in message.tool_calls] == [LAST_TOOL]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (routed_call(), "'order' is a required property"),
        (routed_call("tool_99", order="12"), "There is no further tool of this name"),
        (routed_call("tool_1", order="12"), "There is no further tool of this name"),
        (tool_step("call_tool", {"name": LAST_TOOL}), "'arguments' is a required property"),
        (tool_step("call_tool", {"name": LAST_TOOL, "arguments": "12"}), "is not of type 'object'"),
        (tool("tool_99", order="12"), "There is no tool tool_99"),
    ],
)
def test_a_routed_call_passes_the_same_checks(
    world: World, standin: StandIn, call: dict[str, object], words: str
) -> None:
    # R125
    last = NumberedTool(60)
    turn = run_turn(world, standin, toolbox_of(60, last), call, reply("Sorry."))
    [step] = steps(world, turn)
    assert step.is_error
    assert words in step.result
    assert last.called == []


def test_the_same_routed_call_again_and_again_is_refused(world: World, standin: StandIn) -> None:
    # R125
    last = NumberedTool(60)
    turn = run_turn(world, standin, toolbox_of(60, last), *[routed_call(order="12")] * 3, reply("I give up."))
    assert [step.is_error for step in steps(world, turn)] == [False, False, True]
    assert len(last.called) == 2


@pytest.mark.parametrize(
    ("repeat_safety", "times", "result"),
    [(ToolStep.RepeatSafety.IDEMPOTENT, 2, "Done with 12."), (ToolStep.RepeatSafety.UNSAFE, 1, UNKNOWN_OUTCOME.text)],
)
def test_what_a_routed_tool_promises_decides_what_is_done_twice(
    world: World, standin: StandIn, repeat_safety: ToolStep.RepeatSafety, times: int, result: str
) -> None:
    # R127
    last = NumberedTool(60, repeat_safety, dies=True)
    toolbox = toolbox_of(60, last)
    with pytest.raises(PowerCutError):
        run_turn(world, standin, toolbox, routed_call(order="12"), reply("Done."))
    with acting_as(world.system):
        turn = Turn.objects.get()
    expire_lease(world, turn)
    answer_conversation(world.tenant.pk, turn.conversation_id, backend=standin.backend, toolbox=toolbox)
    [step] = steps(world, turn)
    assert (step.name, step.result) == (LAST_TOOL, result)
    assert [key for _, key in last.called] == [f"{turn.pk}:1:1:0"] * times


def test_somebody_else_s_tool_of_such_a_name_is_called_as_itself(world: World, standin: StandIn) -> None:
    theirs = NumberedTool(1, name="call_tool")
    toolbox = Toolbox({"call_tool": theirs})
    run_turn(world, standin, toolbox, tool_step("call_tool", {"order": "12", "name": LAST_TOOL}), reply("Done."))
    assert [arguments["order"] for arguments, _ in theirs.called] == ["12"]
