"""Actions on memory and profiles.

Agents may write what the tenant's policy allows them. The actor is recorded as the author (R023, R079, R080, R087).
"""

from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, NotPermitted
from apps.governance.governed_write import assign_values, governed, refuse_ungoverned_fields
from apps.governance.models import Taint
from apps.governance.policy.policy_table import Act
from apps.memory.line_dates import update_line_dates, update_profile_line_dates
from apps.memory.line_ledger import update_line_ledger
from apps.memory.models import AGENT, AgentMemory, CustomerProfile, MemoryBlock
from apps.memory.profile_line_ledger import update_profile_ledger
from apps.memory.write_holds import (
    MemoryReviewSplit,
    hold_for_review,
    memory_review_of,
    propose_profile,
    split_memory_write,
)
from apps.prompt.memory_lines.line_expiry import LineDates
from apps.prompt.memory_lines.write_holds import MemoryReview
from apps.prompt.text_reuse.derived_lines import ReceivedTexts


def create_memory(
    agent_id: int,
    *,
    actor: Actor,
    body: str,
    heard: ReceivedTexts | None = None,
    evidence: Mapping[str, Any] | None = None,
    dates: Mapping[str, LineDates] | None = None,
) -> AgentMemory:
    """Create an agent's memory, which the agent's next session includes."""
    memory = AgentMemory(tenant_id=actor.tenant_id, agent_id=agent_id)
    return amend_memory(memory, actor=actor, body=body, heard=heard, evidence=evidence, dates=dates)


def amend_memory(
    memory: AgentMemory,
    *,
    actor: Actor,
    body: str,
    heard: ReceivedTexts | None = None,
    read_at: int | None = None,
    evidence: Mapping[str, Any] | None = None,
    reason: str = "",
    words_of: Taint | None = None,
    dates: Mapping[str, LineDates] | None = None,
    instead: Mapping[str, str] | None = None,
) -> AgentMemory:
    """Replace the body of an agent's memory. Open sessions keep the text they started with (R079).

    The actor becomes the author of the changed text. If an agent writes, lines that the tenant wants reviewed are proposed with
    their `dates` instead of saved (Z-19); `heard` are the texts that the agent received, which decide about this. `words_of` is
    the source of lines that a person restores without vouching for them. `dates` are the dates of new lines, and `instead` maps a
    line to the line it replaces.
    """
    with acting_as(actor):
        with governed(Act.MEMORY_AMEND, memory, actor=actor, read_at=read_at, evidence=evidence, reason=reason) as row:
            before, share = row.body, split_memory_write(row, body, actor=actor, heard=heard)
            _apply_split(row, share, actor, words_of)
            update_line_dates(row, before, dates, by_person=actor.is_person)
        update_line_ledger(
            memory, before, actor=actor, held_lines=share.said, words_of=words_of, evidence=evidence, instead=instead
        )
        hold_for_review(memory, share, actor=actor, evidence=evidence, dates=dates)
    return memory


def approve_memory(memory: AgentMemory, *, actor: Actor, read_at: int) -> AgentMemory:
    """Approve the agent's current text. From the next session on, prompts for every customer render it as prose (Z-22)."""
    with acting_as(actor):
        with governed(Act.MEMORY_APPROVE, memory, actor=actor, read_at=read_at) as row:
            _approve_text(row, actor)
        update_line_ledger(memory, memory.body, actor=actor)
    return memory


def create_block(agent_id: int, *, actor: Actor, values: Mapping[str, object]) -> MemoryBlock:
    """Create a memory block. If it is pinned, the agent's next session includes it."""
    block = MemoryBlock(tenant_id=actor.tenant_id, agent_id=agent_id)
    return write_block(block, actor=actor, values=values)


def write_block(
    block: MemoryBlock,
    *,
    actor: Actor,
    values: Mapping[str, object],
    read_at: int | None = None,
    words_of: Taint | None = None,
) -> MemoryBlock:
    """Change any field of a block.

    The actor becomes its author only if the body changes: pinning an agent's text does not approve it. `words_of` is the source
    of a body that a person restores without vouching for it.
    """
    with acting_as(actor):
        with governed(Act.BLOCK_WRITE, block, actor=actor, read_at=read_at) as row:
            before = row.body
            assign_values(row, Act.BLOCK_WRITE, values)
            _set_authorship(row, actor, {"body": before}, Taint.OPERATOR, words_of)
            update_line_dates(row, before)
        update_line_ledger(block, before, actor=actor, words_of=words_of)
    return block


def approve_block(block: MemoryBlock, *, actor: Actor, read_at: int) -> MemoryBlock:
    """Approve the agent's current text in a block. While the block is pinned, prompts render it as prose (Z-22)."""
    with acting_as(actor):
        with governed(Act.BLOCK_APPROVE, block, actor=actor, read_at=read_at) as row:
            _approve_text(row, actor)
        update_line_ledger(block, block.body, actor=actor)
    return block


