"""Parses a rendered system prompt: its sections, and the payloads of each fence.

The parser serves to prove containment: whatever texts went into a prompt, parsing returns exactly the sections that the product
wrote, and each payload unchanged. A text that only looks like a rendered prompt is refused.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from apps.prompt.instruction_texts import (
    AGENT_RULES_TITLE,
    BLOCK_TITLE,
    CARD_LABELS,
    CORE_TEXTS,
    CUT_SKILL_NOTICE,
    DISCLOSURE_TEXTS,
    GOALS_LEAD,
    INVOKABLE_LEAD,
    INVOKABLE_TITLE,
    MEMORY_TITLES,
    MORE_SKILLS,
    OPERATING_CONTRACT,
    ORGANISATION_RULES_TITLE,
    PERSONA_TITLES,
    PROFILE_LEAD,
    SKILL_TITLE,
    SKILLS_GUIDANCE,
    SLOT_TITLES,
    TIER_DESCRIPTIONS,
    TIER_LINE,
    UNAPPROVED_MEMORY_LEAD,
    WHOLE_SKILLS_LEAD,
)
from apps.prompt.parsing.cursor import PARAGRAPH_BREAK, Cursor, UnreadablePrompt
from apps.prompt.prompt_input import SEPARATOR, TIERS, Slot
from apps.prompt.rendering.data_fences import Json
from apps.prompt.text_limits import SKILL_BODY_CHARACTERS


@dataclass(frozen=True, slots=True)
class ParsedSection:
    """One section: its internal name, its label, its prose, and the payloads of its fence."""

    name: str
    label: str = ""
    prose: str = ""
    data: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedSlot:
    """One slot with its sections, in order."""

    slot: Slot
    sections: tuple[ParsedSection, ...]


_PERSONA: Final = {title: name for name, title in PERSONA_TITLES.items()}
_RULES: Final = {ORGANISATION_RULES_TITLE: "organisation_rules", AGENT_RULES_TITLE: "agent_rules"}
_SKILLS: Final = {SKILL_TITLE: "skill", INVOKABLE_TITLE: "invokable"}
_MEMORY_ORDER: Final = ("block", "short", "mid", "reminders", "long", "tier", "scratch", "tasks")
_MEMORY: Final = {({"block": BLOCK_TITLE} | MEMORY_TITLES)[name]: name for name in _MEMORY_ORDER}
_REPEATABLE_SECTIONS: Final = frozenset({"block", "skill"})
_PROFILE_FIELDS: Final = frozenset({"preferences", "notes", "reminders", "tasks", "scratch"})
_SLOT_ORDERS: Final = (
    (Slot.PERSONA, Slot.CONTRACT, Slot.SKILLS, Slot.MEMORY, Slot.PROFILE),
    (Slot.CONTRACT, Slot.PERSONA, Slot.SKILLS, Slot.MEMORY, Slot.PROFILE),
)
_CORES: Final = {
    flavour.value: text.removeprefix(f"# {SLOT_TITLES[Slot.CONTRACT]}{PARAGRAPH_BREAK}")
    for flavour, (_, text) in CORE_TEXTS.items()
}
_DISCLOSURES: Final = {policy.value: text for policy, text in DISCLOSURE_TEXTS.items()}
_SKILL_LABEL: Final = re.compile(r".* \(id: [0-9]+\)")
_INDEX_LINE: Final = re.compile(r"(?P<label>.*? \(id: [0-9]+\))(?: — (?P<said>.+))?")
_HIDDEN_COUNT: Final = re.compile(
    rf"{PARAGRAPH_BREAK}({re.escape(MORE_SKILLS).replace(re.escape('{hidden}'), '[1-9][0-9]*')})\Z"
)
_CUT_NOTICE: Final = CUT_SKILL_NOTICE.format(characters=SKILL_BODY_CHARACTERS)
_TIERS: Final = {
    TIER_LINE.format(tier=tier, highest=TIERS[-1], shown=shown) for tier, shown in TIER_DESCRIPTIONS.items()
}
_DATA_LEAD: Final = f"{UNAPPROVED_MEMORY_LEAD}{PARAGRAPH_BREAK}"


def parse_system_prompt(text: str) -> tuple[ParsedSlot, ...]:
    """Return the slots of a system prompt. Raises `UnreadablePrompt` for text that the renderer would not write."""
    slots, base = [], 0
    for part in text.split(SEPARATOR):
        slots.append(_slot(Cursor(part, base)))
        base += len(part) + len(SEPARATOR)
    found = [read.slot for read in slots]
    if Slot.CONTRACT not in found or found not in [[slot for slot in order if slot in found] for order in _SLOT_ORDERS]:
        raise UnreadablePrompt("The slots are not those of a prompt, or not in their order", 0)
    return tuple(slots)


def _slot(cursor: Cursor) -> ParsedSlot:
    for slot, read in _READERS.items():
        if cursor.take(f"# {SLOT_TITLES[slot]}{PARAGRAPH_BREAK}"):
            return ParsedSlot(slot, tuple(read(cursor)))
    raise cursor.refusal("Here the title of a slot has to stand")


@dataclass(frozen=True, slots=True)
class _TitledText:
    """The text below one title; the name and label of text before the first title are empty."""

    name: str
    label: str
    body: Cursor


def _split_at_titles(cursor: Cursor, titles: Mapping[str, str]) -> list[_TitledText]:
    """Split the rest of the slot at these titles. Each occurs at most once and in this order; some may have a label."""
    exact = "|".join(
        re.escape(title) + ("[^\n]+" if name in _REPEATABLE_SECTIONS else "") for title, name in titles.items()
    )
    headings = list(re.compile(rf"(?<=\n\n)## ({exact})(?:\n|\Z)").finditer(cursor.text, cursor.at))
    ends = [*(heading.start() - len(PARAGRAPH_BREAK) for heading in headings), len(cursor.text)]
    pieces = [_TitledText("", "", cursor.piece(cursor.at, ends[0]))] if ends[0] > cursor.at else []
    for heading, end in zip(headings, ends[1:], strict=True):
        title = next(title for title in titles if heading[1].startswith(title))
        pieces.append(_TitledText(titles[title], heading[1].removeprefix(title), cursor.piece(heading.end(), end)))
    _refuse_disorder(cursor, [piece.name for piece in pieces], ["", *titles.values()])
    return pieces


def _refuse_disorder(cursor: Cursor, names: list[str], order: list[str]) -> None:
    once = [name for name in names if name not in _REPEATABLE_SECTIONS]
    if not names or names != sorted(names, key=order.index) or len(once) != len(set(once)):
        raise cursor.refusal("The sections of this slot are missing, out of order, or stand twice")


def _persona(cursor: Cursor) -> Iterator[ParsedSection]:
    for piece in _split_at_titles(cursor, _PERSONA):
        if not piece.name:
            raise piece.body.refusal("Here the title of a section has to stand")
        if piece.name == "goals":
            piece.body.expect(f"{GOALS_LEAD}\n")
        yield ParsedSection(piece.name, prose=piece.body.prose_to_the_end())
        if piece.name == "card":
            _refuse_unknown_labels(piece.body)


def _refuse_unknown_labels(body: Cursor) -> None:
    labels = [line.partition(": ")[0] for line in body.text.split("\n")]
    if labels != [label for label in CARD_LABELS.values() if label in labels]:
        raise body.refusal("The card holds other lines than its own")


def _contract(cursor: Cursor) -> Iterator[ParsedSection]:
    yield ParsedSection("core", cursor.one_of(_CORES))
    cursor.expect(PARAGRAPH_BREAK)
    yield ParsedSection("disclosure", cursor.one_of(_DISCLOSURES))
    if cursor.is_at_end:
        return
    cursor.expect(PARAGRAPH_BREAK)
    for piece in _split_at_titles(cursor, _RULES):
        if piece.name:
            yield ParsedSection(piece.name, prose=piece.body.prose_to_the_end())
        else:
            yield from _contract_wording(piece.body)


def _contract_wording(body: Cursor) -> Iterator[ParsedSection]:
    """Yield the contract in the product's or the operator's wording, and the guidance about skills if present."""
    end = len(body.text.removesuffix(f"{PARAGRAPH_BREAK}{SKILLS_GUIDANCE}"))
    text = body.prose(body.until(end))
    yield ParsedSection("contract") if text == OPERATING_CONTRACT else ParsedSection("override", prose=text)
    if not body.is_at_end:
        yield ParsedSection("guidance")


def _skills(cursor: Cursor) -> Iterator[ParsedSection]:
    pieces = _split_at_titles(cursor, _SKILLS)
    whole = [piece for piece in pieces if piece.name == "skill"]
    if bool(whole) != (pieces[0].body.text == WHOLE_SKILLS_LEAD):
        raise cursor.refusal("Whole skills stand without their lead, or the lead without skills")
    for piece in pieces:
        if piece.name == "invokable":
            yield from _invokable(piece.body)
        elif piece.name == "skill":
            yield from _whole_skill(piece, is_last=piece is whole[-1])
        elif not whole:
            yield from _skill_index(piece.body)


def _skill_index(body: Cursor) -> Iterator[ParsedSection]:
    more = _HIDDEN_COUNT.search(body.text)
    for line in _bullets(body, more.start() if more else len(body.text)):
        found = _INDEX_LINE.fullmatch(line)
        if not found:
            raise body.refusal("A line of the index names no skill")
        yield ParsedSection("skill", found["label"], found["said"] or "")
    if more:
        yield ParsedSection("more_skills", more[1])


def _bullets(body: Cursor, end: int) -> Iterator[str]:
    for line in body.until(end).split("\n"):
        if not line.startswith("- "):
            raise body.refusal("Here every line has to be an entry of a list")
        yield line.removeprefix("- ")


def _invokable(body: Cursor) -> Iterator[ParsedSection]:
    body.expect(f"{INVOKABLE_LEAD}{PARAGRAPH_BREAK}")
    for line in _bullets(body, len(body.text)):
        yield ParsedSection("invokable", line)


def _whole_skill(piece: _TitledText, *, is_last: bool) -> Iterator[ParsedSection]:
    """Yield a skill with its body; after the last skill, the number of hidden skills may follow."""
    text = f"\n{piece.body.text}" if piece.body.text else ""
    more = _HIDDEN_COUNT.search(text) if is_last else None
    text = text[: more.start()] if more else text
    whole = text.removesuffix(f"{PARAGRAPH_BREAK}{_CUT_NOTICE}")
    description, _, prose = (
        whole[1:].partition(PARAGRAPH_BREAK)
        if not whole.startswith(PARAGRAPH_BREAK)
        else ("", "", whole[len(PARAGRAPH_BREAK) :])
    )
    if not _SKILL_LABEL.fullmatch(piece.label) or "\n" in description:
        raise piece.body.refusal("Here a skill has to stand under its name and one line about it")
    yield ParsedSection("skill", piece.label, piece.body.prose(description) if description else "")
    if prose:
        yield ParsedSection("skill_body", prose=piece.body.prose(prose))
    if whole != text:
        yield ParsedSection("cut_skill")
    if more:
        yield ParsedSection("more_skills", more[1])


def _memory(cursor: Cursor) -> Iterator[ParsedSection]:
    for piece in _split_at_titles(cursor, _MEMORY):
        section = _memory_section(piece)
        if piece.name == "tier" and section.prose not in _TIERS:
            raise piece.body.refusal("There is no such line about the context tier")
        yield section


def _memory_section(piece: _TitledText) -> ParsedSection:
    """Return a memory section: approved lines as prose, followed by unapproved lines as data."""
    body = piece.body
    lead = body.text.find(f"{_DATA_LEAD}<data ")
    end = len(body.text) if lead < 0 else max(lead - len(PARAGRAPH_BREAK), 0)
    prose = body.prose(body.until(end)) if lead else ""
    if lead >= 0:
        body.expect(f"{PARAGRAPH_BREAK}{_DATA_LEAD}" if lead else _DATA_LEAD)
    data = body.fence() if lead >= 0 else ()
    body.finish()
    if not all(isinstance(payload, str) for payload in data):
        raise body.refusal("What is remembered is text")
    return ParsedSection(piece.name or "body", piece.label, prose, data)


def _profile(cursor: Cursor) -> Iterator[ParsedSection]:
    cursor.expect(f"{PROFILE_LEAD}{PARAGRAPH_BREAK}")
    data = cursor.fence()
    cursor.finish()
    match data:
        case [dict(known)] if known and not known.keys() - _PROFILE_FIELDS:
            yield ParsedSection("profile", data=data)
        case _:
            raise cursor.refusal("A profile is one object with preferences, notes, reminders, tasks or scratch notes")


_READERS: Final[Mapping[Slot, Callable[[Cursor], Iterator[ParsedSection]]]] = {
    Slot.PERSONA: _persona,
    Slot.CONTRACT: _contract,
    Slot.SKILLS: _skills,
    Slot.MEMORY: _memory,
    Slot.PROFILE: _profile,
}
