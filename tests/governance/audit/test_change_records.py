"""Change records: one per act, with what stood before and after, vouched for by a hash."""

import pytest

from apps.governance.governed_write import text_sha256
from apps.personas.actions import amend_persona
from apps.skills.actions import amend_skill, discard_skill, draft_skill
from tests.support.audit_records import records
from tests.support.worlds.world import World, make_persona, make_skill, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def test_an_act_leaves_one_record_that_says_who_did_what_and_why(world: World) -> None:
    # R017
    persona = make_persona(world)
    amend_persona(persona, actor=world.operator, values={"style": "Brief."}, reason="Customers asked.")
    [created, amended] = records(world, persona)
    assert (created.act, created.version_before, created.version_after) == ("persona.create", 0, 1)
    assert (created.text.before, created.text.after["style"]) == ({}, "Warm and concise.")
    assert (amended.act, amended.version_before, amended.version_after) == ("persona.amend", 1, 2)
    assert (amended.text.before["style"], amended.text.after["style"]) == ("Warm and concise.", "Brief.")
    assert amended.text.reason == "Customers asked."
    assert (amended.actor_role, amended.actor_label) == ("operator", f"operator:{world.operator_user.pk}")
    assert (amended.actor_user_id, amended.agent_id) == (world.operator_user.pk, None)


def test_an_agents_record_names_the_agent_and_the_evidence(world: World) -> None:
    values = {"title": "Greet", "description": "Hi.", "body": "Hi."}
    skill = draft_skill(world.agent.pk, actor=world.bot, values=values, evidence={"conversation_id": 7})
    [record] = records(world, skill)
    assert (record.actor_role, record.agent_id, record.taint) == ("agent", world.agent.pk, "agent")
    assert record.evidence == {"conversation_id": 7}


def test_a_record_vouches_for_its_text_by_a_salted_hash(world: World) -> None:
    persona = make_persona(world)
    amend_persona(persona, actor=world.operator, values={"style": "Brief."})
    for record in records(world):
        text = record.text
        assert text_sha256(text.salt, text.before, text.after, text.reason) == record.text_sha256
        assert text_sha256(text.salt, text.before, {**text.after, "forged": 1}, text.reason) != record.text_sha256
    salts = [record.text.salt for record in records(world)]
    assert len(set(salts)) == len(salts)


def test_what_nobody_may_read_is_in_no_record(world: World) -> None:
    token = next(record for record in records(world) if record.act == "token.issue")
    assert "digest" not in token.text.after
    assert "prefix" in token.text.after


def test_an_act_that_changes_nothing_leaves_no_record_and_no_version(world: World) -> None:
    persona = make_persona(world)
    amend_persona(persona, actor=world.operator, values={"style": "Warm and concise."})
    assert len(records(world, persona)) == 1
    assert persona.version == 1


def test_a_removal_is_recorded_with_the_words_that_went(world: World) -> None:
    skill = make_skill(world, body="## Procedure\nOld words.")
    skill_id = skill.pk
    discard_skill(skill, actor=world.operator, reason="A duplicate.")
    [drafted, removed] = [
        record for record in records(world) if record.subject_id == skill_id and "skill" in record.act
    ]
    assert (removed.act, removed.version_before, removed.version_after) == ("skill.discard", 1, 0)
    assert (removed.text.before, removed.text.after) == (drafted.text.after, {})


def test_the_database_counts_the_versions(world: World) -> None:
    # R100
    skill = make_skill(world)
    for number in (2, 3):
        assert amend_skill(skill, actor=world.bot, values={"body": f"Body {number}."}).version == number
