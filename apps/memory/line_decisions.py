"""People's decisions on single lines: add them to memory, quarantine them, or restore them.

These decisions do not approve any other lines.
"""

from collections.abc import Collection, Mapping
from typing import Any

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.governed_write import governed
from apps.governance.models import Proposal, Taint
from apps.governance.policy.policy_table import Act
from apps.governance.proposals.actions import quarantine_proposal
from apps.memory.line_dates import proposed_dates, update_line_dates, update_profile_line_dates
from apps.memory.line_ledger import update_line_ledger
from apps.memory.models import REMEMBERED_FIELDS, AgentMemory, CustomerProfile, MemoryBlock
from apps.memory.profile_line_ledger import update_profile_ledger
from apps.memory.write_holds import propose_lines, propose_profile
from apps.prompt.memory_lines.line_diff import distinct_lines
from apps.prompt.memory_lines.line_expiry import find_line_dates
from apps.prompt.memory_lines.write_holds import merge_lines


def add_lines_to_memory(memory: AgentMemory, *, actor: Actor, proposal: Proposal) -> AgentMemory:
    """Add a proposal's lines to an agent's memory as approved lines. Existing lines keep their state."""
    evidence = proposal.authorship
    with acting_as(actor):
        with governed(Act.MEMORY_AMEND, memory, actor=actor, evidence=evidence) as row:
            before = row.body
            _add_lines(row, actor, proposal.words)
            update_line_dates(row, before, proposed_dates(proposal.words, actor), by_person=True)
        update_line_ledger(memory, before, actor=actor, evidence=evidence)
    return memory


def add_lines_to_block(block: MemoryBlock, *, actor: Actor, proposal: Proposal) -> MemoryBlock:
    """Add a proposal's lines to a block as approved lines. Existing lines keep their state."""
    evidence = proposal.authorship
    with acting_as(actor):
        with governed(Act.BLOCK_AMEND, block, actor=actor, evidence=evidence) as row:
            before = row.body
            _add_lines(row, actor, proposal.words)
            update_line_dates(row, before, proposed_dates(proposal.words, actor), by_person=True)
        update_line_ledger(block, before, actor=actor, evidence=evidence)
    return block


def quarantine_memory_lines(
    memory: AgentMemory,
    *,
    actor: Actor,
    lines: Collection[str],
    reason: str,
    evidence: Mapping[str, Any] | None = None,
) -> Proposal:
    """Quarantine lines of an agent's memory. A person may release them and add them again later."""
    with acting_as(actor):
        with governed(Act.MEMORY_AMEND, memory, actor=actor, evidence=evidence, reason=reason) as row:
            before, dates = row.body, find_line_dates(lines, row.line_dates)
            _remove_lines(row, lines)
            update_line_dates(row, before)
        update_line_ledger(memory, before, actor=actor)
        proposal = propose_lines(memory, lines, actor=actor, evidence=evidence, dates=dates)
        return quarantine_proposal(proposal, actor=actor, reason=reason)


def quarantine_block_lines(
    block: MemoryBlock,
    *,
    actor: Actor,
    lines: Collection[str],
    reason: str,
    evidence: Mapping[str, Any] | None = None,
) -> Proposal:
    """Quarantine lines of a block."""
    with acting_as(actor):
        with governed(Act.BLOCK_AMEND, block, actor=actor, evidence=evidence, reason=reason) as row:
            before, dates = row.body, find_line_dates(lines, row.line_dates)
            _remove_lines(row, lines)
            update_line_dates(row, before)
        update_line_ledger(block, before, actor=actor)
        proposal = propose_lines(block, lines, actor=actor, evidence=evidence, dates=dates)
        return quarantine_proposal(proposal, actor=actor, reason=reason)


def quarantine_profile_lines(
    profile: CustomerProfile,
    *,
    actor: Actor,
    lines: Collection[str],
    reason: str,
    evidence: Mapping[str, Any] | None = None,
) -> Proposal:
    """Quarantine lines of a customer's profile, and keep the previous texts."""
    with acting_as(actor):
        whole = {name: getattr(profile, name) for name in ("preferences", "notes")}
        with governed(Act.PROFILE_AMEND, profile, actor=actor, evidence=evidence, reason=reason) as row:
            dates = find_line_dates(lines, row.line_dates)
            for name, text in whole.items():
                setattr(row, name, merge_lines(text, (), lines))
            update_profile_line_dates(row, row.noted)
        update_profile_ledger(profile, whole, actor=actor, words_of=Taint(profile.taint))
        proposal = propose_profile(profile, whole, actor=actor, evidence=evidence, dates=dates)
        return quarantine_proposal(proposal, actor=actor, reason=reason)


def restore_replaced_memory(memory: AgentMemory, *, actor: Actor, replaced: Mapping[str, Any]) -> AgentMemory:
    """Restore the text that a proposal replaced, with its previous approvals; the undo itself approves nothing."""
    with acting_as(actor):
        with governed(Act.MEMORY_AMEND, memory, actor=actor) as row:
            before = row.body
            _restore_replaced(row, replaced)
            update_line_dates(row, before)
        update_line_ledger(memory, before, actor=actor)
    return memory


def restore_replaced_block(block: MemoryBlock, *, actor: Actor, replaced: Mapping[str, Any]) -> MemoryBlock:
    """Restore the block that a proposal replaced, with its previous approvals."""
    with acting_as(actor):
        with governed(Act.BLOCK_AMEND, block, actor=actor) as row:
            before = row.body
            _restore_replaced(row, replaced)
            update_line_dates(row, before)
        update_line_ledger(block, before, actor=actor)
    return block


def _remove_lines(row: AgentMemory | MemoryBlock, lines: Collection[str]) -> None:
    # A person who removes a line does not vouch for the other lines.
    row.body = merge_lines(row.body, (), lines)
    row.approved_body = merge_lines(row.approved_body, (), lines)


def _restore_replaced(row: AgentMemory | MemoryBlock, replaced: Mapping[str, Any]) -> None:
    for name in REMEMBERED_FIELDS:
        setattr(row, name, replaced.get(name, getattr(row, name)))


def _add_lines(row: AgentMemory | MemoryBlock, actor: Actor, words: Mapping[str, Any]) -> None:
    lines, drops = words.get("lines", []), words.get("removed_lines", [])
    row.body = merge_lines(row.body, lines, drops)
    row.approved_body = merge_lines(row.approved_body, lines, drops).strip("\n")
    if distinct_lines(row.body) <= distinct_lines(row.approved_body):
        row.updated_by, row.taint = actor.label, Taint.OPERATOR
