"""Whatever a superuser does to the books with every trigger off, verification finds it and names the row."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from apps.governance.audit.hash_chain import ChainVerification, verify_chain
from apps.governance.audit.log_reader import chain_entries, column_names, unlinked_entries
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import NotPermitted
from apps.governance.models import AuditLink, ChangeRecord
from apps.personas.actions import amend_persona
from apps.review.skill_actions import approve_skill
from tests.support.worlds.world import World, make_persona, make_skill, make_world

pytestmark = pytest.mark.kernel

TABLES = {
    "record": "governance_changerecord",
    "words": "governance_changetext",
    "refusal": "governance_refusal",
    "link": "governance_auditlink",
}
NAMES = {"record": "change record {}", "words": "text of change record {}", "refusal": "refusal {}", "link": "link {}"}
# What says nothing about the change: the number of the row that holds its words.
UNHASHED_COLUMNS = {("words", "id")}


@dataclass(frozen=True)
class Mutation:
    """What somebody does to the books, and the row verification has to name with what it has to say of it."""

    name: str
    statements: tuple[str, ...]
    row: str
    found: str


@dataclass(frozen=True)
class AuditJournals:
    """A tenant whose every journal has rows, and the ids that the mutations aim at."""

    world: World
    record_id: int
    other_record_id: int
    refusal_id: int
    links: list[AuditLink]

    def position_of(self, entry_type: str, entry_id: int) -> int:
        return next(link.position for link in self.links if (link.entry_type, link.entry_id) == (entry_type, entry_id))


def make_journals() -> AuditJournals:
    world = make_world()
    persona = make_persona(world)
    amend_persona(persona, actor=world.operator, values={"style": "Brief."}, reason="Asked.")
    skill = make_skill(world)
    with pytest.raises(NotPermitted):
        approve_skill(skill, actor=world.bot, reviewed_sha256=skill.content_sha256)
    make_skill(world, "approved")
    with acting_as(world.operator):
        links = list(AuditLink.objects.order_by("position"))
    changes = [link.entry_id for link in links if link.entry_type == "change"]
    refused = [link.entry_id for link in links if link.entry_type == "refusal"]
    return AuditJournals(world, changes[3], changes[5], refused[0], links)


@contextmanager
def superuser(database: str) -> Iterator["psycopg.Connection[tuple[object, ...]]"]:
    with psycopg.connect(settings.DATABASE_OWNER_URL, dbname=database) as opened:
        opened.execute("SET session_replication_role = replica")
        yield opened


def verify_tenant(world: World, anchors: dict[int, list[str]] | None = None) -> ChainVerification:
    with acting_as(world.system):
        result = verify_chain((linked for linked, _ in chain_entries(world.tenant.pk)), anchors or {})
        result.findings += unlinked_entries(world.tenant.pk)
    return result


def forged_value(table: str, column: str) -> str:
    """Another value than the column has, of its type."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = %s::regclass AND attname = %s",
            [table, column],
        )
        kind = str(cursor.fetchone()[0])
    return {
        "bigint": f"coalesce({column}, 0) + 1000000",
        "integer": f"{column} + 7",
        "jsonb": "'{\"forged\": 1}'",
        "timestamp with time zone": f"{column} + interval '1 microsecond'",
    }.get(kind, f"CASE {column} WHEN '' THEN 'x' ELSE reverse({column}) END")


def alterations(books: AuditJournals, neighbour: World) -> Iterator[Mutation]:
    """Each column of each journal."""
    where = {
        "record": f"id = {books.record_id}",
        "words": f"record_id = {books.record_id}",
        "refusal": f"id = {books.refusal_id}",
        "link": f"tenant_id = {books.world.tenant.pk} AND position = {books.position_of('change', books.record_id)}",
    }
    aims = {
        "record": books.record_id,
        "words": books.record_id,
        "refusal": books.refusal_id,
        "link": books.position_of("change", books.record_id),
    }
    for book, table in TABLES.items():
        for column in column_names(book):
            if (book, column) in UNHASHED_COLUMNS:
                continue
            gone = (column in {"id", "tenant_id"} and book != "link") or (book, column) == ("link", "tenant_id")
            row = NAMES[book].format(aims[book])
            found = "removed" if gone or (book, column) == ("link", "position") else "altered"
            if book == "words" and column in {"record_id", "tenant_id"}:
                row, found = f"text of change record {books.record_id + 1000000 * (column == 'record_id')}", "inserted"
            value = (
                str(neighbour.tenant.pk) if (book, column) == ("words", "tenant_id") else forged_value(table, column)
            )
            change = f"{column} = {value}"
            yield Mutation(f"{table}.{column}", (update(book, change, where[book]),), row, found)


def delete(book: str, where: str) -> str:
    return f"DELETE FROM {TABLES[book]} WHERE {where}"  # noqa: S608  # names from the models


def update(book: str, change: str, where: str) -> str:
    return f"UPDATE {TABLES[book]} SET {change} WHERE {where}"  # noqa: S608  # names from the models


def copy_row_sql(book: str, column: str, value: int, where: str) -> str:
    """The same row once more with another number."""
    rest = ", ".join(name for name in column_names(book) if name not in {"id", column})
    table = TABLES[book]
    return f"INSERT INTO {table} ({column}, {rest}) SELECT {value}, {rest} FROM {table} WHERE {where}"  # noqa: S608


