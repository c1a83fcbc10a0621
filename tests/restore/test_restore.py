"""A row, an agent or a tenant is brought back as new versions, all of it or nothing."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.governance.audit.row_history import records_of, version_of
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid, NotPermitted, NotVisible
from apps.governance.models import ChangeRecord
from apps.memory.actions import amend_block, amend_memory, amend_profile
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock
from apps.personas.actions import (
    amend_persona,
    amend_rule,
    archive_persona,
    restore_rule,
    retire_rule,
    write_identity_card,
    write_overlay,
)
from apps.personas.models import IdentityCard, Persona, PersonaOverlay, StandingRule
from apps.prompt.text_reuse.derived_lines import NO_RECEIVED_TEXTS
from apps.restore.execution import StalePlan, carry_out_restore
from apps.restore.models import Checkpoint
from apps.restore.plan import MomentTarget, RowTarget, make_restore_plan
from apps.skills.actions import revise_skill
from apps.skills.models import Skill
from apps.tenants.actions import amend_agent, amend_invokable, amend_settings, withdraw_invokable
from apps.tenants.models import Agent, AgentToken, InvokableAgent, TenantSettings
from tests.restore.restore_scenario import (
    agent_target,
    current_prompt,
    get_only_row,
    make_prompt_rows,
    past_prompt,
    plan_lines,
    restore_target,
)
from tests.support.database.committing_fixture import committing
from tests.support.drivers.conversation import prompt, run_customer_turn
from tests.support.parameter_sampling import whole_or
from tests.support.servers.standin_model import StandIn, standin, standing_in
from tests.support.worlds.world import (
    World,
    make_block,
    make_identity_card,
    make_memory,
    make_overlay,
    make_persona,
    make_profile,
    make_rule,
    make_skill,
    make_world,
)

__all__ = ["committing", "standin", "standing_in"]


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def change_everything(world: World) -> None:
    """Every row of a furnished agent reads otherwise afterwards."""
    persona = amend_persona(get_only_row(world, Persona), actor=world.admin, values={"style": "Rhyming."})
    archive_persona(persona, actor=world.admin)
    write_overlay(get_only_row(world, PersonaOverlay), actor=world.admin, text="Sing.")
    write_identity_card(get_only_row(world, IdentityCard), actor=world.admin, values={"hours": "Never."})
    rule = amend_rule(
        get_only_row(world, StandingRule, agent=world.agent), actor=world.admin, values={"text": "Shout."}
    )
    retire_rule(rule, actor=world.admin)
    revise_skill(get_only_row(world, Skill), actor=world.admin, values={"description": "Refuse."})
    amend_memory(get_only_row(world, AgentMemory), actor=world.bot, heard=NO_RECEIVED_TEXTS, body="Lunch is at one.")
    amend_block(get_only_row(world, MemoryBlock), actor=world.bot, heard=NO_RECEIVED_TEXTS, body="We ship nowhere.")
    withdraw_invokable(get_only_row(world, InvokableAgent), actor=world.admin)
    amend_agent(world.agent, actor=world.admin, context_tier=1, contract="Only what stands here binds you.")


@pytest.mark.slow
def test_an_agent_is_brought_back_to_the_byte_and_the_restore_itself_can_be_undone(world: World) -> None:
    make_prompt_rows(world)
    moment, before = timezone.now(), current_prompt(world)
    change_everything(world)
    changed = current_prompt(world)
    assert changed != before
    _, checkpoint = restore_target(agent_target(world, moment), world.admin)
    assert current_prompt(world) == before == past_prompt(world, moment)
    assert checkpoint is not None
    restore_target(agent_target(world, checkpoint.moment), world.admin)
    assert current_prompt(world) == changed
    with acting_as(world.system):
        assert Checkpoint.objects.visible_to(world.system).count() == 2


@pytest.mark.slow
def test_an_open_session_keeps_its_prefix_and_the_next_one_has_that_of_the_moment(
    world: World, standin: StandIn
) -> None:  # R031, R043, R063
    make_prompt_rows(world)
    moment = timezone.now()
    change_everything(world)
    run_customer_turn(world, "Hello", standin, thread="open")
    restore_target(agent_target(world, moment), world.admin)
    run_customer_turn(world, "Are you there?", standin, thread="open")
    run_customer_turn(world, "Hello", standin, thread="new")
    first, second, third = map(prompt, standin.requests())
    assert first == second != third
    assert third == past_prompt(world, moment)


def test_what_was_not_there_then_is_retired_the_way_its_noun_retires(world: World) -> None:
    moment, bare = timezone.now(), current_prompt(world)
    make_persona(world)
    make_overlay(world)
    make_identity_card(world)
    make_rule(world)
    make_skill(world, "approved")
    draft = make_skill(world)
    make_memory(world)
    make_block(world)
    found, _ = restore_target(agent_target(world, moment), world.admin)
    assert current_prompt(world) == bare
    assert (get_only_row(world, Persona).status, get_only_row(world, StandingRule).status) == ("archived", "retired")
    assert get_only_row(world, Skill, status="deprecated").pk != draft.pk
    block = get_only_row(world, MemoryBlock)
    assert (get_only_row(world, AgentMemory).body, block.body, block.is_pinned) == ("", "", False)
    [note] = found.notes
    assert "keeps waiting" in note.description
    assert get_only_row(world, Skill, pk=draft.pk).status == "draft"


def test_each_act_of_a_restore_says_what_it_restores_and_to_which_checkpoint_it_belongs(world: World) -> None:
    persona = make_persona(world, style="Brief.")
    moment = timezone.now()
    amend_persona(persona, actor=world.admin, values={"style": "Rhyming."})
    rule = make_rule(world)
    _, checkpoint = restore_target(agent_target(world, moment), world.operator)
    assert checkpoint is not None
    with acting_as(world.operator):
        newest, _, first = map(version_of, records_of("personas.persona", persona.pk))
        retired, _ = map(version_of, records_of("personas.standingrule", rule.pk))
        evidence = ChangeRecord.objects.get(pk=newest.record_id).evidence
    assert (newest.number, newest.by) == (3, world.operator.label)
    assert newest.reason == f"Restores version 1 of {first.created_at.isoformat(timespec='seconds')}."
    assert retired.reason == f"Did not exist yet; restores the state at {moment.isoformat()}."
    assert evidence["checkpoint_id"] == checkpoint.pk
    assert evidence["restores"] == {"record_id": first.record_id, "version": 1, "moment": moment.isoformat()}
    assert (checkpoint.agent_id, checkpoint.created_by) == (world.agent.pk, world.operator.label)


@pytest.mark.slow
def test_a_tenant_comes_back_with_settings_and_the_organisations_rules_but_profiles_only_if_asked(world: World) -> None:
    make_prompt_rows(world)
    moment, before = timezone.now(), current_prompt(world)
    change_everything(world)
    amend_settings(get_only_row(world, TenantSettings), actor=world.admin, ai_disclosure="always")
    retire_rule(get_only_row(world, StandingRule, agent=None), actor=world.admin)
    profile = amend_profile(get_only_row(world, CustomerProfile), actor=world.operator, values={"notes": "Rude."})
    restore_target(MomentTarget(moment), world.admin)
    assert get_only_row(world, CustomerProfile).notes == "Rude."
    restore_target(MomentTarget(moment, with_profiles=True), world.admin)
    assert current_prompt(world) == before
    back = get_only_row(world, CustomerProfile, pk=profile.pk)
    assert (back.notes, back.updated_by) == ("", "agent")


def test_an_agent_is_brought_back_alone(world: World) -> None:
    make_prompt_rows(world)
    moment = timezone.now()
    amend_settings(get_only_row(world, TenantSettings), actor=world.admin, ai_disclosure="always")
    retire_rule(get_only_row(world, StandingRule, agent=None), actor=world.admin)
    amend_agent(get_only_row(world, Agent, key="billing"), actor=world.admin, title="Money")
    found = make_restore_plan(agent_target(world, moment), actor=world.admin)
    assert found.steps == ()
    with pytest.raises(Conflict, match="has changed since then"):
        restore_target(agent_target(world, moment), world.admin)


def test_an_agent_made_since_stays_without_what_was_written_for_it(world: World) -> None:
    moment = timezone.now()
    make_prompt_rows(world)
    found, _ = restore_target(MomentTarget(moment, with_profiles=True), world.admin)
    notes = [note for note in found.notes if note.label == "Agent billing"]
    assert "The agent was created since. It stays" in notes[0].description
    assert get_only_row(world, CustomerProfile).preferences == ""
    with acting_as(world.system):
        assert not InvokableAgent.objects.visible_to(world.system).exists()


def test_a_row_goes_back_to_any_of_its_versions(world: World) -> None:
    persona = make_persona(world, style="Brief.")
    for style in ("Warm.", "Cold."):
        amend_persona(persona, actor=world.operator, values={"style": style})
    archive_persona(persona, actor=world.operator)
    found, checkpoint = restore_target(RowTarget(Persona, persona.pk, 1), world.operator)
    assert plan_lines(found) == [
        "persona.amend Persona of agent support: Change style",
        "persona.activate Persona of agent support: Restore it",
    ]
    assert checkpoint is None
    back = get_only_row(world, Persona)
    assert (back.style, back.status, back.version) == ("Brief.", "active", 6)


def test_rules_and_who_may_ask_whom_go_back_by_row(world: World) -> None:
    make_prompt_rows(world)
    rule = retire_rule(get_only_row(world, StandingRule, agent=None), actor=world.operator)
    restore_rule(rule, actor=world.operator)
    restore_target(RowTarget(StandingRule, rule.pk, 2), world.operator)
    assert get_only_row(world, StandingRule, pk=rule.pk).status == "retired"
    invokable = amend_invokable(get_only_row(world, InvokableAgent), actor=world.operator, role_hint="Anything.")
    restore_target(RowTarget(InvokableAgent, invokable.pk, 1), world.operator)
    assert get_only_row(world, InvokableAgent).role_hint == "Knows every invoice."
    withdraw_invokable(get_only_row(world, InvokableAgent), actor=world.operator)
    restore_target(RowTarget(InvokableAgent, invokable.pk, 2), world.operator)
    assert get_only_row(world, InvokableAgent).role_hint == "Anything."


@pytest.mark.parametrize(
    ("target", "refusal", "sentence"),
    [
        (lambda _: RowTarget(AgentToken, 1, 1), Invalid, "cannot be restored to an older version"),
        (lambda world: RowTarget(Persona, make_persona(world).pk, 7), NotVisible, "no version 7"),
        (lambda _: RowTarget(Persona, make_persona(make_world()).pk, 1), NotVisible, "no version 1"),
    ],
)
def test_what_cannot_be_brought_back_is_said(
    world: World, target: object, refusal: type[Exception], sentence: str
) -> None:
    with pytest.raises(refusal, match=sentence):
        make_restore_plan(target(world), actor=world.operator)  # type: ignore[operator]  # a function of the list above


def test_without_one_of_the_rights_nothing_is_done(world: World) -> None:
    persona = make_persona(world, style="Brief.")
    moment = timezone.now()
    amend_persona(persona, actor=world.operator, values={"style": "Rhyming."})
    amend_agent(world.agent, actor=world.admin, title="Changed")
    target = agent_target(world, moment)
    assert make_restore_plan(target, actor=world.operator).missing_permissions == (
        "agent.amend",
        "agent.amend, field title",
    )
    with pytest.raises(NotPermitted, match=r"you lack: agent.amend; agent.amend, field title. Nothing was done"):
        restore_target(target, world.operator)
    assert get_only_row(world, Persona).style == "Rhyming."
    with acting_as(world.system):
        assert not Checkpoint.objects.visible_to(world.system).exists()


def test_agents_and_the_system_restore_nothing(world: World) -> None:
    persona = make_persona(world, style="Brief.")
    amend_persona(persona, actor=world.operator, values={"style": "Rhyming."})
    target = RowTarget(Persona, persona.pk, 1)
    shown = make_restore_plan(target, actor=world.operator)
    for actor in (world.bot, world.system):
        with pytest.raises(NotPermitted, match="Only people can restore"):
            carry_out_restore(target, actor=actor, shown_sha256=shown.sha256)


def test_only_the_shown_plan_is_carried_out(world: World) -> None:
    persona = make_persona(world, style="Brief.")
    moment = timezone.now()
    amend_persona(persona, actor=world.operator, values={"style": "Rhyming."})
    target = agent_target(world, moment)
    shown = make_restore_plan(target, actor=world.operator)
    amend_persona(persona, actor=world.admin, values={"style": "Shouting."})
    with pytest.raises(StalePlan, match="Something changed since this plan was made") as refused:
        carry_out_restore(target, actor=world.operator, shown_sha256=shown.sha256)
    assert refused.value.present.steps[0].before == {"style": "Shouting."}
    assert get_only_row(world, Persona).style == "Shouting."


@pytest.mark.slow
@pytest.mark.whole
@pytest.mark.unmeasured
def test_a_plan_for_many_skills_asks_no_more_than_one_for_three(world: World) -> None:
    make_prompt_rows(world)
    for _ in range(2):
        make_skill(world, "approved")
    moment = timezone.now()
    few = count_queries(world, moment)
    for _ in range(whole_or(27, whole=97)):
        make_skill(world, "approved")
    assert count_queries(world, moment) == few


def count_queries(world: World, moment: object) -> int:
    target = MomentTarget(moment)  # type: ignore[arg-type]  # a datetime, passed through
    with CaptureQueriesContext(connection) as asked:
        make_restore_plan(target, actor=world.admin)
    return len(asked)


def test_a_long_restore_still_makes_one_record_for_each_act(world: World) -> None:
    moment = timezone.now()
    for number in range(5):
        make_profile(world, f"http:{number}")
    with acting_as(world.system):
        before = ChangeRecord.objects.count()
    found, _ = restore_target(MomentTarget(moment, with_profiles=True), world.admin)
    with acting_as(world.system):
        assert ChangeRecord.objects.count() == before + len(found.steps) + 1
