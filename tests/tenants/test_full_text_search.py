"""Words are found in one's own tenant alone, by index, and nothing that was said off the record."""

import re

import psycopg
import pytest
from django.db import connection

from apps.conversations.actions import append_messages
from apps.conversations.off_the_record_erasure import erase_conversation_text
from apps.conversations.rules import ConversationLine
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.database.full_text_search import SearchHits, rows_with_words
from apps.governance.database.migration_operations import function_text
from apps.launcher.postgres import Postgres
from apps.memory.actions import amend_profile, create_profile
from apps.memory.models import ProfileLine
from tests.support.database.committing_fixture import committing
from tests.support.database.raw_sql_as_role import NO_RIGHT, run_and_undo
from tests.support.factories.member_talks import make_talk, turn_into_assistant
from tests.support.parameter_sampling import whole_or
from tests.support.worlds.world import (
    World,
    make_block,
    make_conversation,
    make_memory,
    make_profile,
    make_skill,
    make_world,
)

pytestmark = pytest.mark.kernel

__all__ = ["committing"]
KINDS = ("message", "skill", "memory_line", "memory_block", "proposal", "profile_line")
ROWS = whole_or(20_000, whole=100_000)
# A history of the tenant's only message: each has words of its own, and one in four a common one.
COPY = """
INSERT INTO conversations_message SELECT row.* FROM conversations_message AS copied, generate_series(1, {rows}) AS number,
    jsonb_populate_record(copied, jsonb_build_object('id', {first} + number, 'position', 10 + number, 'turn_id', null,
        'text', 'parcel' || number || CASE WHEN number % 4 = 0 THEN ' usually' ELSE '' END)) AS row
    WHERE copied.id = (SELECT max(id) FROM conversations_message WHERE tenant_id = {tenant})
"""
LINES = """
SET session_replication_role = replica;
INSERT INTO memory_profileline SELECT row.* FROM memory_profileline AS copied, generate_series(1, 5000) AS number,
    jsonb_populate_record(copied, jsonb_build_object('id', 5000000 + number, 'sha256', number::text,
        'text', 'Parcel ' || number)) AS row
"""
SCAN_COUNTS = (
    "SELECT pg_stat_get_xact_numscans('message_full_text'::regclass),"
    " pg_stat_get_xact_numscans('conversations_message'::regclass)"
)
# What is sought in that history, how many of the 50 asked for are found, and whether there are too many to look at.
SEARCH_CASES = (
    (f"parcel{ROWS}", 1, False),
    ("parcel777", whole_or(11, whole=50), False),
    ("nothing", 0, False),
    (f"parcel1{ROWS} or parcel{ROWS}", 1, False),
    ("parcel -usually", 50, True),
    ("usua", 50, True),
)
# By kind: the table and the condition, as the search function has them.
SEARCHED_TABLES = {
    kind: (table, condition)
    for kind, table, condition in re.findall(
        r"IF '(\w+)' = ANY \(kinds\) THEN.*?SELECT id FROM (\w+)\s+WHERE (.*?) AND tenant_id \+ 0",
        function_text("governance", "search_rows"),
        re.DOTALL,
    )
}
INDEXES = {
    "message": "message_full_text",
    "skill": "skill_full_text",
    "memory_line": "memory_line_full_text",
    "memory_block": "memory_block_full_text",
    "proposal": "proposal_full_text",
    "profile_line": "profile_line_full_text",
}


def search_rows(actor: Actor, words: str, most: int = 50) -> dict[str, SearchHits]:
    with acting_as(actor):
        return {kind: each for kind, each in rows_with_words(words, most, *KINDS).items() if each.ids}


def count_hits(world: World, words: str) -> dict[str, int]:
    return {kind: len(each.ids) for kind, each in search_rows(world.operator, words).items()}


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def test_every_kind_is_found_by_its_words_in_ones_own_tenant_alone(world: World) -> None:
    # R006
    other = make_world()
    make_skill(world, title="Return a Zephyrine lamp")
    make_memory(world, "A zephyrine lamp is glass.\nWe ship to the EU.")
    make_block(world, "Zephyrine Lamps")
    make_conversation(world)
    found = search_rows(world.operator, "zephyrine")
    assert {kind: len(each.ids) for kind, each in found.items()} == {
        "skill": 1,
        "memory_line": 1,
        "memory_block": 1,
        "proposal": 1,
    }
    assert count_hits(world, "parcel broken") == {"message": 1}
    assert search_rows(other.operator, "zephyrine") == search_rows(other.operator, "parcel") == {}
    # The tenant is a word of its rows, and nobody can type it.
    number = world.tenant.pk
    for words in (f'"tenant {number}"', f"zephyrine or 'tenant {number}'", f"tenant {number}", "-nothing"):
        assert search_rows(other.operator, words) == {}


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        ("broken", 1),
        ("brok", 1),
        ("BROKEN parcel", 1),
        ('"parcel arrived"', 1),
        ('"arrived parcel"', 0),
        ('"brok"', 0),
        ("broken -parcel", 0),
        ("broken or nothing", 1),
        ("ar", 0),
        ("!!", 0),
        ("", 0),
        ("don't o'hara \\ ' '' :* & | ! ( foo/b'ar <-> http://x.y/a'b?c=(d) a'", 0),
        ("broken' :* \\", 1),
    ],
)
def test_words_are_sought_as_they_are_typed(world: World, words: str, messages: int) -> None:
    make_conversation(world)
    assert count_hits(world, words).get("message", 0) == messages


