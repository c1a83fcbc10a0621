"""Lines that people let join what agents remember, take out of it, or put back: nobody vouches for the rest that way."""

from collections.abc import Collection, Mapping
from typing import Any

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.governance.governed_write import governed
from apps.governance.models import Proposal, Taint
from apps.governance.policy.table import Act
from apps.governance.proposals.actions import quarantine_proposal
from apps.memory.line_dates import keep_dates, keep_profile_dates, proposed_dates
from apps.memory.line_ledger import keep_lines
from apps.memory.models import STANDING, AgentMemory, CustomerProfile, MemoryBlock
from apps.memory.profile_line_ledger import keep_profile_lines
from apps.memory.write_holds import propose_lines, propose_profile
from apps.prompt.memory_lines.line_diff import known
from apps.prompt.memory_lines.line_expiry import dates_of
from apps.prompt.memory_lines.write_holds import joined_lines


def join_memory(memory: AgentMemory, *, actor: Actor, proposal: Proposal, reason: str = "") -> AgentMemory:
    """Let the lines of a proposal join what an agent remembers. They are approved; what stood there stays what it was."""
    evidence = proposal.authorship
    with acting(actor):
        with governed(Act.MEMORY_AMEND, memory, actor=actor, evidence=evidence, reason=reason) as row:
            before = row.body
            _join(row, actor, proposal.words)
            keep_dates(row, before, proposed_dates(proposal.words, actor), by_person=True)
        keep_lines(memory, before, actor=actor, evidence=evidence)
    return memory


def join_block(block: MemoryBlock, *, actor: Actor, proposal: Proposal, reason: str = "") -> MemoryBlock:
    """Let the lines of a proposal join a block. They are approved; what stood there stays what it was."""
    evidence = proposal.authorship
    with acting(actor):
        with governed(Act.BLOCK_AMEND, block, actor=actor, evidence=evidence, reason=reason) as row:
            before = row.body
            _join(row, actor, proposal.words)
            keep_dates(row, before, proposed_dates(proposal.words, actor), by_person=True)
        keep_lines(block, before, actor=actor, evidence=evidence)
    return block


def withhold_memory(
    memory: AgentMemory,
    *,
    actor: Actor,
    lines: Collection[str],
    reason: str,
    evidence: Mapping[str, Any] | None = None,
) -> Proposal:
    """Take lines out of what an agent remembers and hold them apart; a person may release them, and then let them join."""
    with acting(actor):
        with governed(Act.MEMORY_AMEND, memory, actor=actor, evidence=evidence, reason=reason) as row:
            before, dates = row.body, dates_of(lines, row.line_dates)
            _take_out(row, lines)
            keep_dates(row, before)
        keep_lines(memory, before, actor=actor)
        proposal = propose_lines(memory, lines, actor=actor, evidence=evidence, dates=dates)
        return quarantine_proposal(proposal, actor=actor, reason=reason)


def withhold_block(
    block: MemoryBlock,
    *,
    actor: Actor,
    lines: Collection[str],
    reason: str,
    evidence: Mapping[str, Any] | None = None,
) -> Proposal:
    """The same for a block."""
    with acting(actor):
        with governed(Act.BLOCK_AMEND, block, actor=actor, evidence=evidence, reason=reason) as row:
            before, dates = row.body, dates_of(lines, row.line_dates)
            _take_out(row, lines)
            keep_dates(row, before)
        keep_lines(block, before, actor=actor)
        proposal = propose_lines(block, lines, actor=actor, evidence=evidence, dates=dates)
        return quarantine_proposal(proposal, actor=actor, reason=reason)


def withhold_profile(
    profile: CustomerProfile,
    *,
    actor: Actor,
    lines: Collection[str],
    reason: str,
    evidence: Mapping[str, Any] | None = None,
) -> Proposal:
    """Take lines out of what is known of a customer and hold the texts apart as they stood."""
    with acting(actor):
        whole = {name: getattr(profile, name) for name in ("preferences", "notes")}
        with governed(Act.PROFILE_AMEND, profile, actor=actor, evidence=evidence, reason=reason) as row:
            dates = dates_of(lines, row.line_dates)
            for name, text in whole.items():
                setattr(row, name, joined_lines(text, (), lines))
            keep_profile_dates(row, row.noted)
        keep_profile_lines(profile, whole, actor=actor, words_of=Taint(profile.taint))
        proposal = propose_profile(profile, whole, actor=actor, evidence=evidence, dates=dates)
        return quarantine_proposal(proposal, actor=actor, reason=reason)


def put_back_memory(memory: AgentMemory, *, actor: Actor, replaced: Mapping[str, Any], reason: str) -> AgentMemory:
    """Let stand again what a proposal replaced, with whoever answered for it then: an undo vouches for nothing."""
    with acting(actor):
        with governed(Act.MEMORY_AMEND, memory, actor=actor, reason=reason) as row:
            before = row.body
            _put_back(row, replaced)
            keep_dates(row, before)
        keep_lines(memory, before, actor=actor)
    return memory


def put_back_block(block: MemoryBlock, *, actor: Actor, replaced: Mapping[str, Any], reason: str) -> MemoryBlock:
    """The same for a block."""
    with acting(actor):
        with governed(Act.BLOCK_AMEND, block, actor=actor, reason=reason) as row:
            before = row.body
            _put_back(row, replaced)
            keep_dates(row, before)
        keep_lines(block, before, actor=actor)
    return block


def _take_out(row: AgentMemory | MemoryBlock, lines: Collection[str]) -> None:
    # Whoever takes a line out does not vouch for the rest.
    row.body = joined_lines(row.body, (), lines)
    row.approved_body = joined_lines(row.approved_body, (), lines)


def _put_back(row: AgentMemory | MemoryBlock, replaced: Mapping[str, Any]) -> None:
    for name in STANDING:
        setattr(row, name, replaced.get(name, getattr(row, name)))


def _join(row: AgentMemory | MemoryBlock, actor: Actor, words: Mapping[str, Any]) -> None:
    lines, drops = words.get("lines", []), words.get("removed_lines", [])
    row.body = joined_lines(row.body, lines, drops)
    row.approved_body = joined_lines(row.approved_body, lines, drops).strip("\n")
    if known(row.body) <= known(row.approved_body):
        row.updated_by, row.taint = actor.label, Taint.OPERATOR
