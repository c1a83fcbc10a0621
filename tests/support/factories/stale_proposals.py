"""Proposals whose target changed after they were made, one of each kind that can need a rebase."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal, Taint
from apps.memory.actions import amend_block, amend_memory, amend_profile
from apps.memory.models import AgentMemory, MemoryBlock
from apps.memory.write_holds import MemoryReviewSplit, hold_for_review, propose_profile
from apps.personas.actions import amend_persona, amend_rule, propose_patch, propose_rule_change, propose_sections
from apps.skills.actions import revise_skill
from apps.skills.proposals import propose_deprecation, propose_revision
from tests.support.factories.approvals import approve_as_read
from tests.support.worlds.world import (
    World,
    make_block,
    make_member,
    make_memory,
    make_persona,
    make_profile,
    make_rule,
    make_skill,
)

Kind = Proposal.Kind
# The lines that the proposals and the later changes of the live text start from.
LINES = "First.\nSecond.\nThird.\nFourth."
OURS = "First, as proposed.\nSecond.\nThird.\nFourth."
THEIRS = "First.\nSecond.\nThird.\nFourth, as changed."
MERGED = "First, as proposed.\nSecond.\nThird.\nFourth, as changed."
# A change that no merge takes beside `OURS`.
CLASH = "First, as changed.\nSecond.\nThird.\nFourth."
# Changes the live text that the proposal would change.
LiveChange = Callable[[str], object]


def propose_skill_revision(world: World) -> tuple[Proposal, LiveChange]:
    """Propose a new body of an approved skill."""
    skill = make_skill(world, "approved", body=LINES)
    proposal = propose_revision(skill, actor=world.bot, values={"body": OURS})
    return proposal, lambda body: revise_skill(skill, actor=world.operator, values={"body": body})


def propose_skill_end(world: World) -> tuple[Proposal, LiveChange]:
    """Propose to retire a skill."""
    skill = make_skill(world, "approved", body=LINES)
    proposal = propose_deprecation(skill, actor=world.bot, rationale="Nobody asks for it.")
    return proposal, lambda body: revise_skill(skill, actor=world.operator, values={"body": body})


def propose_persona_section(world: World) -> tuple[Proposal, LiveChange]:
    """Propose another style of a persona."""
    persona = make_persona(world, style=LINES)
    proposal = propose_sections(persona, actor=world.bot, values={"style": OURS})
    return proposal, lambda style: amend_persona(persona, actor=world.operator, values={"style": style})


def propose_edited_patch(world: World) -> tuple[Proposal, LiveChange]:
    """Propose a patch of what the agent must never do, which a reviewer has worded and a second one has to approve."""
    make_member(world)
    persona = make_persona(world, avoid=LINES)
    proposal = propose_patch(persona, actor=world.bot, text="Say it as proposed.")
    approve_as_read(proposal, world.operator, {"avoid": OURS})
    return proposal, lambda avoid: amend_persona(persona, actor=world.operator, values={"avoid": avoid})


def propose_memory_body(world: World) -> tuple[Proposal, LiveChange]:
    """Propose a whole new text of the agent's memory."""
    memory = make_memory(world, LINES)
    return hold_body(memory, world), lambda body: amend_memory(memory, actor=world.operator, body=body)


def propose_block_body(world: World) -> tuple[Proposal, LiveChange]:
    """Propose a whole new text of a memory block."""
    block = make_block(world, body=LINES)
    return hold_body(block, world), lambda body: amend_block(block, actor=world.operator, body=body)


def hold_body(row: AgentMemory | MemoryBlock, world: World) -> Proposal:
    """Hold a whole new text of a memory for review."""
    with acting_as(world.bot):
        hold_for_review(row, MemoryReviewSplit("", Taint.AGENT, whole=OURS), actor=world.bot, evidence=None)
        return Proposal.objects.visible_to(world.bot).about(row).get()


def propose_profile_notes(world: World) -> tuple[Proposal, LiveChange]:
    """Propose other notes about a customer."""
    profile = make_profile(world, notes=LINES)
    proposal = propose_profile(profile, {"notes": OURS}, actor=world.bot, evidence=None)
    return proposal, lambda notes: amend_profile(profile, actor=world.operator, values={"notes": notes})


def propose_rule_text(world: World) -> tuple[Proposal, LiveChange]:
    """Propose another wording of a rule, which is one line."""
    rule = make_rule(world, "Never name a competitor.")
    proposal = propose_rule_change(rule, actor=world.bot, text="Never name any competitor.")
    return proposal, lambda text: amend_rule(rule, actor=world.operator, values={"text": text.splitlines()[0]})


MAKERS: Mapping[Proposal.Kind, Callable[[World], tuple[Proposal, LiveChange]]] = MappingProxyType(
    {
        Kind.SKILL_REVISION: propose_skill_revision,
        Kind.SKILL_DEPRECATION: propose_skill_end,
        Kind.PERSONA_FIELDS: propose_persona_section,
        Kind.PERSONA_PATCH: propose_edited_patch,
        Kind.MEMORY_BODY: propose_memory_body,
        Kind.BLOCK_BODY: propose_block_body,
        Kind.PROFILE_CHANGE: propose_profile_notes,
        Kind.RULE_CHANGE: propose_rule_text,
    }
)
# In these kinds, a proposal and a later change of other lines can be merged.
MERGEABLE = frozenset(
    {Kind.SKILL_REVISION, Kind.PERSONA_FIELDS, Kind.MEMORY_BODY, Kind.BLOCK_BODY, Kind.PROFILE_CHANGE}
)


def make_stale(world: World, kind: Proposal.Kind, live: str = THEIRS) -> Proposal:
    """Make a proposal of this kind, and change the live text afterwards."""
    proposal, change = MAKERS[kind](world)
    change(live)
    return proposal
