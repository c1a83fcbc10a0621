"""How one assembled prompt differs from another: which slots, by how many bytes, and what of the shared prefix is written anew."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from apps.prompt.segments import Assembled
from apps.prompt.values import Slot


@dataclass(frozen=True, slots=True)
class SlotDifference:
    """One slot before and after, in bytes of UTF-8; 0 is a slot that is left out."""

    slot: Slot
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Difference:
    """What a change does to a prompt. All sizes are bytes of UTF-8.

    `rewritten` is what of slots 1-4 stands behind the first byte that differs, as it would be: a cache that held the old
    prefix holds nothing of it. `shared` is all of slots 1-4 as they would be.
    """

    slots: tuple[SlotDifference, ...]
    added: int
    rewritten: int
    shared: int


def difference(before: Assembled, after: Assembled) -> Difference:
    """Slots whose text differs, in the order of the prompt as it would be; those that go stand last."""
    old, new = (joined(prompt) for prompt in (before, after))
    return Difference(
        tuple(_slots(before, after)),
        len(after.text.encode()) - len(before.text.encode()),
        len(new) - _common(old, new) if old != new else 0,
        len(new),
    )


def joined(prompt: Assembled) -> bytes:
    """Slots 1-4 as one text."""
    return Assembled(prompt.shared).text.encode()


def _common(old: bytes, new: bytes) -> int:
    """How many bytes both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _slots(before: Assembled, after: Assembled) -> Iterator[SlotDifference]:
    was = {part.slot: part.text for part in before.parts}
    is_now = {part.slot: part.text for part in after.parts}
    for slot in [*is_now, *(slot for slot in was if slot not in is_now)]:
        texts = was.get(slot, ""), is_now.get(slot, "")
        if texts[0] != texts[1]:
            yield SlotDifference(slot, *(len(text.encode()) for text in texts))
