"""Cache marks in words: behind which slot or message a call told the cache to keep what it has read, and for how long."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.console.framework.token_usage import grouped
from apps.prompt.cache.breakpoints import Lifetime
from apps.prompt.cache.cost_attribution import Mark, marks_of
from apps.prompt.instruction_texts import SLOT_TITLES
from apps.prompt.prompt_input import Slot
from apps.runtime.models import ModelCall

LIVES: Final[Mapping[Lifetime, str]] = {"1h": "for an hour", "5m": "for five minutes"}
NOT_NOTED: Final = "Where their cache marks stood was not noted when these calls were made."


@dataclass(frozen=True, slots=True)
class MarkedCall:
    """A call of the model with the marks under which it was sent, from the beginning of the prompt on."""

    call: ModelCall
    marks: tuple[str, ...]
    is_noted: bool


@dataclass(frozen=True, slots=True)
class SlotMark:
    """Whether a cache mark stood behind a slot, in a sentence that says in how many of the calls."""

    sentence: str
    is_set: bool = False


def title_of_slot(slot: Slot) -> str:
    """What a slot is called above its text."""
    return SLOT_TITLES.get(slot, slot.name.capitalize())


def marked(calls: Sequence[ModelCall]) -> list[MarkedCall]:
    """Each call with its marks in words."""
    return [_marked(call, _marks_of(call)) for call in calls]


def _marked(call: ModelCall, marks: tuple[Mark, ...] | None) -> MarkedCall:
    return MarkedCall(call, tuple(map(_said, marks or ())), marks is not None)


def _marks_of(call: ModelCall) -> tuple[Mark, ...] | None:
    return marks_of(call.cache_ledger.get("marks"))


def _said(mark: Mark) -> str:
    where = f"message {mark.message + 1} of those sent" if mark.message >= 0 else _slot_said(mark.slot)
    return f"behind {where}, after about {grouped(mark.tokens)} tokens, {LIVES[mark.lifetime]}"


def _slot_said(slot: Slot) -> str:
    return "the tools" if slot is Slot.TOOLS else f"slot {slot.value} ({title_of_slot(slot)})"


def marks_by_slot(calls: Sequence[ModelCall], slots: Sequence[Slot]) -> Mapping[int, SlotMark]:
    """For each slot of the frozen prompt what the calls say; nothing where no call was made yet."""
    noted = [marks for call in calls if (marks := _marks_of(call)) is not None]
    if not noted:
        return {slot.value: SlotMark(NOT_NOTED if calls else "") for slot in slots}
    return {slot.value: _of_slot(slot, noted) for slot in slots}


def _of_slot(slot: Slot, calls: Sequence[tuple[Mark, ...]]) -> SlotMark:
    lives = Counter(mark.lifetime for marks in calls for mark in marks if mark.slot is slot)
    if not lives:
        return SlotMark("No cache mark stood behind this slot.")
    return SlotMark(f"Cache mark behind this slot: {', '.join(_counted(lives, len(calls)))}.", is_set=True)


def _counted(lives: Mapping[Lifetime, int], calls: int) -> Iterator[str]:
    for life, words in LIVES.items():
        if lives[life]:
            yield f"{words} in {lives[life]} of {calls} call{'' if calls == 1 else 's'}"
