"""The page that shows two sessions beside each other, or one beside now."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.governance.database.actor_transaction import acting_as
from apps.memory.actions import amend_memory
from apps.personas.actions import amend_persona
from apps.prompt.text_reuse.derived_lines import NO_RECEIVED_TEXTS
from apps.runtime.models import Session
from apps.skills.actions import deprecate_skill
from apps.tenants.actions import amend_agent, amend_settings
from apps.tenants.models import TenantSettings
from tests.support.drivers.console_client import page_of, page_words, signed_in
from tests.support.drivers.conversation import run_customer_turn, run_turn, sessions
from tests.support.factories.member_talks import make_assistant, make_talk, message_assistant
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_memory, make_persona, make_skill, make_world

pytestmark = pytest.mark.django_db


def diff_url(session: int, other: int | str = "") -> str:
    return reverse("admin:session_comparison", args=[session]) + (f"?other={other}" if other else "")


def open_session(world: World, standin: StandIn, text: str = "Hello") -> int:
    turn = run_customer_turn(world, text, standin)
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
    session = open_session(impatient, standin)
    with acting_as(impatient.operator):
        link = page_of(Session.objects.get(pk=session))
    assert diff_url(session) in operator.get(link).content.decode()
    assert "The two prompts are the same, byte for byte." in page_words(operator.get(diff_url(session)))
    amend_persona(persona, actor=impatient.operator, values={"style": "Warm."})
    amend_memory(memory, actor=impatient.bot, heard=NO_RECEIVED_TEXTS, body="Lunch is at one.")
    deprecate_skill(skill, actor=impatient.operator)
    page = operator.get(diff_url(session))
    shown = page_words(page)
    assert "3 places" in shown
    assert "persona.amend Persona" in shown
    assert "skill.deprecate Skill" in shown
    assert "memory.amend" in shown
    assert "approved by nobody" in shown
    assert reverse("admin:personas_persona_versions", args=[persona.pk]) in page.content.decode()
    before = open_session(impatient, standin, "And now?")
    beside = operator.get(diff_url(before, session))
    assert f"Session {session}" in page_words(beside)
    assert "<del>Warm</del>" in beside.content.decode()
    assert f"beside session {session}, the one before" in page_words(beside)


def test_what_was_set_up_otherwise_and_the_order_of_slots_are_explained(
    impatient: World, operator: Client, standin: StandIn
) -> None:
    make_persona(impatient, style="Brief.")
    make_memory(impatient, "Lunch is at noon.")
    session = open_session(impatient, standin)
    with acting_as(impatient.admin):
        settings = TenantSettings.objects.get()
    amend_settings(settings, actor=impatient.admin, slot_order="contract_first")
    amend_agent(impatient.agent, actor=impatient.admin, context_tier=1)
    shown = page_words(operator.get(diff_url(session)))
    assert "The order of the slots" in shown
    assert "settings.amend" in shown
    assert "agent.amend Agent" in shown


def test_what_nobody_did_is_said_to_be_unexplained(impatient: World, operator: Client, standin: StandIn) -> None:
    one = open_session(impatient, standin)
    neighbour = run_customer_turn(impatient, "Hello", standin, thread="theirs", customer="http:somebody-else")
    assert neighbour.session_id is not None
    shown = page_words(operator.get(diff_url(one, neighbour.session_id)))
    assert "They belong to two customers." in shown


def test_what_is_not_there_is_refused_in_words(impatient: World, operator: Client, standin: StandIn) -> None:
    session = open_session(impatient, standin)
    missing = operator.get(diff_url(session, 999_999))
    assert missing.status_code == 422
    assert "There is no session 999999 that you may see." in page_words(missing)
    assert operator.get(diff_url(session, "x")).status_code == 422
    stranger = make_world()
    assert signed_in(stranger.operator_user).get(diff_url(session)).status_code == 404
    theirs = open_session(stranger, standin)
    assert operator.get(diff_url(session, theirs)).status_code == 422


def test_talks_of_members_are_nobody_elses_to_compare(world: World, operator: Client, standin: StandIn) -> None:
    aide = make_assistant(world)
    talk = make_talk(aide)
    run_turn(aide, message_assistant(talk, "What waits?", aide.operator), standin.backend)
    [session] = sessions(aide, talk.pk)
    assert operator.get(diff_url(session.pk)).status_code == 404


@pytest.mark.slow
def test_ten_differences_cost_as_many_statements_as_one(impatient: World, operator: Client, standin: StandIn) -> None:
    skills = [make_skill(impatient, "approved", title=f"Skill {at}", name=f"skill-{at}") for at in range(12)]
    session = open_session(impatient, standin)
    deprecate_skill(skills[0], actor=impatient.operator)
    operator.get(diff_url(session))
    with CaptureQueriesContext(connection) as few:
        operator.get(diff_url(session))
    for skill in skills[2::2]:
        deprecate_skill(skill, actor=impatient.operator)
    with CaptureQueriesContext(connection) as many:
        operator.get(diff_url(session))
    assert len(many) == len(few)
