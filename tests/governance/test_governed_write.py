"""`governed`: what it refuses, and that a refusal leaves nothing behind."""

from dataclasses import replace
from functools import cache
from typing import cast

import pytest
from django.core.exceptions import NON_FIELD_ERRORS
from django.db import IntegrityError

from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import (
    Conflict,
    IllegalTransition,
    Invalid,
    MissingActor,
    NotPermitted,
    NotVisible,
    Stale,
)
from apps.governance.governed_write import assign_values, authorize, governed, may, recorded_values
from apps.governance.models import Proposal
from apps.governance.policy.policy_table import POLICY, Act, codename, default_grants
from apps.personas.actions import amend_persona, archive_persona, create_persona, propose_patch
from apps.personas.models import Persona
from apps.review.skill_actions import approve_skill
from apps.schedules.models import Schedule
from apps.skills.actions import amend_skill, discard_skill, draft_skill
from apps.skills.models import Skill
from apps.tenants.actions import allow_invokable, create_agent
from apps.tenants.models import Agent
from tests.support.audit_records import records
from tests.support.factories.approvals import approve_as_read
from tests.support.factories.schedules import plan_of
from tests.support.worlds.world import World, make_persona, make_skill, make_world

pytestmark = [pytest.mark.kernel, pytest.mark.django_db]


@pytest.fixture
def world() -> World:
    return make_world()


def test_a_decision_on_an_older_version_is_refused(world: World) -> None:
    persona = make_persona(world)
    amend_persona(persona, actor=world.operator, values={"style": "Brief."}, read_at=1)
    with pytest.raises(Stale, match="you saw version 1, it is now at 2") as refusal:
        amend_persona(persona, actor=world.operator, values={"style": "Long."}, read_at=1)
    assert refusal.value.current_version == 2
    assert [record.act for record in records(world, persona)] == ["persona.create", "persona.amend"]
    assert persona.style == "Brief."


def test_no_actor_is_an_error_and_not_a_guest(world: World) -> None:
    # R007
    nobody = cast("Actor", None)
    with pytest.raises(MissingActor):
        amend_persona(make_persona(world), actor=nobody, values={"style": "Brief."})
    with pytest.raises(MissingActor):
        Persona.objects.visible_to(nobody)


def test_an_assistant_reads_in_its_members_place_and_does_nothing_else(world: World) -> None:
    # R129
    skill = make_skill(world)
    through = world.operator.via(world.agent.pk, "agent:aide")
    authorize(through, Act.CONVERSATION_TALK, world.tenant.pk, agent_id=world.agent.pk)
    with pytest.raises(NotPermitted, match="An assistant may not approve a skill for its member: it looks things up"):
        approve_skill(skill, actor=through, reviewed_sha256=skill.content_sha256)
    with acting_as(world.operator):
        assert Skill.objects.visible_to(world.operator).get().status == "draft"


def test_rows_are_read_only_as_the_actor_who_acts(world: World) -> None:
    # R014
    with pytest.raises(MissingActor, match="with acting"):
        Persona.objects.visible_to(world.operator)
    with acting_as(world.bot), pytest.raises(MissingActor):
        Persona.objects.visible_to(world.operator)
    with acting_as(world.operator):
        assert Persona.objects.visible_to(world.operator).count() == 0


def test_a_write_finds_no_row_of_another_tenant(world: World) -> None:
    # R006
    foreign = make_persona(make_world())
    with pytest.raises(NotVisible):
        amend_persona(foreign, actor=world.operator, values={"style": "Mine."})


def test_the_floor_itself_knows_whose_tenant_it_is(world: World) -> None:
    # R006: before any row is looked for, and where there is none yet.
    with pytest.raises(NotVisible):
        authorize(world.operator, Act.RULE_ADD, make_world().tenant.pk)


def test_a_row_smuggled_in_under_ones_own_tenant_is_not_found(world: World) -> None:
    # R006: the id of another tenant's row, the tenant of one's own.
    foreign = make_persona(make_world())
    smuggled = Persona(pk=foreign.pk, tenant_id=world.tenant.pk, agent_id=world.agent.pk)
    smuggled._state.adding = False
    with pytest.raises(NotVisible):
        amend_persona(smuggled, actor=world.operator, values={"style": "Mine."})