def test_what_is_off_the_record_or_in_somebodys_own_talk_is_not_found(world: World) -> None:
    # R178, R129
    make_conversation(world, off_the_record=True)
    assert count_hits(world, "parcel") == {}
    member = turn_into_assistant(make_world())
    messages = append_messages(
        make_talk(member), [ConversationLine("operator", "What of the broken parcel?")], actor=member.system
    )
    assert len(messages) == 1
    for actor in (member.operator, member.admin):
        assert search_rows(actor, "parcel") == {}


def test_words_that_were_forgotten_are_in_no_index(world: World) -> None:
    # R178
    conversation = make_conversation(world, off_the_record=True)
    erase_conversation_text(conversation, actor=world.system)
    with acting_as(world.system), connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM conversations_message WHERE build_search_vector(tenant_id, text) @@ 'parcel'::tsquery"
        )
        assert cursor.fetchone() == (0,)


def test_what_is_noted_of_a_customer_is_found_in_ones_own_tenant_while_it_stands(world: World) -> None:
    # R006
    profile = make_profile(world, preferences="Prefers zephyrine lamps.", notes="Lives in Ghent.")
    make_profile(make_world(), notes="Sells zephyrine lamps.")
    assert count_hits(world, "zephyrine lamps") == count_hits(world, "ghent") == {"profile_line": 1}
    amend_profile(profile, actor=world.operator, values={"preferences": "Prefers letters."})
    assert count_hits(world, "zephyrine") == {}
    assert count_hits(world, "letters") == {"profile_line": 1}
    with acting_as(world.system), connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM memory_profileline WHERE text LIKE '%zephyrine%' AND status = 'active'")
        assert cursor.fetchone() == (0,)


def test_what_was_noted_off_the_record_is_not_found(world: World) -> None:
    # R178
    thread, other = make_conversation(world, off_the_record=True), make_conversation(world)
    for key, notes, source in (("http:ann", "Ann likes ochre.", thread), ("http:bob", "Bob likes ochre.", other)):
        create_profile(key, actor=world.bot, values={"notes": notes}, evidence={"conversation_id": source.pk})
    [line] = search_rows(world.operator, "ochre")["profile_line"].ids
    with acting_as(world.operator):
        assert ProfileLine.objects.get(pk=line).text == "Bob likes ochre."


def test_agents_and_workers_may_not_look(world: World) -> None:
    # R007
    make_conversation(world)
    for actor in (world.bot, world.system):
        for kind in ("message", "profile_line"):
            refused = run_and_undo(actor, f"SELECT * FROM search_rows('parcel', ARRAY['{kind}'], 5)")  # noqa: S608
            assert refused.sqlstate == NO_RIGHT


def test_the_newest_come_first_and_no_more_than_asked(world: World) -> None:
    for _ in range(3):
        make_conversation(world)
    found = search_rows(world.operator, "parcel", 2)["message"]
    assert len(found.ids) == 2
    assert list(found.ids) == sorted(found.ids, reverse=True)
    assert not found.is_common


def search_and_count_scans(words: str) -> tuple[SearchHits, list[int]]:
    """What is found of messages, and how often their index of words was read by then, and how often the whole table."""
    with connection.cursor() as cursor:
        found = rows_with_words(words, 50, "message")["message"]
        cursor.execute(SCAN_COUNTS)
        reads: list[int] = list(cursor.fetchone() or ())
    return found, reads


@pytest.mark.slow
@pytest.mark.whole
@pytest.mark.unmeasured
def test_words_are_found_by_index_under_row_security(committing: str, postgres: Postgres) -> None:
    worlds = [make_world(), make_world()]
    for each in worlds:
        make_conversation(each)
    with psycopg.connect(postgres.url_for("postgres", database=committing), autocommit=True) as superuser:
        superuser.execute("SET session_replication_role = replica")
        for number, each in enumerate(worlds, 1):
            superuser.execute(COPY.format(tenant=each.tenant.pk, rows=ROWS, first=10_000_000 * number).encode())
        superuser.execute("VACUUM ANALYZE conversations_message")
    with acting_as(worlds[0].operator):
        for number, (words, ids, is_common) in enumerate(SEARCH_CASES, 1):
            found, reads = search_and_count_scans(words)
            assert (words, len(found.ids), found.is_common, reads) == (words, ids, is_common, [number, 0])
            assert all(10_000_000 < row_id <= 10_000_000 + ROWS for row_id in found.ids)
    assert found.ids[0] == 10_000_000 + ROWS


def test_the_words_of_every_kind_have_their_index(committing: str, postgres: Postgres) -> None:
    # As the function asks, past row security. Of lines of profiles there are some: in an empty table any index would do.
    make_profile(make_world())
    with psycopg.connect(postgres.url_for("postgres", database=committing), autocommit=True) as there:
        there.execute(LINES.encode())
        there.execute("VACUUM ANALYZE memory_profileline")
        there.execute("SET enable_seqscan = off")
        assert SEARCHED_TABLES.keys() == INDEXES.keys()
        for kind, (table, condition) in SEARCHED_TABLES.items():
            look = f"EXPLAIN SELECT id FROM {table} WHERE {condition}".replace("@@ sought", "@@ 'x'::tsquery")  # noqa: S608
            assert INDEXES[kind] in str(there.execute(look.encode()).fetchall())
