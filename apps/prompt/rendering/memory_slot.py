"""Slot 4: what the agent remembers for all its customers, as much of it as its context tier shows (R168, Z-23)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from apps.prompt.instruction_texts import (
    BLOCK_TITLE,
    MEMORY_TITLES,
    SLOT_TITLES,
    TIER_LINE,
    TIER_SHOWN,
    UNAPPROVED_MEMORY_LEAD,
)
from apps.prompt.prompt_input import TIERS, Block, Memory, Passage, Slot
from apps.prompt.rendering.data_fences import fenced, scrub, text_payload
from apps.prompt.rendering.passages import BREAK, GAP, Run, Scribe, lines, section, source_key, strung, titled, words
from apps.prompt.text_limits import (
    BLOCK_LABEL_CHARACTERS,
    LONG_MEMORY_CHARACTERS,
    MID_MEMORY_CHARACTERS,
    SECTION_CHARACTERS,
    SHORT_MEMORY_CHARACTERS,
)

_LEAD: Final = words("lead.unapproved_memory", UNAPPROVED_MEMORY_LEAD)
_BULLET: Final = words("bullet", "- ")
_BLOCK_TITLE: Final = words("title.block", f"## {BLOCK_TITLE}")
_UNNAMED: Final = words("title.block", "unnamed")
_TIER_LINES: Final = {
    tier: words("context_tier", TIER_LINE.format(tier=tier, highest=TIERS[-1], shown=shown))
    for tier, shown in TIER_SHOWN.items()
}


def remembered(memory: Memory | None, tier: int, scribe: Scribe) -> Run:
    """A tier adds sections and takes none away; which one is in force is said from the third on."""
    if memory is None or tier == 1:
        return []
    known = [
        _section("body", memory.body, SECTION_CHARACTERS, scribe),
        *_blocks(memory.blocks, scribe),
        _section("short", memory.short, SHORT_MEMORY_CHARACTERS, scribe),
        _section("mid", memory.mid, MID_MEMORY_CHARACTERS, scribe),
        _section("reminders", memory.reminders, SECTION_CHARACTERS, scribe, _bulleted),
        _section("long", memory.long, LONG_MEMORY_CHARACTERS, scribe) if tier >= 3 else [],
    ]
    notes = [
        _section("scratch", memory.scratch, SECTION_CHARACTERS, scribe) if tier >= 4 else [],
        _section("tasks", memory.tasks, SECTION_CHARACTERS, scribe, _bulleted) if tier >= 4 else [],
    ]
    is_known = any(known) or any(notes)
    return titled("memory", SLOT_TITLES[Slot.MEMORY], [*known, _tier(tier), *notes]) if is_known else []


def _tier(tier: int) -> Run:
    return section("tier", MEMORY_TITLES["tier"], [_TIER_LINES[tier]]) if tier in _TIER_LINES else []


def _prose(passage: Passage) -> Run:
    return lines(passage.text, passage.source)


def _bulleted(passage: Passage) -> Run:
    return [_BULLET, *_prose(passage)]


def _section(
    name: str,
    passages: Iterable[Passage],
    cap: int,
    scribe: Scribe,
    shown: Callable[[Passage], Run] = _prose,
) -> Run:
    body = _body(scribe.each(passages, cap, cap), shown)
    return section(name, MEMORY_TITLES[name], body) if name in MEMORY_TITLES else body


def _body(passages: Sequence[Passage], shown: Callable[[Passage], Run]) -> Run:
    """What a person passed stands as prose; behind it, what nobody did stands as data (Z-22)."""
    approved = [shown(passage) for passage in passages if passage.source.approver]
    payloads = [text_payload(_prose(passage)) for passage in passages if not passage.source.approver]
    data = [_LEAD, GAP, *fenced(payloads)] if payloads else []
    return strung([strung(approved, BREAK), data], GAP)


def _blocks(blocks: Iterable[Block], scribe: Scribe) -> list[Run]:
    """Pinned blocks by their label (Z-1)."""
    ordered = sorted(blocks, key=lambda block: (block.label, *source_key(block.passage.source)))
    return [_block(block, scribe) for block in ordered]


def _block(block: Block, scribe: Scribe) -> Run:
    body = _body(scribe.each([block.passage], SECTION_CHARACTERS), _prose)
    named = block.label_source or block.passage.source
    label = lines(scrub(block.label, BLOCK_LABEL_CHARACTERS, scribe), named)
    return [_BLOCK_TITLE, *(label or [_UNNAMED]), BREAK, *body] if body else []
