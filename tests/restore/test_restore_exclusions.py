"""What people took out since, withdrew or let be forgotten does not come back by a restore; learning versions do."""

import pytest
from django.utils import timezone

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import NotPermitted
from apps.governance.models import ChangeRecord, Proposal
from apps.governance.proposals.actions import reject_proposal, release_proposal
from apps.learning.lessons.actions import withdraw_version
from apps.learning.lessons.models import LearningVersion
from apps.memory.actions import amend_memory, amend_profile
from apps.memory.line_decisions import quarantine_block_lines, quarantine_memory_lines, quarantine_profile_lines
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock, MemoryLine
from apps.restore.execution import carry_out_restore
from apps.restore.plan import MomentTarget, RowTarget, make_restore_plan
from tests.restore.restore_scenario import agent_target, get_only_row, plan_lines, restore_target
from tests.support.factories.lessons import make_version
from tests.support.worlds.world import World, make_block, make_memory, make_profile, make_world

POISON = "Refunds are paid in gift cards."
EXCLUSION_NOTE = "1 line from that time was quarantined, refused or forgotten since, and stays out."


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def test_a_line_quarantined_since_stays_out(world: World) -> None:
    memory, block = make_memory(world, f"Lunch is at noon.\n{POISON}"), make_block(world)
    first = memory.version
    moment = timezone.now()
    amend_memory(memory, actor=world.operator, body=f"Lunch is at one.\n{POISON}")
    quarantine_memory_lines(
        get_only_row(world, AgentMemory), actor=world.operator, lines=[POISON], reason="A customer said so."
    )
    lines = block.body.splitlines()
    quarantine_block_lines(get_only_row(world, MemoryBlock), actor=world.operator, lines=lines[:1], reason="The same.")
    found, _ = restore_target(agent_target(world, moment), world.operator)
    assert get_only_row(world, AgentMemory).body == "Lunch is at noon."
    assert get_only_row(world, AgentMemory).body.count(POISON) == 0
    assert lines[0] not in get_only_row(world, MemoryBlock).body
    assert [note.description for note in found.notes] == [EXCLUSION_NOTE, EXCLUSION_NOTE]
    # Nor by one version of the row.
    by_row = make_restore_plan(RowTarget(AgentMemory, memory.pk, first), actor=world.operator)
    assert (by_row.steps, [note.description for note in by_row.notes]) == ((), [EXCLUSION_NOTE])


def test_a_line_that_people_released_and_refused_stays_out_too(world: World) -> None:
    memory = make_memory(world, f"Lunch is at noon.\n{POISON}")
    moment = timezone.now()
    held = quarantine_memory_lines(memory, actor=world.operator, lines=[POISON], reason="A customer said so.")
    release_proposal(held, actor=world.operator, reason="Look at it again.")
    with acting_as(world.operator):
        waiting = Proposal.objects.get(pk=held.pk)
    reject_proposal(waiting, actor=world.operator, reason="No.")
    found = make_restore_plan(agent_target(world, moment), actor=world.operator)
    assert (found.steps, [note.description for note in found.notes]) == ((), [EXCLUSION_NOTE])


def test_a_line_that_people_only_took_out_comes_back(world: World) -> None:
    memory = make_memory(world, "Lunch is at noon.\nWe ship on Mondays.")
    moment = timezone.now()
    amend_memory(memory, actor=world.operator, body="Lunch is at noon.")
    restore_target(agent_target(world, moment), world.operator)
    assert get_only_row(world, AgentMemory).body == "Lunch is at noon.\nWe ship on Mondays."


def test_quarantined_text_of_a_customer_stays_out(world: World) -> None:
    profile = make_profile(world, notes=f"Lives in Ghent.\n{POISON}")
    moment = timezone.now()
    quarantine_profile_lines(profile, actor=world.operator, lines=[POISON], reason="A customer said so.")
    amend_profile(get_only_row(world, CustomerProfile), actor=world.operator, values={"notes": "Lives in Rome."})
    restore_target(MomentTarget(moment, with_profiles=True), world.admin)
    assert get_only_row(world, CustomerProfile).notes == "Lives in Ghent."


def test_the_learning_version_that_was_read_then_is_taken_up_again(world: World) -> None:
    old = make_version(world, "active", "- Say Ahoy.")
    moment = timezone.now()
    new = make_version(world, "active", "- Say Goodbye.")
    found, _ = restore_target(agent_target(world, moment), world.operator)
    assert plan_lines(found) == [
        f"learning_version.restore Learning version {old.number} of agent support: Activate it again"
    ]
    assert status_of(world) == {old.pk: "active", new.pk: "retired"}
    with acting_as(world.operator):
        record = ChangeRecord.objects.select_related("text").filter(act="learning_version.restore").latest("pk")
    assert record.text.reason.startswith("Restores version")


def test_a_version_that_nobody_read_then_is_retired_and_a_withdrawn_one_never_comes_back(world: World) -> None:
    nothing = timezone.now()
    old = make_version(world, "active", "- Say Ahoy.")
    read = timezone.now()
    withdraw_version(old, actor=world.operator, reason="It is false.")
    new = make_version(world, "active", "- Say Goodbye.")
    with acting_as(world.operator):
        assert LearningVersion.objects.get(pk=old.pk).status == "withdrawn"
    found = make_restore_plan(agent_target(world, read), actor=world.operator)
    assert [note.description for note in found.notes] == [
        "It was active then and was withdrawn since. Withdrawn versions are never activated again."
    ]
    restore_target(agent_target(world, nothing), world.operator)
    assert status_of(world) == {old.pk: "withdrawn", new.pk: "retired"}


def status_of(world: World) -> dict[int, str]:
    with acting_as(world.operator):
        return dict(LearningVersion.objects.values_list("pk", "status"))


def test_only_what_is_chosen_comes_back_and_what_it_needs_is_asked_for_alone(world: World) -> None:
    memory, block = make_memory(world, "Lunch is at noon."), make_block(world)
    moment, was = timezone.now(), block.body
    amend_memory(memory, actor=world.operator, body="Lunch is cancelled.")
    quarantine_block_lines(block, actor=world.operator, lines=was.splitlines()[-1:], reason="Wrong.")
    target = agent_target(world, moment)
    shown = make_restore_plan(target, actor=world.operator)
    with pytest.raises(NotPermitted):
        make_restore_plan(target, actor=world.bot)
    done, _ = carry_out_restore(
        target,
        actor=world.operator,
        shown_sha256=shown.sha256,
        only=[f"memory.agentmemory:{memory.pk}"],
        reason="Over.",
    )
    assert {step.subject_type for step in done.steps} == {"memory.agentmemory"}
    assert get_only_row(world, AgentMemory).body == "Lunch is at noon."
    with acting_as(world.operator):
        assert MemoryLine.objects.filter(text="Lunch is at noon.", status="active").exists()
