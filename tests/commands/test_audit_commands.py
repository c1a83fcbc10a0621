"""verify_audit, export_audit and approval_receipt, as an auditor runs them."""

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings

from apps.governance.audit.hash_chain import link_sha256, row_sha256
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import NotPermitted
from apps.governance.models import AuditCheck, Proposal
from apps.personas.actions import amend_persona, propose_patch
from apps.review.skill_actions import approve_skill
from tests.support.database.committing_fixture import committing
from tests.support.drivers.management_command import run_command
from tests.support.factories.approvals import approve_as_read
from tests.support.worlds.world import World, make_persona, make_skill, make_world

pytestmark = pytest.mark.kernel

__all__ = ["committing"]


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def make_decided_proposal(world: World) -> Proposal:
    proposal = propose_patch(make_persona(world), actor=world.bot, text="Say hello first.")
    return approve_as_read(proposal, world.operator, {"style": "Say hello first."}).proposal


def test_verify_audit_says_that_sound_books_are_sound_and_keeps_that_it_looked(committing: str, tmp_path: Path) -> None:
    # R017
    world, other = make_world(), make_world()
    anchor = tmp_path / "anchors.jsonl"
    seen = run_command("verify_audit", "--anchor", str(anchor), "--export-head")
    assert seen.failure == ""
    heads = lines(seen.out)
    assert [head["tenant"] for head in heads] == [world.tenant.key, other.tenant.key]
    assert lines(anchor.read_text()) == heads
    assert f"{world.tenant.key}: {heads[0]['position']} entries up to link {heads[0]['position']}" in seen.err
    with acting_as(world.operator):
        [check] = AuditCheck.objects.all()
    assert (check.position, check.sha256, check.finding_count) == (heads[0]["position"], heads[0]["sha256"], 0)
    assert str(check) == f"Verification of the audit chain up to link {check.position}"
    assert run_command("verify_audit", "--tenant", world.tenant.key, "--anchor", str(anchor)).failure == ""
    assert len(lines(anchor.read_text())) == 3


def test_verify_audit_fails_and_names_the_row_that_was_changed(committing: str, tmp_path: Path) -> None:
    world = make_world()
    persona = make_persona(world)
    with psycopg.connect(settings.DATABASE_OWNER_URL, dbname=committing) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute("UPDATE governance_changerecord SET actor_label = 'operator:9' WHERE act = 'persona.create'")
        [(record_id,)] = superuser.execute("SELECT id FROM governance_changerecord WHERE act = 'persona.create'")
    anchor = tmp_path / "anchors.jsonl"
    seen = run_command("verify_audit", "--tenant", world.tenant.key, "--anchor", str(anchor))
    assert f"change record {record_id} was altered." in seen.err
    assert seen.failure == "The audit log is not intact: 1 findings."
    assert not anchor.exists(), "a head that does not stand is no anchor"
    assert persona.pk


@pytest.mark.django_db
def test_verify_audit_refuses_what_it_cannot_read(tmp_path: Path) -> None:
    spoiled = tmp_path / "anchors.jsonl"
    spoiled.write_text('{"tenant": "acme"}\n')
    assert "Line 1" in run_command("verify_audit", "--anchor", str(spoiled)).failure
    assert run_command("verify_audit", "--tenant", "nobody").failure == "There is no tenant “nobody”."
    assert "is not an approval receipt" in run_command("verify_audit", "--receipt", str(tmp_path / "nowhere")).failure


def test_what_is_exported_is_enough_to_compute_every_hash_again(committing: str) -> None:
    world = make_world()
    amend_persona(make_persona(world), actor=world.operator, values={"style": "Brief."})
    skill = make_skill(world)
    with pytest.raises(NotPermitted):
        approve_skill(skill, actor=world.bot, reviewed_sha256=skill.content_sha256)
    exported = lines(run_command("export_audit", "--tenant", world.tenant.key).out)
    assert [line["link"]["position"] for line in exported] == list(range(1, len(exported) + 1))
    for line in exported:
        assert row_sha256(line["entry"]) == line["link"]["entry_sha256"]
        assert link_sha256(line["link"]) == line["link"]["sha256"]
        assert "text" not in line
    assert exported[-1]["entry"]["detail"].startswith("An agent may not approve a skill.")
    words = [
        line["text"]
        for line in lines(run_command("export_audit", "--tenant", world.tenant.key, "--with-texts").out)[:-1]
    ]
    assert any(text["after"].get("style") == "Brief." for text in words)
    assert run_command("export_audit", "--tenant", world.tenant.key, "--until", "2001-01-01").out == ""
    assert len(lines(run_command("export_audit", "--tenant", world.tenant.key, "--since", "2001-01-01").out)) == len(
        exported
    )


@pytest.mark.django_db
def test_export_audit_refuses_what_is_no_date_and_no_tenant() -> None:
    assert "is not a date" in run_command("export_audit", "--tenant", "acme", "--since", "yesterday").failure
    assert run_command("export_audit", "--tenant", "nobody").failure == "There is no tenant “nobody”."


def test_a_receipt_says_what_was_decided_and_matches_the_books_until_they_change(
    committing: str, tmp_path: Path
) -> None:
    world = make_world()
    proposal = make_decided_proposal(world)
    printed = run_command("approval_receipt", str(proposal.pk), "--tenant", world.tenant.key).out
    receipt = json.loads(printed)
    assert receipt["decision"]["by"] == world.operator.label
    assert receipt["proposal"]["kind"] == "persona.patch"
    assert [change["act"] for change in receipt["changes"]] == [
        *("persona.propose", "proposal.approve", "persona.amend", "proposal.apply")
    ]
    [approval] = receipt["approvals"]
    assert (approval["by"], approval["is_edited"]) == (world.operator.label, True)
    assert approval["content_sha256"] == receipt["proposal"]["reviewed_sha256"]
    assert all(change["position"] and change["link_sha256"] for change in receipt["changes"])
    kept = tmp_path / "receipt.json"
    kept.write_text(printed)
    assert run_command("verify_audit", "--receipt", str(kept)).out == "The receipt matches the audit log.\n"
    kept.write_text(printed.replace(world.operator.label, "operator:9"))
    failure = run_command("verify_audit", "--receipt", str(kept)).failure
    assert "The approval by operator:9" in failure
    assert "decision.by was 'operator:9'" in failure
    assert f"Change record {receipt['changes'][1]['record_id']} was altered, or moved in the chain" in failure


@pytest.mark.django_db
def test_there_is_no_receipt_of_what_is_not_decided(tmp_path: Path) -> None:
    world = make_world()
    proposal = propose_patch(make_persona(world), actor=world.bot, text="Say hello first.")
    key = world.tenant.key
    assert "not decided yet" in run_command("approval_receipt", str(proposal.pk), "--tenant", key).failure
    assert "no such proposal" in run_command("approval_receipt", "999999", "--tenant", key).failure
    assert run_command("approval_receipt", "1", "--tenant", "nobody").failure == "There is no tenant “nobody”."
    kept = tmp_path / "receipt.json"
    for tenant, message in ((key, "not decided yet"), ("nobody", "no tenant")):
        kept.write_text(json.dumps({"tenant": tenant, "proposal": {"id": proposal.pk}}))
        assert message in run_command("verify_audit", "--receipt", str(kept)).failure
