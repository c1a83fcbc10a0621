"""Slot 4: the part of the agent's memory for all customers that the context tier shows (R168, Z-23)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from apps.prompt.instruction_texts import (
    BLOCK_TITLE,
    MEMORY_TITLES,
    SLOT_TITLES,
    TIER_DESCRIPTIONS,
    TIER_LINE,
    UNAPPROVED_MEMORY_LEAD,
)
from apps.prompt.prompt_input import NOTEBOOK_TIER, TIERS, MemoryInput, Passage, PinnedBlock, Slot
from apps.prompt.rendering.data_fences import fence_segments, scrub, text_payload
from apps.prompt.rendering.passages import (
    LINE_BREAK,
    PARAGRAPH_BREAK,
    PassageRenderer,
    SegmentList,
    join_segments,
    line_segments,
    source_key,
    template_segment,
    titled_section,
    titled_slot,
)
from apps.prompt.text_limits import (
    BLOCK_LABEL_CHARACTERS,
    LONG_MEMORY_CHARACTERS,
    MID_MEMORY_CHARACTERS,
    SECTION_CHARACTERS,
    SHORT_MEMORY_CHARACTERS,
)

_UNAPPROVED_LEAD: Final = template_segment("lead.unapproved_memory", UNAPPROVED_MEMORY_LEAD)
_BULLET: Final = template_segment("bullet", "- ")
_BLOCK_TITLE: Final = template_segment("title.block", f"## {BLOCK_TITLE}")
_UNNAMED_LABEL: Final = template_segment("title.block", "unnamed")
_TIER_LINES: Final = {
    tier: template_segment("context_tier", TIER_LINE.format(tier=tier, highest=TIERS[-1], shown=shown))
    for tier, shown in TIER_DESCRIPTIONS.items()
}


def render_memory_slot(memory: MemoryInput | None, tier: int, scribe: PassageRenderer) -> SegmentList:
    """Return the slot. Each higher tier adds sections and removes none; from tier 3 on, the slot names the tier."""
    if memory is None or tier == 1:
        return []
    known = [
        _section("body", memory.body, SECTION_CHARACTERS, scribe),
        *_blocks(memory.blocks, scribe),
        _section("short", memory.short, SHORT_MEMORY_CHARACTERS, scribe),
        _section("mid", memory.mid, MID_MEMORY_CHARACTERS, scribe),
        _section("reminders", memory.reminders, SECTION_CHARACTERS, scribe, _bullet_line),
        _section("long", memory.long, LONG_MEMORY_CHARACTERS, scribe) if tier >= 3 else [],
    ]
    notes = [
        _section("scratch", memory.scratch, SECTION_CHARACTERS, scribe) if tier >= NOTEBOOK_TIER else [],
        _section("tasks", memory.tasks, SECTION_CHARACTERS, scribe, _bullet_line) if tier >= NOTEBOOK_TIER else [],
    ]
    is_known = any(known) or any(notes)
    return titled_slot("memory", SLOT_TITLES[Slot.MEMORY], [*known, _tier_section(tier), *notes]) if is_known else []


def _tier_section(tier: int) -> SegmentList:
    return titled_section("tier", MEMORY_TITLES["tier"], [_TIER_LINES[tier]]) if tier in _TIER_LINES else []


def _prose(passage: Passage) -> SegmentList:
    return line_segments(passage.text, passage.source)


def _bullet_line(passage: Passage) -> SegmentList:
    return [_BULLET, *_prose(passage)]


def _section(
    name: str,
    passages: Iterable[Passage],
    cap: int,
    scribe: PassageRenderer,
    shown: Callable[[Passage], SegmentList] = _prose,
) -> SegmentList:
    body = _body(scribe.each(passages, cap, cap), shown)
    return titled_section(name, MEMORY_TITLES[name], body) if name in MEMORY_TITLES else body


def _body(passages: Sequence[Passage], shown: Callable[[Passage], SegmentList]) -> SegmentList:
    """Return approved passages as prose, followed by unapproved ones as data (Z-22)."""
    approved = [shown(passage) for passage in passages if passage.source.approver]
    payloads = [text_payload(_prose(passage)) for passage in passages if not passage.source.approver]
    data = [_UNAPPROVED_LEAD, PARAGRAPH_BREAK, *fence_segments(payloads)] if payloads else []
    return join_segments([join_segments(approved, LINE_BREAK), data], PARAGRAPH_BREAK)


def _blocks(blocks: Iterable[PinnedBlock], scribe: PassageRenderer) -> list[SegmentList]:
    """Return the pinned blocks in order of their labels (Z-1)."""
    ordered = sorted(blocks, key=lambda block: (block.label, *source_key(block.passage.source)))
    return [_block(block, scribe) for block in ordered]


def _block(block: PinnedBlock, scribe: PassageRenderer) -> SegmentList:
    body = _body(scribe.each([block.passage], SECTION_CHARACTERS), _prose)
    named = block.label_source or block.passage.source
    label = line_segments(scrub(block.label, BLOCK_LABEL_CHARACTERS, scribe), named)
    return [_BLOCK_TITLE, *(label or [_UNNAMED_LABEL]), LINE_BREAK, *body] if body else []
