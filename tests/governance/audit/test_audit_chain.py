"""The audit chain: every entry of the books gets its link at the commit, never before, and nobody else writes one."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import IntegrityError, OperationalError, connection, connections

from apps.governance.audit import log_reader
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import NotPermitted
from apps.governance.models import AuditLink, ChangeRecord, Refusal
from apps.review.skill_actions import approve_skill
from apps.skills.actions import draft_skill
from apps.tenants.authentication.actor_resolution import system_actor
from tests.support.database.raw_sql_as_role import NO_RIGHT, run_and_undo
from tests.support.worlds.filled_world import check_deferred_constraints
from tests.support.worlds.world import World, make_skill, make_world

pytestmark = pytest.mark.kernel

RUNBOOK = {"title": "Greet", "description": "How to greet.", "body": "Say hello."}
JOURNALS = (
    *("governance_changerecord", "governance_changetext", "governance_refusal"),
    *("governance_auditlink", "governance_auditcheck"),
)


def links(world: World) -> list[AuditLink]:
    with acting_as(world.operator):
        return list(AuditLink.objects.order_by("position"))


@pytest.mark.django_db
def test_every_record_and_refusal_has_one_link_and_each_names_the_one_before() -> None:
    # R017
    world, other = make_world("not-linked-yet"), make_world()
    skill = make_skill(world)
    with pytest.raises(NotPermitted):
        approve_skill(skill, actor=world.bot, reviewed_sha256=skill.content_sha256)
    assert links(world) == []
    check_deferred_constraints()
    chain = links(world)
    with acting_as(world.operator):
        entries = {("change", pk) for pk in ChangeRecord.objects.values_list("id", flat=True)}
        entries |= {("refusal", pk) for pk in Refusal.objects.values_list("id", flat=True)}
    assert {(link.entry_type, link.entry_id) for link in chain} == entries
    assert [link.position for link in chain] == list(range(1, len(entries) + 1))
    assert [link.previous_sha256 for link in chain] == ["", *(link.sha256 for link in chain[:-1])]
    assert links(other)[0].previous_sha256 == "", "each tenant has a chain of its own"
    assert str(chain[0]) == "Link 1 of the audit chain"


def draft(world: World, title: str) -> None:
    draft_skill(world.agent.pk, actor=world.operator, values={**RUNBOOK, "title": title})


def draft_on_second_connection(world: World, title: str) -> None:
    """Another connection, which gives up rather than wait for a lock."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '500ms'")
        draft(world, title)
    finally:
        connection.close()


@pytest.mark.slow
def test_two_transactions_of_one_tenant_do_not_wait_for_each_other_before_they_commit(committing: str) -> None:
    world = make_world()
    with ThreadPoolExecutor(1) as pool:
        with acting_as(world.operator):
            # The second act checks its references in mid-transaction, with the first one's record unlinked.
            draft(world, "One")
            draft(world, "Two")
            pool.submit(draft_on_second_connection, world, "Beside").result()
            draft(world, "Three")
        chain = links(world)
        assert [link.position for link in chain] == list(range(1, len(chain) + 1))
        before = len(chain)
        with acting_as(world.operator):
            draft(world, "Four")
            check_deferred_constraints()
            with pytest.raises(OperationalError, match="lock timeout"):
                pool.submit(draft_on_second_connection, world, "Held up").result()
    # The draft and its proposal; nothing of the one that was held up.
    assert len(links(world)) == before + 2


@pytest.mark.django_db
@pytest.mark.parametrize("verb", ["UPDATE {} SET tenant_id = tenant_id", "DELETE FROM {}", "TRUNCATE {} CASCADE"])
@pytest.mark.parametrize("table", JOURNALS)
def test_no_role_rewrites_the_books(table: str, verb: str) -> None:
    # R062
    world = make_world()
    skill = make_skill(world)
    with pytest.raises(NotPermitted):
        approve_skill(skill, actor=world.bot, reviewed_sha256=skill.content_sha256)
    check_deferred_constraints()
    for actor in (world.bot, world.operator, world.admin, world.system):
        assert run_and_undo(actor, verb.format(table)).sqlstate == NO_RIGHT


def test_not_even_the_owner_of_the_tables_empties_a_book(committing: str) -> None:
    make_world()
    with connections["owner"].cursor() as cursor:
        for table in JOURNALS:
            with pytest.raises(IntegrityError, match=f"{table} is append-only"):
                cursor.execute(f"TRUNCATE {table} CASCADE")


@pytest.mark.django_db
def test_nobody_writes_a_link_by_hand() -> None:
    world = make_world()
    check_deferred_constraints()
    [first, *_] = links(world)
    forged = (
        "INSERT INTO governance_auditlink (tenant_id, position, entry_type, entry_id, entry_sha256, previous_sha256,"
        " sha256, created_at) VALUES (%s, 99, 'change', 99, 'x', 'x', 'x', now())"
    )
    for actor in (world.bot, world.operator, world.system):
        assert run_and_undo(actor, forged, [world.tenant.pk]).sqlstate == NO_RIGHT
        assert run_and_undo(actor, "SELECT append_audit_link('change', '{}')").sqlstate == NO_RIGHT
    assert run_and_undo(world.operator, "SELECT 1 FROM governance_auditlink WHERE id = %s", [first.pk]).passed
    assert not run_and_undo(world.bot, "SELECT 1 FROM governance_auditlink").passed


@pytest.mark.django_db
def test_an_agent_adds_refusals_of_its_own_and_reads_none() -> None:
    world = make_world()
    adding = (
        "INSERT INTO governance_refusal (tenant_id, act, code, detail, subject_type, actor_role, actor_label, agent_id, created_at)"
        " VALUES (%s, '', 'x', 'x', '', %s, 'x', %s, now())"
    )
    own: list[int | str] = [world.tenant.pk, "agent", world.agent.pk]
    assert run_and_undo(world.bot, adding, own).passed
    assert run_and_undo(world.bot, adding, [world.tenant.pk, "operator", world.agent.pk]).sqlstate == NO_RIGHT
    assert run_and_undo(world.bot, adding, [world.tenant.pk, "agent", world.agent.pk + 1]).sqlstate == NO_RIGHT
    assert run_and_undo(world.bot, "SELECT 1 FROM governance_refusal").sqlstate == NO_RIGHT
    assert run_and_undo(system_actor(world.tenant.pk), adding, own).passed


@pytest.mark.parametrize("book", ["link", "record", "words", "refusal"])
def test_a_hash_covers_every_column_of_its_book(book: str) -> None:
    # Past their caches: whoever asked first may have been untraced.
    names, read = log_reader.column_names.__wrapped__(book), log_reader._select_columns.__wrapped__(book)
    assert "tenant_id" in names
    assert [column.removeprefix(f"{book}.").removesuffix("::text") for column in read] == list(names)
