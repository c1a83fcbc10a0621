"""Expiry and review dates of memory lines and profile lines: the acts that set them, and the query for lines that are due.

People may date any line; agents date only their own lines.
"""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django.db.models import Q

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.governance.errors import Invalid
from apps.governance.governed_write import governed
from apps.governance.policy.table import Act
from apps.memory.line_ledger import Remembered, keep_lines
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock, MemoryLine
from apps.memory.profile_line_ledger import date_profile_lines
from apps.prompt.memory_lines.line_diff import bare, known
from apps.prompt.memory_lines.line_expiry import REVIEW, UNTIL, LineDates, kept, meant_dates
from apps.tenants.tenant_clock import zone_of


def date_memory(
    memory: AgentMemory, *, actor: Actor, line: str, dates: LineDates, read_at: int | None = None
) -> AgentMemory:
    """Say until when a line holds and when to look at it again; without either it holds for good. Open sessions keep it."""
    with acting(actor):
        with governed(Act.MEMORY_SET_LINE_DATES, memory, actor=actor, read_at=read_at) as row:
            _date(row, line, dates)
        keep_lines(memory, memory.body, actor=actor)
    return memory


def date_block(
    block: MemoryBlock, *, actor: Actor, line: str, dates: LineDates, read_at: int | None = None
) -> MemoryBlock:
    """The same for a line of a block."""
    with acting(actor):
        with governed(Act.BLOCK_SET_LINE_DATES, block, actor=actor, read_at=read_at) as row:
            _date(row, line, dates)
        keep_lines(block, block.body, actor=actor)
    return block


def date_profile(
    profile: CustomerProfile, *, actor: Actor, line: str, dates: LineDates, read_at: int | None = None
) -> CustomerProfile:
    """The same for a line noted of a customer, in whichever of the two texts it stands."""
    with acting(actor):
        with governed(Act.PROFILE_SET_LINE_DATES, profile, actor=actor, read_at=read_at) as row:
            _refuse_unknown(line, row.noted)
            row.line_dates = kept(row.noted, row.line_dates, {bare(line): dates})
        date_profile_lines(profile)
    return profile


def keep_profile_dates(
    row: CustomerProfile, before: str, dates: Mapping[str, LineDates] | None = None, *, by_person: bool = False
) -> None:
    """Let the dates follow the two texts that were just written; an agent dates lines that it brought itself."""
    own = known(row.noted) if by_person else known(row.noted) - known(before)
    row.line_dates = kept(row.noted, row.line_dates, _among(own, dates))


def keep_dates(
    row: Remembered, before: str, dates: Mapping[str, LineDates] | None = None, *, by_person: bool = False
) -> None:
    """Let the dates follow the text that was just written; an agent dates lines that it brought itself, and no person's."""
    own = known(row.body) if by_person else known(row.body) - known(before) - known(row.approved_body)
    row.line_dates = kept(row.body, row.line_dates, _among(own, dates))


def proposed_dates(words: Mapping[str, Any], actor: Actor) -> dict[str, LineDates]:
    """The dates in a proposal's words, by the tenant's clock."""
    return meant_dates(words, zone_of(actor)) if words.get(UNTIL) or words.get(REVIEW) else {}


def _date(row: Remembered, line: str, dates: LineDates) -> None:
    _refuse_unknown(line, row.body)
    row.line_dates = kept(row.body, row.line_dates, {bare(line): dates})


def _refuse_unknown(line: str, text: str) -> None:
    if bare(line) not in known(text):
        raise Invalid("No line there reads so. Give the line exactly as it stands.", {"line": ["No line reads so."]})


def _among(own: frozenset[str], dates: Mapping[str, LineDates] | None) -> dict[str, LineDates]:
    return {bare(line): found for line, found in (dates or {}).items() if bare(line) in own}


def due(now: datetime) -> Mapping[str, Q]:
    """Of the lines that stand, of memory or of a customer."""
    standing = Q(status=MemoryLine.Status.ACTIVE)
    return MappingProxyType(
        {"review": standing & Q(review_after__lte=now), "expired": standing & Q(valid_until__lte=now)}
    )