def other_mutations(books: AuditJournals) -> Iterator[Mutation]:
    """Whole rows removed, moved and put in."""
    record, other, refusal = books.record_id, books.other_record_id, books.refusal_id
    at, then = (books.position_of("change", pk) for pk in (record, other))
    mine = f"tenant_id = {books.world.tenant.pk} AND position"
    of_record, of_refusal, end = f"change record {record}", f"refusal {refusal}", len(books.links) + 1
    unlink = delete("link", f"{mine} = {at}")
    yield Mutation("record removed", (delete("record", f"id = {record}"),), of_record, "removed")
    yield Mutation("refusal removed", (delete("refusal", f"id = {refusal}"),), of_refusal, "removed")
    yield Mutation("words removed", (delete("words", f"record_id = {record}"),), f"text of {of_record}", "removed")
    yield Mutation("link removed", (unlink,), f"link {at}", "removed")
    yield Mutation("record left without its link", (unlink,), of_record, "inserted")
    yield Mutation(
        "link and record removed and the rest renumbered",
        (
            unlink,
            delete("record", f"id = {record}"),
            update("link", "position = -position", f"{mine} > {at}"),
            update("link", "position = -position - 1", f"{mine} < 0"),
        ),
        f"link {at}",
        "reordered",
    )
    yield Mutation(
        "two records swapped",
        (
            update("record", f"id = -{record}", f"id = {record}"),
            update("record", f"id = {record}", f"id = {other}"),
            update("record", f"id = {other}", f"id = -{record}"),
        ),
        of_record,
        "reordered",
    )
    yield Mutation(
        "two links swapped",
        (
            update("link", "position = -1", f"{mine} = {at}"),
            update("link", f"position = {at}", f"{mine} = {then}"),
            update("link", f"position = {then}", f"{mine} = -1"),
        ),
        f"link {at}",
        "reordered",
    )
    yield Mutation(
        "record put in", (copy_row_sql("record", "id", 777777, f"id = {record}"),), "change record 777777", "inserted"
    )
    yield Mutation(
        "refusal put in", (copy_row_sql("refusal", "id", 777777, f"id = {refusal}"),), "refusal 777777", "inserted"
    )
    yield Mutation("link put in", (copy_row_sql("link", "position", end, f"{mine} = {at}"),), f"link {end}", "altered")
    twin = (
        "ALTER TABLE governance_auditlink DROP CONSTRAINT IF EXISTS one_link_per_position",
        copy_row_sql("link", "position", at, f"{mine} = {then}"),
    )
    yield Mutation("second link at a position", twin, f"link {at}", "inserted")


@pytest.mark.slow
def test_every_alteration_removal_swap_and_forgery_is_found_and_named(committing: str) -> None:
    # R017
    neighbour, books = make_world(), make_journals()
    assert verify_tenant(books.world).findings == []
    with superuser(committing) as opened:
        for table in TABLES.values():
            opened.execute(f"CREATE TABLE kept_{table} AS TABLE {table}")
    missed = []
    mutations = list(chain(alterations(books, neighbour), other_mutations(books)))
    for mutation in mutations:
        with superuser(committing) as opened:
            # The key of a row is unique; a moved link would meet the neighbour's first.
            opened.execute("ALTER TABLE governance_auditlink DROP CONSTRAINT IF EXISTS one_link_per_entry")
            for statement in mutation.statements:
                opened.execute(statement)
        findings = verify_tenant(books.world).findings + verify_tenant(neighbour).findings
        found_rows = [(finding.row, finding.kind.value) for finding in findings]
        if (mutation.row, mutation.found) not in found_rows:
            missed.append((mutation.name, mutation.row, mutation.found, found_rows))
        with superuser(committing) as opened:
            for table in TABLES.values():
                opened.execute(f"DELETE FROM {table}")  # noqa: S608
                opened.execute(f"INSERT INTO {table} SELECT * FROM kept_{table}")  # noqa: S608
    assert missed == []
    assert len(mutations) > 45
    assert verify_tenant(books.world).findings == []


def test_a_shortened_chain_is_found_by_an_anchor_and_by_nothing_else(committing: str) -> None:
    books = make_journals()
    head = verify_tenant(books.world)
    anchors = {head.position: [head.sha256]}
    assert verify_tenant(books.world, anchors).findings == []
    cut = books.links[-2:]
    with superuser(committing) as opened:
        for link in cut:
            opened.execute("DELETE FROM governance_auditlink WHERE id = %s", [link.pk])
            opened.execute("DELETE FROM governance_changetext WHERE record_id = %s", [link.entry_id])
            opened.execute("DELETE FROM governance_changerecord WHERE id = %s", [link.entry_id])
    assert verify_tenant(books.world).findings == []
    [finding] = verify_tenant(books.world, anchors).findings
    assert (finding.row, finding.kind) == (f"links {cut[0].position} to {cut[-1].position}", "removed")
    make_skill(books.world)
    make_skill(books.world)
    [finding] = verify_tenant(books.world, anchors).findings
    assert (finding.row, finding.kind) == (f"link {head.position}", "altered")


def test_words_that_are_gone_are_found_and_the_row_they_were_about_is_named(committing: str) -> None:
    books = make_journals()
    with superuser(committing) as opened:
        opened.execute("DELETE FROM governance_changetext WHERE record_id = %s", [books.record_id])
    [finding] = verify_tenant(books.world).findings
    with acting_as(books.world.operator):
        record = ChangeRecord.objects.get(pk=books.record_id)
    assert (finding.row, finding.kind.value) == (f"text of change record {record.pk}", "removed")
    assert f"{record.act} on {record.subject_type} {record.subject_id}" in finding.detail
