"""Whose words come back, and what nobody can bring back."""

import pytest
from django.utils import timezone

from apps.governance.errors import TextErased
from apps.governance.models import Taint
from apps.launcher.postgres import Postgres
from apps.memory.actions import amend_block, amend_memory, approve_memory
from apps.memory.models import AgentMemory, MemoryBlock
from apps.personas.actions import amend_persona, write_overlay
from apps.personas.models import Persona, PersonaOverlay
from apps.prompt.text_reuse.derived_lines import NO_RECEIVED_TEXTS
from apps.restore.plan import RowTarget, make_restore_plan
from tests.governance.audit.test_row_history import erase_change
from tests.restore.restore_scenario import agent_target, current_prompt, get_only_row, plan_lines, restore_target
from tests.support.database.committing_fixture import committing
from tests.support.worlds.world import World, make_block, make_memory, make_overlay, make_persona, make_world

pytestmark = pytest.mark.kernel

__all__ = ["committing"]


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def test_bringing_back_what_an_agent_wrote_does_not_vouch_for_it(world: World) -> None:
    memory, block = make_memory(world, "Lunch is at noon."), make_block(world)
    amend_block(block, actor=world.bot, heard=NO_RECEIVED_TEXTS, body="We ship to Mars.")
    moment, before = timezone.now(), current_prompt(world)
    amend_memory(memory, actor=world.operator, body="Lunch is cancelled.")
    amend_block(block, actor=world.operator, body="We ship to the EU.")
    restore_target(agent_target(world, moment), world.operator)
    back, block_back = get_only_row(world, AgentMemory), get_only_row(world, MemoryBlock)
    assert (back.body, back.updated_by, back.taint) == ("Lunch is at noon.", "agent", Taint.AGENT)
    assert (block_back.body, block_back.taint) == ("We ship to Mars.", Taint.AGENT)
    assert current_prompt(world) == before


def test_an_approval_given_since_is_taken_back(world: World) -> None:
    memory = make_memory(world, "Lunch is at noon.")
    moment, before = timezone.now(), current_prompt(world)
    approve_memory(memory, actor=world.operator, read_at=memory.version)
    assert current_prompt(world) != before
    found, _ = restore_target(agent_target(world, moment), world.operator)
    assert plan_lines(found) == ["memory.amend Agent memory of agent support: Take back the approval given since"]
    assert current_prompt(world) == before


def test_erased_words_are_said_and_skipped(committing: str, postgres: Postgres) -> None:
    world = make_world()
    persona, overlay = make_persona(world, style="Brief."), make_overlay(world, "Be formal.")
    moment = timezone.now()
    amend_persona(persona, actor=world.operator, values={"style": "Rhyming."})
    write_overlay(overlay, actor=world.operator, text="Sing.")
    erase_change(postgres, committing, world, persona, 1)
    found, _ = restore_target(agent_target(world, moment), world.operator)
    assert [note.label for note in found.notes] == ["Persona of agent support"]
    assert "was erased" in found.notes[0].description
    assert (get_only_row(world, Persona).style, get_only_row(world, PersonaOverlay).text) == ("Rhyming.", "Be formal.")
    with pytest.raises(TextErased, match="version 1 was erased"):
        make_restore_plan(RowTarget(Persona, persona.pk, 1), actor=world.operator)
