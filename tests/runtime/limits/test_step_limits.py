"""How far a turn may go: steps, pauses, repeated calls, forty calls."""

import pytest

from apps.governance.errors import Invalid
from apps.llm.model_backend import JsonObject, ModelReply, ModelRequest, StopReason, Usage
from apps.runtime.models import Turn
from apps.tenants.actions import amend_agent
from tests.support.database.raw_sql_as_role import run_and_undo
from tests.support.drivers.conversation import (
    calls,
    lines,
    reply,
    run_customer_turn,
    run_turn,
    send_customer_message,
    tool,
)
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def test_the_model_may_call_tools_until_its_steps_are_spent(world: World, standin: StandIn) -> None:
    # R125
    amend_agent(world.agent, actor=world.admin, max_steps=2)
    standin.play(tool("list_skills"), reply("Two steps are enough."))
    assert run_customer_turn(world, "Hello", standin).reply is not None
    standin.play(tool("list_skills"), tool("list_skills"), reply("Three are not."))
    turn = run_turn(world, send_customer_message(world, "Again"), standin.backend)
    assert (turn.status, turn.failure_code) == (Turn.Status.FAILED, "steps_spent")


@pytest.mark.parametrize(("channel", "steps"), [("voice", 6), ("sms", 10)])
def test_a_turn_takes_as_many_steps_as_its_channel_has(
    world: World, standin: StandIn, channel: str, steps: int
) -> None:
    # R124
    amend_agent(world.agent, actor=world.admin, max_steps=40)
    standin.play(*(tool("get_skill", skill_id=number) for number in range(1, 2 * steps)))
    turn = run_turn(
        world, send_customer_message(world, "Hello", channel=channel, customer=f"{channel}:abc123"), standin.backend
    )
    assert (turn.failure_code, len(standin.requests())) == ("steps_spent", steps)


class PausingModel:
    """A model that stops once to go on, as the API may with tools of its own."""

    def __init__(self) -> None:
        self.reasons = [StopReason.PAUSE_TURN, StopReason.END_TURN]

    def complete(self, request: ModelRequest) -> ModelReply:
        reason = self.reasons.pop(0)
        text = "Let me think." if self.reasons else "Done."
        block: JsonObject = {"type": "text", "text": text}
        return ModelReply("msg", request.model, reason, (block,), text, (), Usage(1, 1), is_stand_in=True)


def test_a_pause_of_the_model_goes_on_and_counts_as_a_step(world: World) -> None:
    turn = run_turn(world, send_customer_message(world, "Hello"), PausingModel())
    assert lines(world, turn.conversation_id)[1:] == [("agent", "Let me think."), ("agent", "Done.")]
    assert turn.reply is not None
    assert turn.reply.text == "Done."


def test_the_same_call_again_and_again_is_refused_and_said(world: World, standin: StandIn) -> None:
    standin.play(*[tool("list_skills")] * 3, reply("I give up."))
    made = calls(world, run_customer_turn(world, "Hello", standin))
    assert [call["is_error"] for call in made] == [False, False, True]
    assert "made this very call before" in made[-1]["result"]


def test_a_turn_has_forty_tool_calls(world: World, standin: StandIn) -> None:
    # R125
    amend_agent(world.agent, actor=world.admin, max_steps=40)
    asked = [{"name": "get_skill", "arguments": {"skill_id": number}} for number in range(41)]
    pairs: list[dict[str, object]] = [{"tools": asked[at : at + 2]} for at in range(0, 40, 2)]
    standin.play(*pairs, {"tool": asked[40]}, reply("Enough."))
    made = calls(world, run_customer_turn(world, "Hello", standin))
    assert "More than 40 tool calls" in made[-1]["result"]
    assert "More than 40 tool calls" not in made[-2]["result"]


@pytest.mark.parametrize("steps", [0, 41, 30_000])
def test_an_agent_takes_no_more_steps_than_a_message_may_ask_for(world: World, steps: int) -> None:
    # R124
    with pytest.raises(Invalid) as refused:
        amend_agent(world.agent, actor=world.admin, max_steps=steps)
    assert "max_steps" in refused.value.fields
    raised = run_and_undo(world.admin, "UPDATE tenants_agent SET max_steps = %s", [steps])
    assert raised.constraint == "agent_takes_1_to_40_steps"