def amend_block(
    block: MemoryBlock,
    *,
    actor: Actor,
    body: str,
    heard: ReceivedTexts | None = None,
    read_at: int | None = None,
    evidence: Mapping[str, Any] | None = None,
    reason: str = "",
    dates: Mapping[str, LineDates] | None = None,
    instead: Mapping[str, str] | None = None,
) -> MemoryBlock:
    """Replace a block's body. An unchanged body keeps its author, and an agent cannot change a read-only block.

    An agent passes the texts that it received as `heard`; lines that the tenant wants reviewed become a proposal instead (Z-19).
    """
    with acting_as(actor):
        with governed(Act.BLOCK_AMEND, block, actor=actor, read_at=read_at, evidence=evidence, reason=reason) as row:
            if row.is_read_only and not actor.is_person:
                raise NotPermitted(f"The block “{row.label}” is read-only. Ask an operator to change it.")
            before, share = row.body, split_memory_write(row, body, actor=actor, heard=heard)
            _apply_split(row, share, actor)
            update_line_dates(row, before, dates, by_person=actor.is_person)
        update_line_ledger(block, before, actor=actor, held_lines=share.said, evidence=evidence, instead=instead)
        hold_for_review(block, share, actor=actor, evidence=evidence, dates=dates)
    return block


def create_profile(
    end_user_key: str,
    *,
    actor: Actor,
    values: Mapping[str, str],
    evidence: Mapping[str, Any] | None = None,
    dates: Mapping[str, LineDates] | None = None,
) -> CustomerProfile:
    """Create a customer's profile. Every agent of the tenant sees it from the agent's next session on (R085)."""
    profile = CustomerProfile(tenant_id=actor.tenant_id, end_user_key=end_user_key)
    return amend_profile(profile, actor=actor, values=values, evidence=evidence, dates=dates)


def amend_profile(
    profile: CustomerProfile,
    *,
    actor: Actor,
    values: Mapping[str, str],
    read_at: int | None = None,
    evidence: Mapping[str, Any] | None = None,
    words_of: Taint | None = None,
    dates: Mapping[str, LineDates] | None = None,
    instead: Mapping[str, Mapping[str, str]] | None = None,
) -> CustomerProfile:
    """Write the preferences or notes of a profile, and update `last_seen_at` (R086).

    A profile reaches only one customer, so an agent's text is held for review only if the tenant reviews all memory (Z-19).
    `instead` maps each field to the lines that replace others.
    """
    with acting_as(actor):
        waits = actor.role is Role.AGENT and memory_review_of(actor) is MemoryReview.ALL
        with governed(Act.PROFILE_AMEND, profile, actor=actor, read_at=read_at, evidence=evidence) as row:
            before, noted = {"preferences": row.preferences, "notes": row.notes}, row.noted
            if waits:
                refuse_ungoverned_fields(Act.PROFILE_AMEND, values)
            else:
                assign_values(row, Act.PROFILE_AMEND, values)
            row.last_seen_at = timezone.now()
            _set_authorship(row, actor, before, Taint.CUSTOMER, words_of)
            update_profile_line_dates(row, noted, dates, by_person=actor.is_person)
        update_profile_ledger(profile, before, actor=actor, words_of=words_of, evidence=evidence, instead=instead)
        if waits and any(getattr(profile, name) != text for name, text in values.items()):
            propose_profile(profile, values, actor=actor, evidence=evidence, dates=dates)
    return profile


def _apply_split(
    row: AgentMemory | MemoryBlock, share: MemoryReviewSplit, actor: Actor, words_of: Taint | None = None
) -> None:
    before = {"body": row.body}
    row.body = share.text
    _set_authorship(row, actor, before, share.taint, words_of)


def _set_authorship(
    row: AgentMemory | MemoryBlock | CustomerProfile,
    actor: Actor,
    before: Mapping[str, str],
    of_agents: Taint,
    words_of: Taint | None = None,
) -> None:
    for name, text in before.items():
        if _normalize_line_ends(getattr(row, name)) == _normalize_line_ends(text):
            # Browsers send CRLF line ends; without this, saving an unchanged form would change the text.
            setattr(row, name, text)
    owner = (words_of or Taint.OPERATOR) if actor.is_person else of_agents
    is_new = row._state.adding or any(getattr(row, name) != text for name, text in before.items())
    label = actor.label if owner == Taint.OPERATOR else AGENT
    if isinstance(row, CustomerProfile) and any(
        text.strip() and getattr(row, name) == text for name, text in before.items()
    ):
        # A person who changes one of the two texts becomes the author of that text only.
        owner = Taint.joined(owner, row.taint)
    if not is_new:
        # This way existing lines can lose an approval but never gain one.
        owner = Taint.joined(row.taint, words_of or row.taint)
    loses = not is_new and owner != row.taint
    if is_new or loses:
        row.updated_by = label if is_new else AGENT
        row.taint = owner
    if is_new and owner == Taint.OPERATOR and not isinstance(row, CustomerProfile):
        row.approved_body = row.body
    elif loses and not isinstance(row, CustomerProfile):
        row.approved_body = ""


def _normalize_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _approve_text(row: AgentMemory | MemoryBlock, actor: Actor) -> None:
    if row.is_approved:
        raise Conflict("A person has approved this text already, so there is nothing to approve.")
    row.updated_by = actor.label
    row.taint = Taint.OPERATOR
    row.approved_body = row.body
