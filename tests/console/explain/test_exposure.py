"""The page that answers who was told a line."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from apps.governance.database.actor_transaction import acting_as
from apps.memory.models import MemoryLine
from apps.personas.actions import amend_persona
from apps.runtime.explain.exposure import exposure_of
from tests.support.drivers.console_client import page_of, page_text, page_words, signed_in
from tests.support.drivers.conversation import run_customer_turn, sessions
from tests.support.factories.explained_replies import explain
from tests.support.factories.lessons import make_version
from tests.support.factories.member_talks import make_assistant, make_talk, message_assistant
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import (
    World,
    make_block,
    make_memory,
    make_overlay,
    make_persona,
    make_profile,
    make_rule,
    make_skill,
    make_world,
)

LAST_30_DAYS = "In the last 30 days"


def exposure_url(row: Model, **asked: str | int) -> str:
    query = f"?{urlencode(asked)}" if asked else ""
    return reverse("admin:exposure", args=[row._meta.label_lower, row.pk]) + query


def exposure_text(client: Client, row: Model, **asked: str | int) -> str:
    page = client.get(exposure_url(row, **asked))
    assert page.status_code == 200
    return page_words(page)


@pytest.mark.slow
def test_every_noun_of_the_prompt_names_the_sessions_that_carried_it(
    world: World, operator: Client, standin: StandIn
) -> None:
    rows = [
        *(make_persona(world), make_overlay(world), make_rule(world), make_skill(world, "approved")),
        *(make_memory(world), make_block(world, is_pinned=True), make_profile(world)),
        make_version(world, "active", "- Say Ahoy."),
    ]
    turn = run_customer_turn(world, "Hello", standin)
    [session] = sessions(world, turn.conversation_id)
    stranger = signed_in(make_world().operator_user)
    for row in rows:
        assert stranger.get(exposure_url(row)).status_code == 404, row
        assert f'href="{exposure_url(row)}"' in page_text(operator.get(page_of(row))), row
        assert f"{LAST_30_DAYS} 1 session of 1 conversation." in exposure_text(operator, row), row
        assert page_of(session) in page_text(operator.get(exposure_url(row))), row


def test_exposure_separates_versions(world: World, operator: Client, standin: StandIn) -> None:
    persona = make_persona(world, style="Brief.")
    first = run_customer_turn(world, "Hello", standin, thread="one")
    amend_persona(persona, actor=world.operator, values={"style": "Rhyming."})
    second = run_customer_turn(world, "Hello", standin, thread="two")
    [before], [after] = (sessions(world, turn.conversation_id) for turn in (first, second))
    of_second = page_text(operator.get(exposure_url(persona, version=2)))
    assert page_of(after) in of_second
    assert page_of(before) not in of_second
    # Fields that nobody changed are of the first version still.
    assert f"{LAST_30_DAYS} 2 sessions of 2 conversations." in exposure_text(operator, persona, version=1)
    assert f"{LAST_30_DAYS} 1 session of 1 conversation." in exposure_text(operator, persona, line="Brief.")
    assert f"{LAST_30_DAYS} 0 sessions" in exposure_text(operator, persona, line="Brief")
    assert f"{LAST_30_DAYS} 0 sessions" in exposure_text(operator, persona, line="Brief.", version=2)
    assert "Nobody, as far as prompts are kept." in exposure_text(operator, persona, version=7)
    page = page_text(operator.get(exposure_url(persona)))
    assert page.index(page_of(after)) < page.index(page_of(before))


def test_a_line_of_memory_leads_to_who_was_told_it(world: World, operator: Client, standin: StandIn) -> None:
    memory = make_memory(world, '- Parcels take "two" days.\n- We close at noon.')
    run_customer_turn(world, "Hello", standin)
    with acting_as(world.operator):
        line = MemoryLine.objects.get(text__contains="Parcels")
    url = exposure_url(memory, line=line.text)
    assert f'href="{url}"' in page_text(operator.get(page_of(line)))
    assert f"{LAST_30_DAYS} 1 session of 1 conversation." in page_words(operator.get(url))


def test_a_bullet_that_is_not_in_a_version_was_told_to_nobody(world: World, operator: Client, standin: StandIn) -> None:
    version = make_version(world, "active", "- Say Ahoy.\n- Be brief.")
    run_customer_turn(world, "Hello", standin)
    assert f"{LAST_30_DAYS} 1 session" in exposure_text(operator, version, line="- Be brief.")
    assert f"{LAST_30_DAYS} 0 sessions" in exposure_text(operator, version, line="- Be long.")


def test_what_is_older_than_thirty_days_is_listed_and_not_counted(world: World, standin: StandIn) -> None:
    persona = make_persona(world)
    run_customer_turn(world, "Hello", standin)
    later = timezone.now() + timedelta(days=31)
    found = exposure_of(persona, actor=world.operator, now=later)
    assert (len(found.carriers), found.recent_sessions, found.recent_conversations) == (1, 0, 0)


def test_off_the_record_and_talks_are_neither_listed_nor_counted(
    world: World, operator: Client, standin: StandIn
) -> None:
    persona = make_persona(world)
    explain(world, standin, off_the_record=True)
    assert f"{LAST_30_DAYS} 0 sessions" in exposure_text(operator, persona)
    aide = make_assistant(world)
    own = make_persona(aide)
    message_assistant(make_talk(aide), "What waits?", aide.operator)
    assert f"{LAST_30_DAYS} 0 sessions" in exposure_text(operator, own)


def test_another_tenants_row_and_what_no_prompt_carries_are_not_there(world: World, operator: Client) -> None:
    persona = make_persona(world)
    assert signed_in(make_world().operator_user).get(exposure_url(persona)).status_code == 404
    assert operator.get(reverse("admin:exposure", args=["desk.draft", 1])).status_code == 404
    assert operator.get(exposure_url(persona, version="seven")).status_code == 422


@pytest.mark.parametrize("asked", [{}, {"line": "Brief."}], ids=["a row", "a line"])
def test_many_sessions_cost_no_more_statements_than_one(
    world: World, operator: Client, standin: StandIn, asked: dict[str, str]
) -> None:
    persona = make_persona(world, style="Brief.")
    run_customer_turn(world, "Hello", standin, thread="one")
    few = statements(operator, exposure_url(persona, **asked))
    for thread in ("two", "three", "four"):
        make_rule(world, f"Rule {thread}.")
        run_customer_turn(world, "Hello", standin, thread=thread)
    assert statements(operator, exposure_url(persona, **asked)) == few
    assert few <= 16


def statements(client: Client, url: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert client.get(url).status_code == 200
    control = ("SAVEPOINT", "RELEASE", "ROLLBACK", "SELECT set_config")
    return sum(not query["sql"].startswith(control) for query in queries)
