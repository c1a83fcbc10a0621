"""`diff_prompts`: what two sessions were told differently, and who caused it."""

from itertools import count

import pytest

from apps.governance.acting import acting
from apps.memory.actions import amend_memory
from apps.personas.actions import amend_persona
from apps.runtime.models import Session
from apps.skills.actions import deprecate_skill
from apps.tenants.actions import amend_agent
from tests.actions.conversing import say
from tests.factories import World, make_memory, make_persona, make_skill, make_world
from tests.standing_in import StandIn, standin, standing_in
from tests.surfaces.commands.run import Seen, run

__all__ = ["standin", "standing_in"]

numbers = count(1)

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    world = make_world()
    amend_agent(world.agent, actor=world.admin, session_idle_seconds=0)
    return world


def session(world: World, standin: StandIn) -> int:
    turn = say(world, f"Hello {next(numbers)}", standin)
    assert turn.session_id is not None
    return turn.session_id


def diff(world: World, before: int, after: int | str) -> Seen:
    return run("diff_prompts", f"{world.tenant.key}/{before}", str(after))


def test_each_hunk_names_the_act_the_version_and_who_did_it(world: World, standin: StandIn) -> None:
    persona, memory = make_persona(world, style="Brief."), make_memory(world, "Lunch is at noon.")
    skill = make_skill(world, "approved", title="Issue a refund")
    before = session(world, standin)
    amend_persona(persona, actor=world.operator, values={"style": "Warm."})
    amend_persona(persona, actor=world.admin, values={"avoid": "Never swear."})
    amend_memory(memory, actor=world.bot, body="Lunch is at one.")
    deprecate_skill(skill, actor=world.admin)
    hunks = diff(world, before, session(world, standin)).out.split("@@ ")[1:]
    style, avoid, index, remembered = hunks
    assert "slot 1 persona" in style
    assert f"persona.amend: personas.persona {persona.pk} v2, by {world.operator.label}" in style
    assert "- Brief.\n+ Warm." in style
    assert f"v3, by {world.admin.label}, approved by {world.admin.label}" in avoid
    assert "v2," not in avoid
    assert f"skill.deprecate: skills.skill {skill.pk}" in index
    assert "- - issue-a-refund" in index
    assert f"memory.amend: memory.agentmemory {memory.pk} v2, by {world.bot.label}, approved by nobody" in remembered
    assert '+ "Lunch is at one."' in remembered


def test_equal_prompts_are_said_to_be_equal(world: World, standin: StandIn) -> None:
    make_persona(world)
    one, two = session(world, standin), session(world, standin)
    assert one != two
    assert diff(world, one, two).out == "The two prompts are the same, byte for byte.\n"


def test_now_is_what_a_new_session_would_be_told(world: World, standin: StandIn) -> None:
    persona = make_persona(world, style="Brief.")
    before = session(world, standin)
    assert "same" in diff(world, before, "now").out
    amend_persona(persona, actor=world.operator, values={"style": "Warm."})
    assert "+ Warm." in diff(world, before, "now").out
    with acting(world.system):
        assert Session.objects.count() == 1


def test_what_the_agent_is_set_to_is_a_cause_too(world: World, standin: StandIn) -> None:
    make_persona(world, style="Brief.")
    before = session(world, standin)
    amend_agent(world.agent, actor=world.admin, context_tier=1)
    shown = diff(world, before, "now").out
    assert "- Brief." in shown
    assert f"agent.amend: tenants.agent {world.agent.pk}" in shown


def test_sessions_are_named_with_their_tenant_and_never_across_two(world: World, standin: StandIn) -> None:
    one, other = session(world, standin), make_world()
    assert "Say whose session it is" in run("diff_prompts", str(one), "now").failure
    assert "has no session" in run("diff_prompts", f"{other.tenant.key}/{one}", "now").failure
    assert "both sessions" in diff(world, one, f"{other.tenant.key}/{one}").failure.lower()
    assert "no session's number" in diff(world, one, "later").failure
    assert "same" in run("diff_prompts", str(one), str(one), "--tenant", world.tenant.key).out
