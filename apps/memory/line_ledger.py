"""The ledger of memory lines: the source of each line, written in the transaction of the act that writes the text (Z-25).

A line keeps its source when it moves. If an agent writes a line that once came from another source, that source is recorded
again, however long ago the line was removed. A person who writes or approves a text vouches for its lines.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

from django.db.models import QuerySet
from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Taint
from apps.memory.models import AGENT, AgentMemory, MemoryBlock, MemoryLine, ProfileLine
from apps.prompt.memory_lines.line_diff import diff_lines, distinct_lines, line_sha256, strip_line
from apps.prompt.memory_lines.line_expiry import LineDates
from apps.prompt.memory_lines.write_holds import HeldLine

LineStatus = MemoryLine.Status
RememberedText = AgentMemory | MemoryBlock
LedgerLine = TypeVar("LedgerLine", MemoryLine, ProfileLine)
END_FIELDS: Final = ("status", "ended_at", "last_version", "superseded_by")
DATE_FIELDS: Final = ("valid_until", "review_after", "last_version")
FOREIGN_TAINTS: Final = (Taint.TOOL, Taint.CUSTOMER, Taint.IMPORT)


def update_line_ledger(
    row: RememberedText,
    before: str,
    *,
    actor: Actor,
    held_lines: Iterable[HeldLine] = (),
    words_of: Taint | None = None,
    evidence: Mapping[str, Any] | None = None,
    instead: Mapping[str, str] | None = None,
) -> None:
    """Update the ledger to match the current text.

    `before` is the previous text, `held_lines` are lines that repeat somebody's words, and `instead` maps a line to the line it
    replaces.
    """
    with acting_as(actor):
        diff, standing = diff_lines(before, row.body, instead), {line.sha256: line for line in standing_lines(row)}
        taints = _new_line_taints(
            row, diff.added, actor, {strip_line(held.text): held.whose.value for held in held_lines}, words_of
        )
        source = (evidence or {}).get("conversation_id")
        new = [
            _new_line(row, text, taints[text], actor, source)
            for text in diff.added
            if line_sha256(text) not in standing
        ]
        made = {line.sha256: line for line in MemoryLine.objects.bulk_create(new)}
        gone = [standing.pop(sha256) for sha256 in map(line_sha256, diff.removed) if sha256 in standing]
        followed_by = {line_sha256(old): made.get(line_sha256(new)) for old, new in diff.replaced}
        MemoryLine.objects.bulk_update(end_lines(gone, followed_by, row.version), END_FIELDS)
        _update_line_taints(row, standing.values(), actor, words_of)
        MemoryLine.objects.bulk_update(
            apply_line_dates([*standing.values(), *made.values()], row.line_dates, row.version), DATE_FIELDS
        )


def foreign_lines(row: RememberedText, wanted: str, actor: Actor) -> list[str]:
    """Return the new lines of a text that were once in this agent's memory as the words of another source."""
    hashes = [line_sha256(line) for line in distinct_lines(wanted) - distinct_lines(row.body)]
    found = MemoryLine.objects.filter(tenant_id=actor.tenant_id, agent_id=row.agent_id, sha256__in=hashes)
    return list(found.filter(taint__in=FOREIGN_TAINTS).values_list("text", flat=True).distinct().order_by("text"))


def ledger_of(row: RememberedText) -> QuerySet[MemoryLine]:
    """Return every line that is or once was in a text."""
    return MemoryLine.objects.filter(tenant_id=row.tenant_id, **_text_key(row))


def standing_lines(row: RememberedText) -> QuerySet[MemoryLine]:
    """Return the lines that are currently in a text, oldest first."""
    return ledger_of(row).filter(status=LineStatus.ACTIVE).order_by("id")


def _text_key(row: RememberedText) -> dict[str, int]:
    return {"memory_id": row.pk} if isinstance(row, AgentMemory) else {"block_id": row.pk}


def _new_line_taints(
    row: RememberedText, came: Iterable[str], actor: Actor, repeated_taints: Mapping[str, str], words_of: Taint | None
) -> dict[str, Taint]:
    """Return the source of each new line: the person who vouches for the line, or else its known earlier source."""
    by_hash = {line_sha256(line): line for line in came}
    earlier: dict[str, list[Taint]] = {line: [] for line in by_hash.values()}
    lines = MemoryLine.objects.filter(tenant_id=row.tenant_id, agent_id=row.agent_id, sha256__in=list(by_hash))
    for sha256, taint in lines.filter(taint__in=FOREIGN_TAINTS).values_list("sha256", "taint"):
        earlier[by_hash[sha256]].append(Taint(taint))
    passed = (
        distinct_lines(row.approved_body) if actor.is_person and words_of in {None, Taint.OPERATOR} else frozenset()
    )
    own = words_of or Taint.AGENT
    return {
        line: Taint.OPERATOR if line in passed else Taint.joined(own, *known_as, repeated_taints.get(line, own))
        for line, known_as in earlier.items()
    }


def _new_line(row: RememberedText, text: str, taint: Taint, actor: Actor, source: int | None) -> MemoryLine:
    return MemoryLine(
        tenant_id=row.tenant_id,
        agent_id=row.agent_id,
        **_text_key(row),
        sha256=line_sha256(text),
        text=text,
        author=actor.label if taint == Taint.OPERATOR else AGENT,
        taint=taint,
        source_conversation_id=source,
        first_version=row.version,
        last_version=row.version,
    )


def end_lines(
    gone: Iterable[LedgerLine], followed_by: Mapping[str, LedgerLine | None], version: int
) -> list[LedgerLine]:
    """Mark lines that a version removed as ended, each with the line that replaced it. `END_FIELDS` are the columns to save."""
    ended = list(gone)
    for line in ended:
        line.superseded_by = followed_by.get(line.sha256)
        line.status = LineStatus.SUPERSEDED if line.superseded_by else LineStatus.REMOVED
        line.ended_at, line.last_version = timezone.now(), version
    return ended


def _update_line_taints(row: RememberedText, stays: Iterable[MemoryLine], actor: Actor, words_of: Taint | None) -> None:
    """Update the source of remaining lines that a person now vouches for, or restores as another source's words."""
    if not actor.is_person:
        return
    passed = distinct_lines(row.approved_body)
    changed = []
    for line in stays:
        owner = Taint.OPERATOR if line.text in passed else Taint(words_of or _current_taint(line, row))
        if owner != line.taint:
            line.taint, line.last_version = owner, row.version
            line.author = actor.label if owner == Taint.OPERATOR else AGENT
            changed.append(line)
    MemoryLine.objects.bulk_update(changed, ["taint", "author", "last_version"])


def apply_line_dates(stays: Iterable[LedgerLine], stored_dates: Mapping[str, Any], version: int) -> list[LedgerLine]:
    """Apply the stored dates to active lines, and return the lines that changed. `DATE_FIELDS` are the columns to save."""
    changed = []
    for line in stays:
        dates = LineDates.of(stored_dates.get(line.sha256, {}))
        if (line.valid_until, line.review_after) != (dates.valid_until, dates.review_after):
            line.valid_until, line.review_after, line.last_version = dates.valid_until, dates.review_after, version
            changed.append(line)
    return changed


def _current_taint(line: MemoryLine, row: RememberedText) -> str:
    """Return the source of a line whose approval was withdrawn, which is the source of the whole text."""
    return row.taint if line.taint == Taint.OPERATOR else line.taint
