"""Acts on memory and profiles: agents write what the tenant lets them; whoever acts signs (R023, R079, R080, R087)."""

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
    """Start an agent's memory. Its next session carries it."""
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
    """Replace an agent's memory by a new full body; running sessions keep what they started with (R079).

    Whoever changes the body signs for it. What of an agent's words the tenant wants reviewed, by what it `heard`, goes before a
    person instead, with its `dates` (Z-19). `words_of` says whose words a person brings back without vouching for them, `dates`
    until when new lines hold, `instead` which line came in the place of which.
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
    """Vouch for what an agent wrote, as it stands. The next session of every customer carries it as prose (Z-22)."""
    with acting_as(actor):
        with governed(Act.MEMORY_APPROVE, memory, actor=actor, read_at=read_at) as row:
            _approve_text(row, actor)
        update_line_ledger(memory, memory.body, actor=actor)
    return memory


def create_block(agent_id: int, *, actor: Actor, values: Mapping[str, object]) -> MemoryBlock:
    """Give an agent a block of memory. Pinned, its next session carries it."""
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
    """Change anything of a block. Only who changes the body signs for it: pinning what an agent wrote does not vouch for it.

    `words_of` says whose body it is where somebody else's is brought back.
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
    """Vouch for what an agent wrote into a block, as it stands. While it is pinned, prompts carry it as prose (Z-22)."""
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
    """Replace a block's body; the same body sent again keeps its author. What is read-only stays as people wrote it.

    An agent says what it `heard`, and what of its words the tenant wants reviewed goes before a person instead (Z-19).
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
    """Start what is known of a customer. Every agent of the tenant sees it from its next session (R085)."""
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
    """Write preferences or notes. Seeing the customer is part of it: `last_seen_at` moves too (R086).

    It reaches one customer alone, so of an agent's words it waits only where all memory does (Z-19). `instead` goes by text.
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
            # A browser sends other line ends than it was given; who pressed Save on that changed nothing.
            setattr(row, name, text)
    owner = (words_of or Taint.OPERATOR) if actor.is_person else of_agents
    is_new = row._state.adding or any(getattr(row, name) != text for name, text in before.items())
    label = actor.label if owner == Taint.OPERATOR else AGENT
    if isinstance(row, CustomerProfile) and any(
        text.strip() and getattr(row, name) == text for name, text in before.items()
    ):
        # Who changes one of the two texts answers for that one alone.
        owner = Taint.joined(owner, row.taint)
    if not is_new:
        # Words that stand already may lose an approval this way, and never gain one.
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
        raise Conflict("A person vouches for what stands there already; there is nothing to approve.")
    row.updated_by = actor.label
    row.taint = Taint.OPERATOR
    row.approved_body = row.body
