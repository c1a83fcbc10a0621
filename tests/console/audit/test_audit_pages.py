"""The books in the console: verified by a button, taken out by an admin; and the page of who may do what."""

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import AuditCheck, AuditLink, Refusal
from apps.governance.policy.policy_table import POLICY
from apps.tenants.audit_export import MOST_ENTRIES
from apps.tenants.policy_sync.policy_page import verdict
from tests.support.audit_records import is_export_complete
from tests.support.database.committing_fixture import committing
from tests.support.drivers.console_client import form_values, list_of, page_text, page_words, signed_in
from tests.support.worlds.world import World, make_limit, make_persona, make_skill, make_world

__all__ = ["committing"]
CHECKS_PAGE = list_of(AuditCheck)
VERIFY, EXPORT, POLICY_PAGE = (reverse(f"admin:{name}") for name in ("verify_audit_log", "export_audit_log", "policy"))


def checks(world: World) -> list[int]:
    """How many findings each verification had, the latest first."""
    with acting_as(world.operator):
        return list(AuditCheck.objects.values_list("finding_count", flat=True))


def test_the_books_are_verified_by_a_button_and_say_what_was_altered(committing: str) -> None:
    # R017
    world, other = make_world(), make_world()
    client = signed_in(world.operator_user)
    make_persona(world)
    assert "Nobody has verified the books yet." in page_words(client.get(CHECKS_PAGE))
    sound = client.post(VERIFY, form_values(client.get(CHECKS_PAGE).content.decode(), VERIFY))
    assert (sound.status_code, sound["Location"]) == (303, CHECKS_PAGE)
    with acting_as(world.operator):
        count = AuditLink.objects.filter(tenant_id=world.tenant.pk).count()
    assert f"Verified. All {count} entries are as they were written." in page_words(client.get(CHECKS_PAGE))
    with psycopg.connect(settings.DATABASE_OWNER_URL, dbname=committing) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute("UPDATE governance_changerecord SET actor_label = 'operator:9' WHERE act = 'persona.create'")
        [(record_id,)] = superuser.execute("SELECT id FROM governance_changerecord WHERE act = 'persona.create'")
    found = client.post(VERIFY)
    assert found.status_code == 200
    assert "The books do not stand as they were written: 1 finding." in page_words(found)
    assert f"change record {record_id} was altered." in page_words(found)
    assert (checks(world), checks(other)) == ([1, 0], [])


def test_what_is_too_long_for_a_page_is_left_to_the_command(committing: str) -> None:
    world = make_world()
    client = signed_in(world.operator_user)
    with psycopg.connect(settings.DATABASE_OWNER_URL, dbname=committing) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute("UPDATE governance_auditlink SET position = position + %s", [MOST_ENTRIES])
    assert client.post(VERIFY)["Location"] == CHECKS_PAGE
    assert "manage.py verify_audit" in page_words(client.get(CHECKS_PAGE))
    assert checks(world) == []


def test_an_admin_takes_out_the_books_of_some_days(committing: str) -> None:
    world, other = make_world(), make_world()
    make_skill(world)
    make_skill(other)
    admin, operator = signed_in(world.admin_user), signed_in(world.operator_user)
    assert EXPORT not in page_text(operator.get(CHECKS_PAGE))
    today = timezone.localdate().isoformat()
    refused = operator.get(EXPORT, {"since": today, "until": today})
    assert refused.status_code == 403
    assert "Only an admin may export the audit log." in page_words(refused)
    days = form_values(admin.get(CHECKS_PAGE).content.decode(), EXPORT)
    assert days == {"since": timezone.localdate().replace(day=1).isoformat(), "until": today}
    answer = admin.get(EXPORT, days)
    assert answer["Content-Disposition"] == (
        f'attachment; filename="books-{world.tenant.key}-{days["since"]}-{today}.jsonl"'
    )
    assert answer.content.count(b"\n") > 3
    assert is_export_complete(answer.content, world)
    assert admin.get(EXPORT, {"since": "2001-01-01", "until": "2001-01-02"}).content == b""
    for spoiled in ({}, {"since": "yesterday", "until": today}, {"since": today}):
        assert admin.get(EXPORT, spoiled)["Location"] == CHECKS_PAGE
    assert "Name both days, such as 2026-11-01." in page_words(admin.get(CHECKS_PAGE))


def test_nobody_verifies_or_fetches_who_is_not_signed_in(client: Client, operator: Client) -> None:
    assert client.post(VERIFY).status_code == client.get(EXPORT).status_code == 302
    assert operator.get(VERIFY).status_code == 405
    assert operator.post(EXPORT).status_code == 405


def test_a_refused_export_stands_in_the_books(world: World, operator: Client) -> None:
    operator.get(EXPORT)
    with acting_as(world.operator):
        assert Refusal.objects.filter(code="not_permitted").exists()


@pytest.mark.slow
def test_the_policy_page_says_what_the_policy_says_and_what_the_reader_may(
    world: World, operator: Client, admin: Client
) -> None:
    operator.get(POLICY_PAGE)
    with CaptureQueriesContext(connection) as asked:
        page = operator.get(POLICY_PAGE)
    assert len([each for each in asked if each["sql"].startswith("SELECT") and "set_config" not in each["sql"]]) <= 12
    nouns = page.context["nouns"]
    shown = {
        f"{noun.title.lower().replace(' ', '_')}.{row.act.replace(' ', '_')}": row
        for noun in nouns
        for row in noun.rows
    }
    assert set(shown) == {act.value for act in POLICY}
    for act, rule in POLICY.items():
        assert shown[act.value].verdicts == tuple((role.value, verdict(rule, role)) for role in Role)
    assert "Your role here is operator" in page_words(page)
    assert (shown["skill.approve"].is_open, shown["agent.create"].is_open) == (True, False)
    assert "create" in open_to(admin, "Agent")
    make_limit(world)
    assert "approve" not in open_to(operator, "Skill")
    assert "amend" in open_to(operator, "Skill")


def open_to(client: Client, title: str) -> set[str]:
    """What the reader may do to one noun, as the page has it."""
    [noun] = [noun for noun in client.get(POLICY_PAGE).context["nouns"] if noun.title == title]
    return {row.act for row in noun.rows if row.is_open}
