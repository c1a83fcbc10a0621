"""After every tenth turn an agent is asked whether something is worth saving, where it may save at all (R105)."""

from typing import Any

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.memory.models import AgentMemory
from apps.runtime.limits.turn_budgets import TOO_MANY_SAVES
from apps.runtime.limits.turn_limits import TURNS_BETWEEN_NUDGES
from apps.tenants.actions import amend_agent
from tests.support.drivers.conversation import (
    calls,
    expire_lease,
    fault,
    prompt,
    reply,
    run_turn,
    send_customer_message,
    tool,
)
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db

SAVE_REMINDER = "Before you answer: did this conversation teach you something"


def user_turns(world: World, standin: StandIn, turns: int, **more: Any) -> list[str]:
    """The new user turn of each of so many turns, as the model was told it."""
    heard = []
    for number in range(turns):
        standin.play(reply("Fine."))
        run_turn(world, send_customer_message(world, f"Message {number}", **more), standin.backend)
        heard.append(standin.requests()[-1]["messages"][-1]["content"][0]["text"])
    return heard


def test_the_turn_behind_the_tenth_asks_and_the_prefix_does_not_know(standin: StandIn) -> None:
    # R105
    world = make_world()
    heard = user_turns(world, standin, TURNS_BETWEEN_NUDGES + 2)
    assert [SAVE_REMINDER in turn for turn in heard] == [False] * TURNS_BETWEEN_NUDGES + [True, False]
    assert "`draft_skill`" in heard[TURNS_BETWEEN_NUDGES]
    assert SAVE_REMINDER not in prompt(standin.requests()[-1])
    replayed = [message["content"][0].get("text", "") for message in standin.requests()[-1]["messages"]]
    assert sum(SAVE_REMINDER in text for text in replayed) == 1, "what was asked stays where it was asked"


@pytest.mark.slow
def test_it_is_asked_by_the_tools_it_has(standin: StandIn) -> None:
    # R101, R105
    world = make_world()
    amend_agent(world.agent, actor=world.admin, may_edit_skills=True)
    assert "`skill_save`" in user_turns(world, standin, TURNS_BETWEEN_NUDGES + 1)[-1]


def test_an_agent_that_does_not_learn_is_not_asked(standin: StandIn) -> None:
    world = make_world()
    amend_agent(world.agent, actor=world.admin, has_learning=False)
    assert not any(SAVE_REMINDER in turn for turn in user_turns(world, standin, TURNS_BETWEEN_NUDGES + 1))


@pytest.mark.slow
def test_off_the_record_nothing_is_asked(standin: StandIn) -> None:
    # R178
    assert not any(
        SAVE_REMINDER in turn
        for turn in user_turns(make_world(), standin, TURNS_BETWEEN_NUDGES + 1, off_the_record=True)
    )


@pytest.mark.slow
def test_a_reminded_save_uses_up_no_customers_reply(standin: StandIn) -> None:
    # R124
    world = make_world()
    user_turns(world, standin, TURNS_BETWEEN_NUDGES)
    saves = [tool("update_memory", body=f"- Fact {number}.") for number in range(7)]
    standin.play(*saves[:3], fault("overloaded"))
    event = send_customer_message(world, "How late is it?")
    expire_lease(world, run_turn(world, event, standin.backend))
    standin.play(*saves[3:], reply("Late."))
    turn = run_turn(world, event, standin.backend)
    made = calls(world, turn)
    # Whoever takes the turn over is shown the memory first, and nothing is saved by that.
    assert [call["is_error"] for call in made] == [False] * 3 + [True] + [False] * 2 + [True]
    assert made[-1]["result"] == TOO_MANY_SAVES
    assert (turn.reply.text if turn.reply else "") == "Late."
    with acting_as(world.operator):
        assert AgentMemory.objects.visible_to(world.operator).get().body == "- Fact 5."
    standin.play(*(tool("update_memory", body=f"- Fact {number}.") for number in range(10, 17)), reply("Later."))
    turn = run_turn(world, send_customer_message(world, "And now?"), standin.backend)
    assert TOO_MANY_SAVES not in {call["result"] for call in calls(world, turn)}, (
        "where nobody asked, nothing is counted"
    )
