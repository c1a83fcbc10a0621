"""Changes are found by the words they brought or took, in one's own tenant alone, by index, and no customer's through them."""

import re

import psycopg
import pytest
from django.apps import apps
from django.db import connection

from apps.governance.database.actor_transaction import acting_as
from apps.governance.database.full_text_search import SearchHits, rows_with_words
from apps.governance.database.migration_operations import function_text
from apps.governance.models import ChangeRecord, Governed
from apps.launcher.postgres import Postgres
from apps.memory.actions import amend_memory, amend_profile
from apps.personas.actions import amend_persona, amend_rule
from apps.skills.actions import deprecate_skill
from tests.support.database.committing_fixture import committing
from tests.support.database.raw_sql_as_role import NO_RIGHT, run_and_undo
from tests.support.parameter_sampling import whole_or
from tests.support.worlds.world import (
    World,
    make_conversation,
    make_memory,
    make_persona,
    make_profile,
    make_rule,
    make_skill,
    make_world,
)

pytestmark = pytest.mark.kernel

__all__ = ["committing"]
ROWS = whole_or(20_000, whole=100_000)
# A history of one change: each has words of its own, and one in four a common one. Evidence is none, triggers and links are out.
COPY = """
INSERT INTO governance_changerecord SELECT row.* FROM governance_changerecord AS copied, generate_series(1, {rows}) AS number,
    jsonb_populate_record(copied, jsonb_build_object('id', {first} + number, 'version_after', 100 + number)) AS row
    WHERE copied.id = {record};
INSERT INTO governance_changetext SELECT row.* FROM governance_changetext AS copied, generate_series(1, {rows}) AS number,
    jsonb_populate_record(copied, jsonb_build_object('id', {first} + number, 'record_id', {first} + number,
        'before', jsonb_build_object('text', 'parcel' || number - 1, 'note', 'unmoved'),
        'after', jsonb_build_object('text', 'parcel' || number || CASE WHEN number % 4 = 0 THEN ' usually' ELSE '' END,
            'note', 'unmoved'))) AS row
    WHERE copied.record_id = {record}
"""
SCAN_COUNTS = (
    "SELECT pg_stat_get_xact_numscans('change_full_text'::regclass),"
    " pg_stat_get_xact_numscans('governance_changetext'::regclass),"
    " pg_stat_get_xact_numscans('governance_changerecord'::regclass)"
)
# What is sought in that history, how many of the 50 asked for are found, and whether there are too many to look at.
SEARCH_CASES = (
    (f"parcel{ROWS}", 1, False),
    ("parcel777", whole_or(13, whole=50), False),
    ("nothing", 0, False),
    ("unmoved", 0, False),
    ("usually", 50, True),
    ("parcel -usually", 50, True),
)
# The types of rows whose changes the search function leaves out, and those whose creation it does.
LEFT_OUT, FOUND_THEMSELVES = (
    set(re.findall(r"'([\w.]+)'", types))
    for types in re.findall(r"shown\.subject_type (?:NOT )?IN \((.*?)\)", function_text("governance", "search_rows"))
)


def found_acts(world: World, words: str, most: int = 50) -> list[str]:
    """The acts of the changes that hold the words, the newest first."""
    with acting_as(world.operator):
        ids = rows_with_words(words, most, "change")["change"].ids
        acts = dict(ChangeRecord.objects.filter(pk__in=ids).values_list("pk", "act"))
    return [str(acts[each]) for each in ids]


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def test_a_change_is_found_by_what_it_brought_what_it_took_and_why(world: World) -> None:
    # R179
    persona = make_persona(world, style="Warm and brief.", avoid="Never say zephyrine.")
    persona = amend_persona(persona, actor=world.operator, values={"style": "Ochre and terse."})
    assert found_acts(world, "ochre terse") == ["persona.amend"]
    # What it took is found at what took it as well as at what had brought it.
    assert len(found_acts(world, "warm brief")) == 2
    # Words that stood there before and stand there after are none of this change.
    assert len(found_acts(world, "zephyrine")) == 1
    amend_rule(
        make_rule(world, "Goods go back unopened."), actor=world.operator, values={"text": "Goods go back as they are."}
    )
    assert len(found_acts(world, "unopened")) == 2
    assert len(found_acts(world, '"go back as"')) == 1


def test_a_change_is_found_by_the_name_of_what_it_changed(world: World) -> None:
    skill = make_skill(world, "approved", title="Return a zephyrine lamp")
    deprecate_skill(skill, actor=world.operator, reason="Sold out in May.")
    assert "skill.deprecate" in found_acts(world, "zephyrine lamp")
    assert found_acts(world, "sold out") == ["skill.deprecate"]