@pytest.mark.parametrize("taken", ["persona_amend", "persona_amend__style"])
def test_a_withdrawn_grant_refuses_the_write(world: World, taken: str) -> None:
    # R017
    persona = make_persona(world)
    narrowed = replace(world.operator, grants=world.operator.grants - {taken})
    with pytest.raises(NotPermitted, match=taken):
        amend_persona(persona, actor=narrowed, values={"style": "Brief."})
    assert not may(narrowed, Act.PERSONA_AMEND, "style")
    assert may(world.operator, Act.PERSONA_AMEND, "style")
    assert may(narrowed, Act.PERSONA_AMEND, "avoid") == (taken == "persona_amend__style")


def test_a_field_without_its_grant_leaves_the_others_writable(world: World) -> None:
    # R017
    narrowed = replace(world.operator, grants=world.operator.grants - {"persona_amend__style"})
    amended = amend_persona(make_persona(world), actor=narrowed, values={"avoid": "Jokes."})
    assert amended.avoid == "Jokes."


@cache
def all_grants() -> frozenset[str]:
    return frozenset(name for role in Role for name in default_grants(role))


@pytest.mark.parametrize("act", Act)
def test_no_grant_lifts_the_role_floor(world: World, act: Act) -> None:
    # R016, R094
    for role in Role:
        actor = Actor(world.tenant.pk, role, all_grants(), "lucky")
        if role in POLICY[act].allowed:
            authorize(actor, act, world.tenant.pk)
            assert may(actor, act)
        else:
            with pytest.raises(NotPermitted):
                authorize(actor, act, world.tenant.pk)
            assert not may(actor, act)


def test_an_agent_with_every_grant_still_approves_nothing(world: World) -> None:
    # R016, R094
    skill = make_skill(world)
    lucky = replace(world.bot, grants=all_grants())
    with pytest.raises(NotPermitted, match=r"An agent may not approve a skill\. Only admin or operator may"):
        approve_skill(skill, actor=lucky, reviewed_sha256=skill.content_sha256)
    approve_skill(skill, actor=world.operator, reviewed_sha256=skill.content_sha256)
    assert skill.approved_by


def test_an_act_writes_no_governed_field_of_another_act(world: World) -> None:
    # R018: what an act may write stands in the policy, whatever the code inside it does.
    persona = make_persona(world)
    with pytest.raises(NotPermitted, match="“amend a persona” does not change status"):  # noqa: SIM117
        with governed(Act.PERSONA_AMEND, persona, actor=world.operator) as row:
            row.archive()
    assert records(world, persona)[-1].act == "persona.create"
    with governed(Act.PERSONA_ARCHIVE, persona, actor=world.operator) as row:
        row.archive()
    assert persona.status == Persona.Status.ARCHIVED


def test_an_illegal_move_is_explained(world: World) -> None:
    # R092
    skill = make_skill(world, "deprecated")
    with pytest.raises(IllegalTransition, match="Cannot approve a skill that is deprecated"):
        approve_skill(skill, actor=world.operator, reviewed_sha256=skill.content_sha256)


def test_values_that_break_a_rule_are_named_by_field(world: World) -> None:
    skill = make_skill(world)
    with pytest.raises(Invalid, match="NUL") as refusal:
        amend_skill(skill, actor=world.bot, values={"body": "a\x00b", "title": ""})
    assert set(refusal.value.fields) == {"body", "title"}
    assert amend_skill(skill, actor=world.bot, values={"body": "a b"}).body == "a b"


def test_a_name_taken_already_is_a_conflict_in_words(world: World) -> None:
    # R026, R098
    make_persona(world)
    with pytest.raises(Conflict, match="This agent has a persona already"):
        make_persona(world)
    draft_skill(world.agent.pk, actor=world.bot, values={"title": "Greet", "description": "Hi.", "body": "Hi."})
    with pytest.raises(Conflict, match="skill of that name"):
        draft_skill(world.agent.pk, actor=world.bot, values={"title": "Greet", "description": "Yo.", "body": "Yo."})


def test_what_row_security_refuses_is_not_permitted_in_words(world: World) -> None:
    # R008: the policy lets agents draft; PostgreSQL lets each draft its own.
    neighbour = create_agent("sales", "Sales", actor=world.admin)
    values = {"title": "Greet", "description": "Hi.", "body": "Hi."}
    with pytest.raises(NotPermitted, match="The database does not let the current role change this skill"):
        draft_skill(neighbour.pk, actor=world.bot, values=values)
    assert draft_skill(world.agent.pk, actor=world.bot, values=values).version == 1


