"""Cache marks in words: the slots or messages behind which a call set a mark, and how long each lasts."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.console.framework.token_usage import grouped
from apps.prompt.cache.breakpoints import Lifetime
from apps.prompt.cache.cost_attribution import CacheMark, parse_marks
from apps.prompt.instruction_texts import SLOT_TITLES
from apps.prompt.prompt_input import Slot
from apps.runtime.models import ModelCall

LIFETIME_WORDS: Final[Mapping[Lifetime, str]] = {"1h": "for an hour", "5m": "for five minutes"}
MARKS_NOT_RECORDED: Final = "Where their cache marks stood was not noted when these calls were made."


@dataclass(frozen=True, slots=True)
class MarkedCall:
    """A model call with its cache marks, in the order of the prompt."""

    call: ModelCall
    marks: tuple[str, ...]
    is_noted: bool


@dataclass(frozen=True, slots=True)
class SlotMark:
    """Whether a cache mark was set behind a slot, and a sentence that says in how many of the calls."""

    sentence: str
    is_set: bool = False


def title_of_slot(slot: Slot) -> str:
    """Return the title of a slot."""
    return SLOT_TITLES.get(slot, slot.name.capitalize())


def marked_calls(calls: Sequence[ModelCall]) -> list[MarkedCall]:
    """Return each call with its marks in words."""
    return [_marked_call(call, _marks_of(call)) for call in calls]


def _marked_call(call: ModelCall, marks: tuple[CacheMark, ...] | None) -> MarkedCall:
    return MarkedCall(call, tuple(map(_mark_sentence, marks or ())), marks is not None)


def _marks_of(call: ModelCall) -> tuple[CacheMark, ...] | None:
    return parse_marks(call.cache_ledger.get("marks"))


def _mark_sentence(mark: CacheMark) -> str:
    where = _slot_phrase(mark.slot) if mark.message is None else f"message {mark.message + 1} of those sent"
    return f"behind {where}, after about {grouped(mark.tokens)} tokens, {LIFETIME_WORDS[mark.lifetime]}"


def _slot_phrase(slot: Slot) -> str:
    return "the tools" if slot is Slot.TOOLS else f"slot {slot.value} ({title_of_slot(slot)})"


def marks_by_slot(calls: Sequence[ModelCall], slots: Sequence[Slot]) -> Mapping[int, SlotMark]:
    """Return a sentence about the marks behind each slot of the frozen prompt; it is empty before the first call."""
    noted = [marks for call in calls if (marks := _marks_of(call)) is not None]
    if not noted:
        return {slot.value: SlotMark(MARKS_NOT_RECORDED if calls else "") for slot in slots}
    return {slot.value: _slot_mark(slot, noted) for slot in slots}


def _slot_mark(slot: Slot, calls: Sequence[tuple[CacheMark, ...]]) -> SlotMark:
    lives = Counter(mark.lifetime for marks in calls for mark in marks if mark.slot is slot)
    if not lives:
        return SlotMark("No cache mark stood behind this slot.")
    return SlotMark(f"Cache mark behind this slot: {', '.join(_calls_by_lifetime(lives, len(calls)))}.", is_set=True)


def _calls_by_lifetime(lives: Mapping[Lifetime, int], calls: int) -> Iterator[str]:
    for life, words in LIFETIME_WORDS.items():
        if lives[life]:
            yield f"{words} in {lives[life]} of {calls} call{'' if calls == 1 else 's'}"
