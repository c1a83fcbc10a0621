"""Reads a rendered system prompt back: which sections stand in it, and what was put into each fence.

It is the other half of the promise of containment. Whatever texts went into a prompt, reading it gives the sections that the
product wrote and no others, and each payload as it went in. What only looks like a rendered prompt is refused.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from apps.prompt.instruction_texts import (
    AGENT_RULES,
    BLOCK_TITLE,
    CARD_LABELS,
    CORES,
    CUT_SKILL,
    DISCLOSURES,
    GOALS_LEAD,
    INVOKABLE,
    INVOKABLE_LEAD,
    MEMORY_TITLES,
    MORE_SKILLS,
    OPERATING_CONTRACT,
    ORGANISATION_RULES,
    PERSONA_TITLES,
    PROFILE_LEAD,
    SKILL_TITLE,
    SKILLS_GUIDANCE,
    SLOT_TITLES,
    TIER_LINE,
    TIER_SHOWN,
    UNAPPROVED_MEMORY_LEAD,
    WHOLE_SKILLS_LEAD,
)
from apps.prompt.parsing.cursor import GAP, Cursor, Unreadable
from apps.prompt.prompt_input import SEPARATOR, TIERS, Slot
from apps.prompt.rendering.data_fences import Json
from apps.prompt.text_limits import SKILL_BODY_CHARACTERS


@dataclass(frozen=True, slots=True)
class Section:
    """One section: the name the renderer knows it by, what it calls itself, its prose, and the payloads of its fence."""

    name: str
    label: str = ""
    prose: str = ""
    data: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadSlot:
    """One slot with its sections, in the order they stand in."""

    slot: Slot
    sections: tuple[Section, ...]


_PERSONA: Final = {title: name for name, title in PERSONA_TITLES.items()}
_RULES: Final = {ORGANISATION_RULES: "organisation_rules", AGENT_RULES: "agent_rules"}
_SKILLS: Final = {SKILL_TITLE: "skill", INVOKABLE: "invokable"}
_REMEMBERED: Final = ("block", "short", "mid", "reminders", "long", "tier", "scratch", "tasks")
_MEMORY: Final = {({"block": BLOCK_TITLE} | MEMORY_TITLES)[name]: name for name in _REMEMBERED}
_SEVERAL: Final = frozenset({"block", "skill"})
_PROFILE_FIELDS: Final = frozenset({"preferences", "notes", "reminders"})
_ORDERS: Final = (
    (Slot.PERSONA, Slot.CONTRACT, Slot.SKILLS, Slot.MEMORY, Slot.PROFILE),
    (Slot.CONTRACT, Slot.PERSONA, Slot.SKILLS, Slot.MEMORY, Slot.PROFILE),
)
_CORES: Final = {
    flavour.value: text.removeprefix(f"# {SLOT_TITLES[Slot.CONTRACT]}{GAP}") for flavour, (_, text) in CORES.items()
}
_DISCLOSURES: Final = {policy.value: text for policy, text in DISCLOSURES.items()}
_LABEL: Final = re.compile(r".* \(id: [0-9]+\)")
_NAMED: Final = re.compile(r"(?P<label>.*? \(id: [0-9]+\))(?: — (?P<said>.+))?")
_MORE: Final = re.compile(rf"{GAP}({re.escape(MORE_SKILLS).replace(re.escape('{hidden}'), '[1-9][0-9]*')})\Z")
_CUT: Final = CUT_SKILL.format(characters=SKILL_BODY_CHARACTERS)
_TIERS: Final = {TIER_LINE.format(tier=tier, highest=TIERS[-1], shown=shown) for tier, shown in TIER_SHOWN.items()}
_DATA: Final = f"{UNAPPROVED_MEMORY_LEAD}{GAP}"


def read_system(text: str) -> tuple[ReadSlot, ...]:
    """The slots of a system prompt. Raises `Unreadable` for anything the renderer would not write."""
    slots, base = [], 0
    for part in text.split(SEPARATOR):
        slots.append(_slot(Cursor(part, base)))
        base += len(part) + len(SEPARATOR)
    found = [read.slot for read in slots]
    if Slot.CONTRACT not in found or found not in [[slot for slot in order if slot in found] for order in _ORDERS]:
        raise Unreadable("The slots are not those of a prompt, or not in their order", 0)
    return tuple(slots)


def _slot(cursor: Cursor) -> ReadSlot:
    for slot, read in _READERS.items():
        if cursor.take(f"# {SLOT_TITLES[slot]}{GAP}"):
            return ReadSlot(slot, tuple(read(cursor)))
    raise cursor.refusal("Here the title of a slot has to stand")


@dataclass(frozen=True, slots=True)
class _Piece:
    """The text below one title; for what stands before the first title, name and label are empty."""

    name: str
    label: str
    body: Cursor


def _pieces(cursor: Cursor, titles: Mapping[str, str]) -> list[_Piece]:
    """The rest of the slot, cut at these titles, which come once and in this order; a label may follow some of them."""
    exact = "|".join(re.escape(title) + ("[^\n]+" if name in _SEVERAL else "") for title, name in titles.items())
    headings = list(re.compile(rf"(?<=\n\n)## ({exact})(?:\n|\Z)").finditer(cursor.text, cursor.at))
    ends = [*(heading.start() - len(GAP) for heading in headings), len(cursor.text)]
    pieces = [_Piece("", "", cursor.piece(cursor.at, ends[0]))] if ends[0] > cursor.at else []
    for heading, end in zip(headings, ends[1:], strict=True):
        title = next(title for title in titles if heading[1].startswith(title))
        pieces.append(_Piece(titles[title], heading[1].removeprefix(title), cursor.piece(heading.end(), end)))
    _refuse_disorder(cursor, [piece.name for piece in pieces], ["", *titles.values()])
    return pieces


def _refuse_disorder(cursor: Cursor, names: list[str], order: list[str]) -> None:
    once = [name for name in names if name not in _SEVERAL]
    if not names or names != sorted(names, key=order.index) or len(once) != len(set(once)):
        raise cursor.refusal("The sections of this slot are missing, out of order, or stand twice")


def _persona(cursor: Cursor) -> Iterator[Section]:
    for piece in _pieces(cursor, _PERSONA):
        if not piece.name:
            raise piece.body.refusal("Here the title of a section has to stand")
        if piece.name == "goals":
            piece.body.expect(f"{GOALS_LEAD}\n")
        yield Section(piece.name, prose=piece.body.prose_to_the_end())
        if piece.name == "card":
            _refuse_other_cards(piece.body)


def _refuse_other_cards(body: Cursor) -> None:
    labels = [line.partition(": ")[0] for line in body.text.split("\n")]
    if labels != [label for label in CARD_LABELS.values() if label in labels]:
        raise body.refusal("The card holds other lines than its own")


def _contract(cursor: Cursor) -> Iterator[Section]:
    yield Section("core", cursor.one_of(_CORES))
    cursor.expect(GAP)
    yield Section("disclosure", cursor.one_of(_DISCLOSURES))
    if cursor.is_at_end:
        return
    cursor.expect(GAP)
    for piece in _pieces(cursor, _RULES):
        if piece.name:
            yield Section(piece.name, prose=piece.body.prose_to_the_end())
        else:
            yield from _contract_wording(piece.body)


def _contract_wording(body: Cursor) -> Iterator[Section]:
    """The product's wording of the contract or the operator's own, and the guidance about skills if it is given."""
    end = len(body.text.removesuffix(f"{GAP}{SKILLS_GUIDANCE}"))
    text = body.prose(body.until(end))
    yield Section("contract") if text == OPERATING_CONTRACT else Section("override", prose=text)
    if not body.is_at_end:
        yield Section("guidance")


def _skills(cursor: Cursor) -> Iterator[Section]:
    pieces = _pieces(cursor, _SKILLS)
    whole = [piece for piece in pieces if piece.name == "skill"]
    if bool(whole) != (pieces[0].body.text == WHOLE_SKILLS_LEAD):
        raise cursor.refusal("Whole skills stand without their lead, or the lead without skills")
    for piece in pieces:
        if piece.name == "invokable":
            yield from _invokable(piece.body)
        elif piece.name == "skill":
            yield from _whole(piece, is_last=piece is whole[-1])
        elif not whole:
            yield from _index(piece.body)


def _index(body: Cursor) -> Iterator[Section]:
    more = _MORE.search(body.text)
    for line in _bullets(body, more.start() if more else len(body.text)):
        found = _NAMED.fullmatch(line)
        if not found:
            raise body.refusal("A line of the index names no skill")
        yield Section("skill", found["label"], found["said"] or "")
    if more:
        yield Section("more_skills", more[1])


def _bullets(body: Cursor, end: int) -> Iterator[str]:
    for line in body.until(end).split("\n"):
        if not line.startswith("- "):
            raise body.refusal("Here every line has to be an entry of a list")
        yield line.removeprefix("- ")


def _invokable(body: Cursor) -> Iterator[Section]:
    body.expect(f"{INVOKABLE_LEAD}{GAP}")
    for line in _bullets(body, len(body.text)):
        yield Section("invokable", line)


def _whole(piece: _Piece, *, is_last: bool) -> Iterator[Section]:
    """A skill with its body; behind the last one may stand how many there are besides."""
    text = f"\n{piece.body.text}" if piece.body.text else ""
    more = _MORE.search(text) if is_last else None
    text = text[: more.start()] if more else text
    whole = text.removesuffix(f"{GAP}{_CUT}")
    said, _, prose = whole[1:].partition(GAP) if not whole.startswith(GAP) else ("", "", whole[len(GAP) :])
    if not _LABEL.fullmatch(piece.label) or "\n" in said:
        raise piece.body.refusal("Here a skill has to stand under its name and one line about it")
    yield Section("skill", piece.label, piece.body.prose(said) if said else "")
    if prose:
        yield Section("skill_body", prose=piece.body.prose(prose))
    if whole != text:
        yield Section("cut_skill")
    if more:
        yield Section("more_skills", more[1])


def _memory(cursor: Cursor) -> Iterator[Section]:
    for piece in _pieces(cursor, _MEMORY):
        section = _remembered(piece)
        if piece.name == "tier" and section.prose not in _TIERS:
            raise piece.body.refusal("There is no such line about the context tier")
        yield section


def _remembered(piece: _Piece) -> Section:
    """What a person passed, as prose; behind it what nobody did, as data."""
    body = piece.body
    lead = body.text.find(f"{_DATA}<data ")
    end = len(body.text) if lead < 0 else max(lead - len(GAP), 0)
    prose = body.prose(body.until(end)) if lead else ""
    if lead >= 0:
        body.expect(f"{GAP}{_DATA}" if lead else _DATA)
    data = body.fence() if lead >= 0 else ()
    body.finish()
    if not all(isinstance(payload, str) for payload in data):
        raise body.refusal("What is remembered is text")
    return Section(piece.name or "body", piece.label, prose, data)


def _profile(cursor: Cursor) -> Iterator[Section]:
    cursor.expect(f"{PROFILE_LEAD}{GAP}")
    data = cursor.fence()
    cursor.finish()
    match data:
        case [dict(known)] if known and not known.keys() - _PROFILE_FIELDS:
            yield Section("profile", data=data)
        case _:
            raise cursor.refusal("A profile is one object with preferences, notes or reminders")


_READERS: Final[Mapping[Slot, Callable[[Cursor], Iterator[Section]]]] = {
    Slot.PERSONA: _persona,
    Slot.CONTRACT: _contract,
    Slot.SKILLS: _skills,
    Slot.MEMORY: _memory,
    Slot.PROFILE: _profile,
}
