"""Expiry and review dates of memory lines and profile lines: the actions that set them, and the query for lines that are due.

People may date any line; agents only lines that they wrote.
"""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django.db.models import Q

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid
from apps.governance.governed_write import governed
from apps.governance.policy.policy_table import Act
from apps.memory.line_ledger import RememberedText, update_line_ledger
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock, MemoryLine
from apps.memory.profile_line_ledger import sync_profile_line_dates
from apps.prompt.memory_lines.line_diff import distinct_lines, strip_line
from apps.prompt.memory_lines.line_expiry import (
    REVIEW_AFTER,
    VALID_UNTIL,
    LineDates,
    merge_line_dates,
    parse_line_dates,
)
from apps.tenants.tenant_clock import zone_of


def set_memory_line_dates(
    memory: AgentMemory, *, actor: Actor, line: str, dates: LineDates, read_at: int | None = None
) -> AgentMemory:
    """Set the expiry and review dates of a memory line. Without an expiry it never expires. Open sessions keep the line."""
    with acting_as(actor):
        with governed(Act.MEMORY_SET_LINE_DATES, memory, actor=actor, read_at=read_at) as row:
            _set_line_dates(row, line, dates)
        update_line_ledger(memory, memory.body, actor=actor)
    return memory


def set_block_line_dates(
    block: MemoryBlock, *, actor: Actor, line: str, dates: LineDates, read_at: int | None = None
) -> MemoryBlock:
    """Set the expiry and review dates of a line in a block."""
    with acting_as(actor):
        with governed(Act.BLOCK_SET_LINE_DATES, block, actor=actor, read_at=read_at) as row:
            _set_line_dates(row, line, dates)
        update_line_ledger(block, block.body, actor=actor)
    return block


def set_profile_line_dates(
    profile: CustomerProfile, *, actor: Actor, line: str, dates: LineDates, read_at: int | None = None
) -> CustomerProfile:
    """Set the expiry and review dates of a profile line, whether it is in the preferences or the notes."""
    with acting_as(actor):
        with governed(Act.PROFILE_SET_LINE_DATES, profile, actor=actor, read_at=read_at) as row:
            _refuse_unknown_line(line, row.noted)
            row.line_dates = merge_line_dates(row.noted, row.line_dates, {strip_line(line): dates})
        sync_profile_line_dates(profile)
    return profile


def update_profile_line_dates(
    row: CustomerProfile, before: str, dates: Mapping[str, LineDates] | None = None, *, by_person: bool = False
) -> None:
    """Update a profile's dates after its texts were written. An agent can date only lines that it wrote itself."""
    own = distinct_lines(row.noted) if by_person else distinct_lines(row.noted) - distinct_lines(before)
    row.line_dates = merge_line_dates(row.noted, row.line_dates, _only_own_dates(own, dates))


def update_line_dates(
    row: RememberedText, before: str, dates: Mapping[str, LineDates] | None = None, *, by_person: bool = False
) -> None:
    """Update the dates after a text was written. An agent can date only lines that it wrote itself, never a person's."""
    own = (
        distinct_lines(row.body)
        if by_person
        else distinct_lines(row.body) - distinct_lines(before) - distinct_lines(row.approved_body)
    )
    row.line_dates = merge_line_dates(row.body, row.line_dates, _only_own_dates(own, dates))


def proposed_dates(words: Mapping[str, Any], actor: Actor) -> dict[str, LineDates]:
    """Return the dates in a proposal's content, in the tenant's time zone."""
    return parse_line_dates(words, zone_of(actor)) if words.get(VALID_UNTIL) or words.get(REVIEW_AFTER) else {}


def _set_line_dates(row: RememberedText, line: str, dates: LineDates) -> None:
    _refuse_unknown_line(line, row.body)
    row.line_dates = merge_line_dates(row.body, row.line_dates, {strip_line(line): dates})


def _refuse_unknown_line(line: str, text: str) -> None:
    if strip_line(line) not in distinct_lines(text):
        raise Invalid(
            "There is no such line in this text. Send the line exactly as it is written there.",
            {"line": ["There is no such line."]},
        )


def _only_own_dates(own: frozenset[str], dates: Mapping[str, LineDates] | None) -> dict[str, LineDates]:
    return {strip_line(line): found for line, found in (dates or {}).items() if strip_line(line) in own}


def due_line_filters(now: datetime) -> Mapping[str, Q]:
    """Return the query conditions of active lines that are due for review or have expired. They fit memory and profile lines."""
    standing = Q(status=MemoryLine.Status.ACTIVE)
    return MappingProxyType(
        {"review": standing & Q(review_after__lte=now), "expired": standing & Q(valid_until__lte=now)}
    )
