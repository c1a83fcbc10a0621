"""The page that shows two sessions beside each other, or one beside now."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.governance.database.actor_transaction import acting
from apps.memory.actions import amend_memory
from apps.personas.actions import amend_persona
from apps.prompt.text_reuse.derived_lines import NOTHING_HEARD
from apps.runtime.models import Session
from apps.skills.actions import deprecate_skill
from apps.tenants.actions import amend_agent, amend_settings
from apps.tenants.models import TenantSettings
from tests.support.drivers.console_client import page_of, signed_in, words_of
from tests.support.drivers.conversation import say, sessions, take
from tests.support.factories.member_talks import make_assistant, make_talk, tell_assistant
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_memory, make_persona, make_skill, make_world

pytestmark = pytest.mark.django_db


def apart_of(session: int, other: int | str = "") -> str:
    return reverse("admin:apart", args=[session]) + (f"?other={other}" if other else "")


def opened(world: World, standin: StandIn, text: str = "Hello") -> int:
    turn = say(world, text, standin)
    assert turn.session_id is not None
    return turn.session_id


@pytest.fixture
def impatient(world: World) -> World:
    """The agent opens a session with every message."""
    amend_agent(world.agent, actor=world.admin, session_idle_seconds=0)
    return world


@pytest.mark.slow
def test_each_difference_stands_above_the_acts_that_made_it(
    impatient: World, operator: Client, standin: StandIn
) -> None:
    persona, memory = make_persona(impatient, style="Brief."), make_memory(impatient, "Lunch is at noon.")
    skill = make_skill(impatient, "approved", title="Issue a refund")
    session = opened(impatient, standin)
    with acting(impatient.operator):
        link = page_of(Session.objects.get(pk=session))
    assert apart_of(session) in operator.get(link).content.decode()
    assert "The two prompts are the same, byte for byte." in words_of(operator.get(apart_of(session)))
    amend_persona(persona, actor=impatient.operator, values={"style": "Warm."})
    amend_memory(memory, actor=impatient.bot, heard=NOTHING_HEARD, body="Lunch is at one.")
    deprecate_skill(skill, actor=impatient.operator)
    page = operator.get(apart_of(session))
    shown = words_of(page)
    assert "3 places" in shown
    assert "persona.amend Persona" in shown
    assert "skill.deprecate Skill" in shown
    assert "memory.amend" in shown
    assert "approved by nobody" in shown
    assert reverse("admin:personas_persona_versions", args=[persona.pk]) in page.content.decode()
    before = opened(impatient, standin, "And now?")
    beside = operator.get(apart_of(before, session))
    assert f"Session {session}" in words_of(beside)
    assert "<del>Warm</del>" in beside.content.decode()
    assert f"beside session {session}, the one before" in words_of(beside)


def test_what_was_set_up_otherwise_and_the_order_of_slots_are_explained(
    impatient: World, operator: Client, standin: StandIn
) -> None:
    make_persona(impatient, style="Brief.")
    make_memory(impatient, "Lunch is at noon.")
    session = opened(impatient, standin)
    with acting(impatient.admin):
        settings = TenantSettings.objects.get()
    amend_settings(settings, actor=impatient.admin, slot_order="contract_first")
    amend_agent(impatient.agent, actor=impatient.admin, context_tier=1)
    shown = words_of(operator.get(apart_of(session)))
    assert "The order of the slots" in shown
    assert "settings.amend" in shown
    assert "agent.amend Agent" in shown


def test_what_nobody_did_is_said_to_be_unexplained(impatient: World, operator: Client, standin: StandIn) -> None:
    one = opened(impatient, standin)
    neighbour = say(impatient, "Hello", standin, thread="theirs", customer="http:somebody-else")
    assert neighbour.session_id is not None
    shown = words_of(operator.get(apart_of(one, neighbour.session_id)))
    assert "They are of two customers." in shown


def test_what_is_not_there_is_refused_in_words(impatient: World, operator: Client, standin: StandIn) -> None:
    session = opened(impatient, standin)
    missing = operator.get(apart_of(session, 999_999))
    assert missing.status_code == 422
    assert "There is no session 999999 that you may see." in words_of(missing)
    assert operator.get(apart_of(session, "x")).status_code == 422
    stranger = make_world()
    assert signed_in(stranger.operator_user).get(apart_of(session)).status_code == 404
    theirs = opened(stranger, standin)
    assert operator.get(apart_of(session, theirs)).status_code == 422


def test_talks_of_members_are_nobody_elses_to_compare(world: World, operator: Client, standin: StandIn) -> None:
    aide = make_assistant(world)
    talk = make_talk(aide)
    take(aide, tell_assistant(talk, "What waits?", aide.operator), standin.backend)
    [session] = sessions(aide, talk.pk)
    assert operator.get(apart_of(session.pk)).status_code == 404


@pytest.mark.slow
def test_ten_differences_cost_as_many_statements_as_one(impatient: World, operator: Client, standin: StandIn) -> None:
    skills = [make_skill(impatient, "approved", title=f"Skill {at}", name=f"skill-{at}") for at in range(12)]
    session = opened(impatient, standin)
    deprecate_skill(skills[0], actor=impatient.operator)
    operator.get(apart_of(session))
    with CaptureQueriesContext(connection) as few:
        operator.get(apart_of(session))
    for skill in skills[2::2]:
        deprecate_skill(skill, actor=impatient.operator)
    with CaptureQueriesContext(connection) as many:
        operator.get(apart_of(session))
    assert len(many) == len(few)
