"""Acts on personas: people write them, the agent proposes."""

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, IllegalTransition, Invalid, NotPermitted, Stale
from apps.governance.models import Proposal
from apps.governance.proposals.actions import reject_proposal, settle_proposal
from apps.personas.actions import (
    activate_persona,
    amend_persona,
    archive_persona,
    create_persona,
    propose_patch,
)
from apps.personas.agent_creation import create_agent_with_persona
from apps.personas.models import SECTION_CHARACTERS, Persona
from apps.tenants.models import Agent
from tests.support.audit_records import records
from tests.support.factories.approvals import approve_as_read
from tests.support.worlds.world import World, make_persona, make_world

pytestmark = [pytest.mark.kernel, pytest.mark.django_db]


@pytest.fixture
def world() -> World:
    return make_world()


def test_an_agent_begins_with_its_persona_or_not_at_all(world: World) -> None:
    # R010, R026
    with pytest.raises(Invalid, match="NUL"):
        create_agent_with_persona("sales", "Sales", {"identity": "You sell.\x00"}, actor=world.admin)
    with acting_as(world.admin):
        assert not Agent.objects.visible_to(world.admin).filter(key="sales").exists()
    agent = create_agent_with_persona("sales", "Sales", {"identity": "You sell."}, actor=world.admin)
    with acting_as(world.admin):
        assert Persona.objects.visible_to(world.admin).get(agent=agent).identity == "You sell."


def test_an_agent_has_one_persona(world: World) -> None:
    # R026
    make_persona(world)
    with pytest.raises(Conflict, match="This agent has a persona already"):
        make_persona(world)
    assert make_persona(make_world()).status == Persona.Status.ACTIVE


def test_an_agent_creates_and_amends_no_persona(world: World) -> None:
    # R017, R021
    with pytest.raises(NotPermitted, match="An agent may not create a persona"):
        create_persona(world.agent.pk, actor=world.bot, values={"identity": "I am the boss."})
    persona = make_persona(world)
    for act in (archive_persona, activate_persona):
        with pytest.raises(NotPermitted):
            act(persona, actor=world.bot)
    with pytest.raises(NotPermitted):
        amend_persona(persona, actor=world.bot, values={"avoid": ""})


def test_a_persona_is_archived_and_brought_back(world: World) -> None:
    # R027
    persona = make_persona(world)
    archive_persona(persona, actor=world.operator)
    with pytest.raises(IllegalTransition, match="Cannot archive a persona that is archived"):
        archive_persona(persona, actor=world.operator)
    assert activate_persona(persona, actor=world.operator).status == Persona.Status.ACTIVE


def test_an_open_proposal_leaves_the_persona_until_a_person_applies_it(world: World) -> None:
    # R030
    persona = make_persona(world)
    proposal = propose_patch(persona, actor=world.bot, text="Say hello first.")
    assert (persona.version, proposal.base_sha256, proposal.taint) == (1, persona.sha256, "agent")
    approve_as_read(proposal, world.operator, {"style": "Hello first."}, read_at=1, target_read_at=1)
    with acting_as(world.operator):
        persona = Persona.objects.visible_to(world.operator).get()
    assert (persona.style, persona.version) == ("Hello first.", 2)
    assert (proposal.state, proposal.decided_by) == (Proposal.State.APPLIED, world.operator.label)
    assert proposal.decided_at is not None
    [record] = [record for record in records(world, persona) if record.act == "persona.amend"]
    assert record.evidence == {"proposal_id": proposal.pk, "proposed_by": world.bot.label}


def test_applying_on_a_persona_that_changed_meanwhile_is_refused(world: World) -> None:
    # R030
    persona = make_persona(world)
    proposal = propose_patch(persona, actor=world.bot, text="Say hello first.")
    amend_persona(persona, actor=world.operator, values={"style": "Brief."})
    with pytest.raises(Stale):
        approve_as_read(proposal, world.operator, {"style": "Hello first."}, read_at=1, target_read_at=1)
    assert open_patch_texts(world, persona) == ["Say hello first."]


def test_applying_a_proposal_its_agent_revised_meanwhile_is_refused(world: World) -> None:
    # R030
    persona = make_persona(world)
    proposal = propose_patch(persona, actor=world.bot, text="Say hello first.")
    propose_patch(persona, actor=world.bot, text="Promise refunds.")
    with pytest.raises(Stale):
        approve_as_read(proposal, world.operator, {"style": "Hello first."}, read_at=1, target_read_at=1)
    with acting_as(world.operator):
        assert Persona.objects.visible_to(world.operator).get().style == "Warm and concise."


def test_an_empty_proposal_is_refused(world: World) -> None:
    # R030
    with pytest.raises(Invalid, match="the proposal is empty"):
        propose_patch(make_persona(world), actor=world.bot, text=" \n")


def test_an_amendment_that_says_nothing_of_the_proposal_leaves_it_open(world: World) -> None:
    # R022
    persona = make_persona(world)
    propose_patch(persona, actor=world.bot, text="Say hello first.")
    amend_persona(persona, actor=world.operator, values={"style": "Brief."})
    assert open_patch_texts(world, persona) == ["Say hello first."]


def test_a_second_patch_revises_the_first(world: World) -> None:
    # R022, R030
    persona = make_persona(world)
    first = propose_patch(persona, actor=world.bot, text="Say hello first.", evidence={"conversation_id": 1})
    second = propose_patch(persona, actor=world.bot, text="Say goodbye last.")
    assert (second.pk, second.support_count) == (first.pk, 2)
    assert open_patch_texts(world, persona) == ["Say goodbye last."]
    assert second.evidence == {"conversation_id": 1, "conversation_ids": [1], "requests_without_conversation": 1}


def test_a_rejected_patch_keeps_its_reason_and_the_next_one_starts_anew(world: World) -> None:
    # R030
    persona = make_persona(world)
    proposal = propose_patch(persona, actor=world.bot, text="Say hello first.")
    with pytest.raises(NotPermitted):
        reject_proposal(proposal, actor=world.bot, reason="Changed my mind.")
    reject_proposal(proposal, actor=world.operator, reason="We greet nobody.")
    assert (proposal.state, proposal.decision_reason) == (Proposal.State.REJECTED, "We greet nobody.")
    with pytest.raises(IllegalTransition, match="Cannot apply a proposal that is rejected"):
        settle_proposal(proposal, actor=world.operator)
    assert propose_patch(persona, actor=world.bot, text="Please?").pk != proposal.pk


def test_a_person_may_propose_too(world: World) -> None:
    proposal = propose_patch(make_persona(world), actor=world.operator, text="Let us think about it.")
    assert (proposal.taint, proposal.proposed_by) == ("operator", world.operator.label)


def test_a_section_has_a_length(world: World) -> None:
    # R025
    persona = make_persona(world)
    amend_persona(persona, actor=world.operator, values={"style": "x" * SECTION_CHARACTERS})
    with pytest.raises(Invalid, match="style"):
        amend_persona(persona, actor=world.operator, values={"style": "x" * (SECTION_CHARACTERS + 1)})


def open_patch_texts(world: World, persona: Persona) -> list[str]:
    with acting_as(world.operator):
        return [row.content["text"] for row in Proposal.objects.visible_to(world.operator).open().about(persona)]