def test_a_reference_to_nothing_is_refused_at_once_and_in_words(world: World) -> None:
    # R006: another tenant's agent is nothing.
    for agent_id in (10**9, make_world().agent.pk):
        with pytest.raises(Invalid, match="refers to a row that does not exist"):
            create_persona(agent_id, actor=world.operator, values={})
    assert create_persona(world.agent.pk, actor=world.operator, values={}).version == 1


def test_an_act_decides_on_the_state_that_stands_in_the_database(world: World) -> None:
    # R020: what was a draft when it was read may be approved by now.
    skill = make_skill(world)
    with acting_as(world.operator):
        read_earlier = Skill.objects.visible_to(world.operator).get(pk=skill.pk)
    approve_skill(skill, actor=world.operator, reviewed_sha256=skill.content_sha256)
    with pytest.raises(NotPermitted, match="This skill is approved"):
        discard_skill(read_earlier, actor=world.operator)
    assert read_earlier.status == Skill.Status.APPROVED


def test_a_refusal_inside_an_act_of_two_undoes_both(world: World) -> None:
    # R030
    persona = make_persona(world)
    proposal = propose_patch(persona, actor=world.bot, text="Say hello.")
    narrowed = replace(world.operator, grants=world.operator.grants - {codename(Act.PROPOSAL_APPLY)})
    with pytest.raises(NotPermitted):
        approve_as_read(proposal, narrowed, {"style": "Hello."})
    with acting_as(world.operator):
        assert Persona.objects.visible_to(world.operator).get().style == "Warm and concise."
        assert Proposal.objects.visible_to(world.operator).open().count() == 1
    assert [record.act for record in records(world, persona)] == ["persona.create"]


def test_whatever_raises_inside_leaves_nothing_behind(world: World) -> None:
    persona = make_persona(world)
    with pytest.raises(ZeroDivisionError):  # noqa: SIM117
        with governed(Act.PERSONA_AMEND, persona, actor=world.operator) as row:
            row.style = str(1 / 0)
    with acting_as(world.operator):
        stored = Persona.objects.visible_to(world.operator).get()
    assert recorded_values(stored)["style"] == "Warm and concise."
    assert archive_persona(persona, actor=world.operator).status == Persona.Status.ARCHIVED


def test_code_that_goes_round_the_state_machine_meets_the_databases_own(world: World) -> None:
    # R092
    skill = make_skill(world, "deprecated")
    with pytest.raises(IllegalTransition, match="does not move from deprecated to approved"):  # noqa: PT012, SIM117
        with governed(Act.SKILL_APPROVE, skill, actor=world.operator) as row:
            row.__dict__["status"] = "approved"
            row.approved_by, row.approved_sha256 = "me", row.content_sha256


def test_what_must_be_unique_beyond_the_tenant_is_a_conflict_in_words(world: World) -> None:
    # R015: one service user, one agent.
    twin = Agent(tenant_id=world.tenant.pk, key="twin", title="Twin", service_user_id=world.agent.service_user_id)
    with pytest.raises(Conflict, match="exists already"):  # noqa: SIM117
        with governed(Act.AGENT_CREATE, twin, actor=world.admin):
            pass


def test_values_that_break_a_rule_of_the_row_are_refused_in_the_words_of_the_rule(world: World) -> None:
    # What nothing before the database refused: its constraints are named as what must be true.
    schedule = Schedule(tenant_id=world.tenant.pk, agent=world.agent, drafted_by=world.operator.label)
    with pytest.raises(Invalid, match="“schedule has a time zone”") as refusal:  # noqa: SIM117
        with governed(Act.SCHEDULE_DRAFT, schedule, actor=world.operator) as row:
            assign_values(row, Act.SCHEDULE_DRAFT, plan_of(world, timezone=""))
    assert list(refusal.value.fields) == [NON_FIELD_ERRORS]
    with pytest.raises(Invalid, match=r"cannot be taken\. An agent cannot ask itself\. Choose another one\.$"):
        allow_invokable(world.agent.pk, world.agent.pk, actor=world.operator, role_hint="Itself.")


def test_a_fault_of_the_code_stays_a_fault(world: World) -> None:
    nobodys = Persona(tenant_id=world.tenant.pk)
    with pytest.raises(IntegrityError, match="agent_id"):  # noqa: SIM117
        with governed(Act.PERSONA_CREATE, nobodys, actor=world.operator):
            pass
