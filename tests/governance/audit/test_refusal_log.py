"""Refused attempts: each stays in the tenant's books once, although the refused transaction leaves nothing."""

import pytest
from django.db import transaction

from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as, after_transaction
from apps.governance.errors import (
    Conflict,
    GovernanceError,
    IllegalTransition,
    Invalid,
    NotPermitted,
    NotVisible,
    Stale,
    UngovernedWrite,
)
from apps.governance.governed_write import authorize, governed
from apps.governance.models import Refusal
from apps.governance.policy.policy_table import Act
from apps.governance.refusal_log import record_refusal
from apps.personas.actions import amend_persona
from apps.review.skill_actions import approve_skill
from apps.skills.actions import amend_skill, draft_skill
from apps.skills.models import Skill
from tests.support.worlds.world import World, make_persona, make_skill, make_world

pytestmark = pytest.mark.django_db

RUNBOOK = {"title": "Greet", "description": "How to greet.", "body": "Say hello."}


@pytest.fixture
def world() -> World:
    return make_world()


def refusals(world: World) -> list[Refusal]:
    with acting_as(world.operator):
        return list(Refusal.objects.order_by("id"))


def test_a_refused_attempt_says_who_tried_what_on_which_row_and_what_was_answered(world: World) -> None:
    # R017
    persona = make_persona(world)
    with pytest.raises(NotPermitted) as refused:
        amend_persona(persona, actor=world.bot, values={"style": "Brief."})
    [kept] = refusals(world)
    assert (kept.act, kept.code, kept.detail) == ("persona.amend", "not_permitted", str(refused.value))
    assert (kept.subject_type, kept.subject_id) == ("personas.persona", persona.pk)
    assert (kept.actor_role, kept.actor_label, kept.agent_id) == ("agent", world.bot.label, world.agent.pk)
    assert kept.actor_user_id == world.bot.user_id
    assert str(kept) == f"persona.amend refused to {world.bot.label}"


def draft_and_approve(world: World) -> None:
    with acting_as(world.bot):
        skill = draft_skill(world.agent.pk, actor=world.bot, values=RUNBOOK)
        approve_skill(skill, actor=world.bot, reviewed_sha256=skill.content_sha256)


def test_the_attempt_stays_when_everything_around_it_is_rolled_back(world: World) -> None:
    with pytest.raises(NotPermitted):
        draft_and_approve(world)
    with acting_as(world.operator):
        assert not Skill.objects.visible_to(world.operator).exists()
    assert [kept.act for kept in refusals(world)] == ["skill.approve"]


def test_the_attempt_stays_when_the_surface_answers_and_rolls_back(world: World) -> None:
    skill = make_skill(world)
    with acting_as(world.bot):
        with pytest.raises(NotPermitted):
            approve_skill(skill, actor=world.bot, reviewed_sha256=skill.content_sha256)
        transaction.set_rollback(True)
    assert len(refusals(world)) == 1


def test_one_refusal_is_kept_once_however_many_floors_it_passes(world: World) -> None:
    refusal = NotPermitted("No.")
    with acting_as(world.operator):
        for _ in range(2):
            record_refusal(refusal, world.operator)
        assert not Refusal.objects.exists(), "nothing is written while the attempt's transaction runs"
    assert len(refusals(world)) == 1


def test_what_another_tenants_actor_tries_stands_in_its_own_books(world: World) -> None:
    # R006: the attempted tenant's books tell nobody that somebody knocked.
    other, skill = make_world(), make_skill(world)
    with pytest.raises(NotVisible):
        approve_skill(skill, actor=other.operator, reviewed_sha256=skill.content_sha256)
    assert refusals(world) == []
    assert [kept.code for kept in refusals(other)] == ["not_found"]


def test_a_state_machines_no_is_kept(world: World) -> None:
    skill = make_skill(world, "deprecated")
    with pytest.raises(IllegalTransition):
        approve_skill(skill, actor=world.operator, reviewed_sha256=skill.content_sha256)
    assert [(kept.act, kept.code) for kept in refusals(world)] == [("skill.approve", "illegal_transition")]


def test_an_ungoverned_write_by_an_actor_is_logged(world: World) -> None:
    skill = make_skill(world)
    with acting_as(world.operator), pytest.raises(UngovernedWrite):
        skill.save()
    with pytest.raises(UngovernedWrite):
        skill.save()
    [kept] = refusals(world)
    assert (kept.act, kept.code, kept.subject_type) == ("", "ungoverned_write", "skills.skill")
    assert str(kept) == f"Something refused to {world.operator.label}"


def test_an_act_asked_for_before_any_row_is_known_is_kept(world: World) -> None:
    with pytest.raises(NotPermitted):
        authorize(world.bot, Act.SKILL_APPROVE, world.tenant.pk)
    [kept] = refusals(world)
    assert (kept.act, kept.subject_type, kept.subject_id) == ("skill.approve", "", None)


def test_an_agents_hand_on_another_agents_draft_is_kept(world: World) -> None:
    skill = make_skill(world, actor=world.operator)
    with pytest.raises(NotPermitted):
        amend_skill(skill, actor=world.bot, values={"body": "Mine."})
    [kept] = refusals(world)
    assert (kept.act, kept.subject_id) == ("skill.amend", skill.pk)


def unrecorded_errors(world: World) -> list[GovernanceError]:
    return [Stale("Read again.", 2), Conflict("Taken."), Invalid("Too long.", {})]


def test_honest_mistakes_are_not_kept(world: World) -> None:
    for mistake in unrecorded_errors(world):
        record_refusal(mistake, world.operator)
    with pytest.raises(Stale):
        amend_skill(make_skill(world), actor=world.operator, values={"body": "New."}, read_at=7)
    assert refusals(world) == []


def test_without_an_actor_there_is_nobody_to_keep_it_of(world: World) -> None:
    record_refusal(NotPermitted("No."), None)
    assert refusals(world) == []


def test_a_tenant_that_is_not_there_has_no_books(world: World) -> None:
    nobody = Actor(10**9, Role.OPERATOR, frozenset(), "operator:0")
    with pytest.raises(NotPermitted):
        authorize(nobody, Act.TENANT_CREATE, nobody.tenant_id)
    assert refusals(world) == []


def test_a_sentence_that_names_what_cannot_be_stored_is_kept_without_it(world: World) -> None:
    record_refusal(NotPermitted(f"There is no \x00 and no \ud800. {'x' * 600}"), world.operator)
    [kept] = refusals(world)
    assert kept.detail.startswith("There is no  and no \\ud800. xxx")
    assert len(kept.detail) == 500


def test_what_is_left_for_afterwards_is_done_at_once_if_nobody_acts(world: World) -> None:
    done: list[str] = []
    after_transaction(lambda: done.append("alone"))
    assert done == ["alone"]
    with acting_as(world.operator), acting_as(world.bot):
        after_transaction(lambda: done.append("later"))
        assert done == ["alone"]
    assert done == ["alone", "later"]


def test_a_refused_field_is_kept_with_the_row_it_belongs_to(world: World) -> None:
    skill = make_skill(world)
    with pytest.raises(NotPermitted), governed(Act.SKILL_AMEND, skill, actor=world.bot) as row:
        row.agent_id = 0
    assert [kept.subject_id for kept in refusals(world)] == [skill.pk]
