"""The versions of every noun by REST, for people alone."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.launcher.postgres import Postgres
from apps.personas.actions import amend_persona
from apps.personas.models import Persona
from tests.api.protocol.test_other_tenant import JOURNALS_OF_PEOPLE, NOUNS
from tests.governance.audit.test_row_history import erase_change
from tests.support.drivers.rest_client import RestClient, person_client
from tests.support.worlds.world import World, make_conversation, make_persona, make_world

# Journals have no versions, and those of notes, schedules and the desk are read in the console.
VERSIONED = sorted(set(NOUNS) - {"messages", "sessions", "notes", *JOURNALS_OF_PEOPLE})


def make_styled_persona(world: World, *styles: str) -> Persona:
    persona = make_persona(world, style=styles[0])
    for style in styles[1:]:
        amend_persona(persona, actor=world.operator, values={"style": style}, reason="Asked for.")
    return persona


@pytest.mark.parametrize("noun", VERSIONED)
def test_every_governed_noun_shows_its_versions_to_people_and_to_nobody_else(
    world: World, other: World, operator: RestClient, bot: RestClient, noun: str
) -> None:  # R006
    path = f"{noun}/{NOUNS[noun].make(world)}/versions/"
    answer = operator.get(path)
    assert answer.status == 200
    assert answer.body["results"][-1]["version"] == 1
    assert "tenant_id" not in answer.body["results"][-1]["values"]
    assert bot.get(path).code == "not_permitted"
    assert person_client(other.operator_user).get(path).code == "not_found"


def test_a_version_names_act_author_moment_taint_reason_and_values(world: World, operator: RestClient) -> None:
    persona = make_styled_persona(world, "Brief.", "Warm.")
    newest, first = operator.get(f"personas/{persona.pk}/versions").body["results"]
    assert (newest["version"], newest["act"], newest["by"]) == (2, "persona.amend", world.operator.label)
    assert (newest["role"], newest["taint"], newest["reason"]) == ("operator", "operator", "Asked for.")
    assert (newest["values"]["style"], first["values"]["style"]) == ("Warm.", "Brief.")
    assert newest["created_at"] > first["created_at"]


def test_two_versions_are_compared_field_by_field(world: World, operator: RestClient) -> None:
    persona = make_styled_persona(world, "Brief.", "Warm.", "Cold.")
    answer = operator.get(f"personas/{persona.pk}/versions/?from=1&to=3").body
    assert [version["version"] for version in answer["results"]] == [1, 3]
    assert answer["difference"] == [{"field": "style", "before": "Brief.", "after": "Cold."}]


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("from=1", "invalid", "to"),
        ("from=1&to=0", "invalid", "to"),
        ("from=one&to=2", "invalid", "from"),
        ("from=1&to=99999999999999999999", "invalid", "to"),
        ("from=1&to=7", "not_found", "It has versions 1 to 2."),
        ("form=1", "invalid", "There is no such parameter."),
    ],
)
def test_what_cannot_be_compared_is_said(
    world: World, operator: RestClient, query: str, code: str, message: str
) -> None:
    persona = make_styled_persona(world, "Brief.", "Warm.")
    answer = operator.get(f"personas/{persona.pk}/versions/?{query}")
    assert answer.code == code
    assert message in answer.body["detail"]


@pytest.mark.slow
def test_a_long_history_comes_in_pages_that_cost_the_same(world: World, operator: RestClient) -> None:
    short = make_styled_persona(world, "0")
    few = queries(operator, short)
    for number in range(60):
        amend_persona(short, actor=world.operator, values={"style": f"Style {number}."})
    assert queries(operator, short) == few
    page = operator.get(f"personas/{short.pk}/versions/").body
    assert len(page["results"]) == 50
    rest = operator.get(page["next"].removeprefix("http://testserver")).body
    assert [version["version"] for version in rest["results"]] == list(range(11, 0, -1))


def queries(operator: RestClient, persona: Persona) -> int:
    with CaptureQueriesContext(connection) as asked:
        assert operator.get(f"personas/{persona.pk}/versions/").status == 200
    return len(asked)


def test_erased_words_are_a_problem_of_their_own(committing: str, postgres: Postgres) -> None:
    world = make_world()
    persona = make_styled_persona(world, "Brief.", "Warm.")
    erase_change(postgres, committing, world, persona, 1)
    operator = person_client(world.operator_user)
    _, first = operator.get(f"personas/{persona.pk}/versions/").body["results"]
    assert (first["is_erased"], first["values"]) == (True, None)
    answer = operator.get(f"personas/{persona.pk}/versions/?from=1&to=2")
    assert (answer.status, answer.code) == (410, "text_erased")


def test_a_row_is_restored_to_a_version_after_a_look_at_the_plan(
    world: World, operator: RestClient, bot: RestClient
) -> None:
    persona = make_styled_persona(world, "Brief.", "Warm.")
    path = f"personas/{persona.pk}/versions/1/restore/"
    shown = operator.get(path).body
    assert [(step["act"], step["after"]) for step in shown["steps"]] == [("persona.amend", {"style": "Brief."})]
    for refused in (bot.get(path), bot.post(path, {"plan_sha256": shown["sha256"]})):
        assert (refused.status, refused.code) == (403, "not_permitted")
        assert "Only people may restore" in refused.body["detail"]
    amend_persona(persona, actor=world.operator, values={"style": "Cold."})
    moved = operator.post(path, {"plan_sha256": shown["sha256"]})
    assert (moved.status, moved.code) == (409, "stale_plan")
    done = operator.post(path, {"plan_sha256": operator.get(path).body["sha256"]})
    assert (done.status, len(done.body["steps"])) == (200, 1)
    row = operator.get(f"personas/{persona.pk}/").body
    assert (row["style"], row["version"]) == ("Brief.", 4)
    assert operator.get(f"personas/{persona.pk}/versions/9/restore/").code == "not_found"


def test_what_has_no_way_back_says_so_and_a_strangers_row_is_none(
    world: World, other: World, operator: RestClient
) -> None:  # R006
    conversation = make_conversation(world)
    answer = operator.get(f"conversations/{conversation.pk}/versions/1/restore/")
    assert (answer.status, answer.code) == (400, "invalid")
    theirs = make_styled_persona(other, "Brief.", "Warm.")
    assert operator.get(f"personas/{theirs.pk}/versions/1/restore/").code == "not_found"
    assert operator.post(f"personas/{theirs.pk}/versions/1/restore/", {"plan_sha256": "x"}).code == "not_found"