def test_what_is_found_itself_is_not_found_again_as_having_been_made(world: World) -> None:
    memory = make_memory(world, "A zephyrine lamp is glass.")
    assert found_acts(world, "zephyrine") == []
    amend_memory(memory, actor=world.operator, body="An ochre lamp is glass.")
    assert found_acts(world, "ochre") == found_acts(world, "zephyrine") == ["memory.amend"]


def test_what_was_noted_of_customers_is_not_found_through_the_books(world: World) -> None:
    # R006
    profile = make_profile(world, preferences="Prefers zephyrine lamps.")
    amend_profile(profile, actor=world.operator, values={"preferences": "Prefers letters."})
    assert found_acts(world, "zephyrine") == found_acts(world, "letters") == []
    tied = {each for each in Governed.__subclasses__() if {"conversation", "end_user_key"} & names(each)}
    of_customers = {each._meta.label_lower for each in tied} - {"governance.proposal"}
    assert of_customers - LEFT_OUT == set()
    known = {model._meta.label_lower for model in apps.get_models()}
    assert len(FOUND_THEMSELVES) == 4
    assert known >= LEFT_OUT | FOUND_THEMSELVES


def names(model: type[Governed]) -> set[str]:
    return {field.name for field in model._meta.concrete_fields}


def test_what_came_of_a_conversation_off_the_record_is_not_found(world: World) -> None:
    # R178
    persona = make_persona(world)
    changes = (("style", "Zephyrine.", True), ("avoid", "Ochre.", False))
    for field, words, is_off in changes:
        evidence = {"conversation_id": make_conversation(world, off_the_record=is_off).pk}
        persona = amend_persona(persona, actor=world.operator, values={field: words}, evidence=evidence)
    assert found_acts(world, "zephyrine") == []
    assert found_acts(world, "ochre") == ["persona.amend"]


def test_changes_of_another_tenant_are_nowhere_and_agents_may_not_look(world: World) -> None:
    # R006, R007
    other = make_world()
    make_persona(other, style="Zephyrine.")
    assert found_acts(world, "zephyrine") == []
    assert len(found_acts(other, "zephyrine")) == 1
    for actor in (world.bot, world.system):
        refused = run_and_undo(actor, "SELECT * FROM search_rows('warm', ARRAY['change'], 5)")
        assert refused.sqlstate == NO_RIGHT


def test_words_that_were_erased_from_the_books_are_found_no_more(committing: str, postgres: Postgres) -> None:
    world = make_world()
    make_persona(world, style="Zephyrine.")
    assert len(found_acts(world, "zephyrine")) == 1
    with psycopg.connect(postgres.url_for("postgres", database=committing), autocommit=True) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute("DELETE FROM governance_changetext WHERE after::text LIKE '%Zephyrine%'")
    assert found_acts(world, "zephyrine") == []


def search_and_count_scans(words: str) -> tuple[SearchHits, list[int]]:
    """What is found, and how often the index of words was read by then, and how often either table from end to end."""
    with connection.cursor() as cursor:
        changes = rows_with_words(words, 50, "change")["change"]
        cursor.execute(SCAN_COUNTS)
        reads: list[int] = list(cursor.fetchone() or ())
    return changes, reads


@pytest.mark.slow
@pytest.mark.whole
@pytest.mark.unmeasured
def test_changes_are_found_by_index_under_row_security(committing: str, postgres: Postgres) -> None:
    worlds = [make_world(), make_world()]
    with psycopg.connect(postgres.url_for("postgres", database=committing), autocommit=True) as superuser:
        superuser.execute("SET session_replication_role = replica")
        for number, each in enumerate(worlds, 1):
            persona = make_persona(each)
            with acting_as(each.operator):
                record = ChangeRecord.objects.get(subject_type="personas.persona", subject_id=persona.pk)
            copy = COPY.format(record=record.pk, rows=ROWS, first=10_000_000 * number)
            superuser.execute(copy.encode())
        superuser.execute("VACUUM ANALYZE governance_changetext")
        superuser.execute("VACUUM ANALYZE governance_changerecord")
    with acting_as(worlds[0].operator):
        for number, (words, ids, is_common) in enumerate(SEARCH_CASES, 1):
            changes, reads = search_and_count_scans(words)
            assert (words, len(changes.ids), changes.is_common, reads) == (words, ids, is_common, [number, 0, 0])
            assert all(10_000_000 < row_id <= 10_000_000 + ROWS for row_id in changes.ids)
    assert changes.ids[0] == 10_000_000 + ROWS - 1
