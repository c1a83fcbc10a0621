"""Prompt cache accounting, as calculations: the charge of each slot, and the first difference of two requests."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final, Self

from apps.prompt.cache.breakpoints import Lifetime
from apps.prompt.prompt_input import Slot
from apps.prompt.rendering.segments import Segment, SlotText


@dataclass(frozen=True, slots=True)
class SentBlock:
    """A block of a request in hashing order, with its owners if it is a slot of the frozen prompt.

    `tokens` is an estimate, of which only the proportions matter. `lead` is the number of bytes before the part's own text.
    """

    slot: Slot
    label: str
    content: bytes
    tokens: int
    part: SlotText | None = None
    lead: int = 0


@dataclass(frozen=True, slots=True)
class ChargedTokens:
    """The tokens of a prompt by charge, in order from its beginning."""

    read: int
    written: int
    uncached: int

    @property
    def total(self) -> int:
        return self.read + self.written + self.uncached


@dataclass(frozen=True, slots=True)
class SlotCharge:
    """The tokens of one slot: expected to be read from the cache, read, written, and not cached."""

    slot: Slot
    tokens: int
    expected_read: int
    read: int
    written: int
    uncached: int

    @property
    def line(self) -> str:
        """Return the slot's line in the ledger, which is compact because every call stores seven."""
        return f"{int(self.slot)} {self.tokens} {self.expected_read} {self.read} {self.written} {self.uncached}"

    @classmethod
    def of_line(cls, line: str) -> Self:
        """Parse a slot's line from the ledger."""
        slot, *tokens = map(int, line.split())
        return cls(Slot(slot), *tokens)


# Stored instead of the message index for a mark before the messages.
STORED_WITHOUT_MESSAGE: Final = "-1"


@dataclass(frozen=True, slots=True)
class CacheMark:
    """A cache mark of a call: its position, its lifetime, and the length of the prompt up to it.

    `message` is the index of a sent message, and None for a mark before the messages. `tokens` is an estimate.
    """

    slot: Slot
    message: int | None
    lifetime: Lifetime
    tokens: int

    @property
    def line(self) -> str:
        """Return the mark's line in the ledger, which is compact because every call stores up to four."""
        message = STORED_WITHOUT_MESSAGE if self.message is None else str(self.message)
        return f"{int(self.slot)} {message} {self.lifetime} {self.tokens}"

    @classmethod
    def of_line(cls, line: str) -> Self:
        """Parse a mark's line from the ledger."""
        slot, stored_message, lifetime, tokens = line.split()
        message = None if stored_message == STORED_WITHOUT_MESSAGE else int(stored_message)
        return cls(Slot(int(slot)), message, "1h" if lifetime == "1h" else "5m", int(tokens))


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first byte in which a request differs from the previous one, with the sources of both texts at that byte."""

    slot: Slot
    label: str
    byte: int
    segment: Segment | None


def parse_charges(stored_charges: str | list[dict[str, int]]) -> tuple[SlotCharge, ...]:
    """Parse the charges of a call; older rows store them in another form."""
    if isinstance(stored_charges, list):
        return tuple(SlotCharge(Slot(charge.pop("slot")), **charge) for charge in map(dict, stored_charges))
    return tuple(SlotCharge.of_line(line) for line in stored_charges.split(";") if line)


def parse_marks(stored_marks: str | None) -> tuple[CacheMark, ...] | None:
    """Parse the marks of a call; None for rows written before marks were stored."""
    return None if stored_marks is None else tuple(CacheMark.of_line(line) for line in stored_marks.split(";") if line)


def charge_slots(sent: Iterable[tuple[Slot, int]], expected_read: int, billed: ChargedTokens) -> tuple[SlotCharge, ...]:
    """Divide a call's charge among the slots of its blocks. The token estimates are scaled to the billed total."""
    return tuple(
        _charge(slot, start, end, expected_read, billed) for slot, start, end in _slot_extents(sent, billed.total)
    )


def _slot_extents(sent: Iterable[tuple[Slot, int]], total: int) -> Iterator[tuple[Slot, int, int]]:
    """Yield the slots with their beginning and end in billed tokens."""
    sizes: Counter[Slot] = Counter()
    for slot, tokens in sent:
        sizes[slot] += tokens
    whole = max(sizes.total(), 1)
    ends = [round(total * end / whole) for end in accumulate(sizes.values())]
    for slot, (start, end) in zip(sizes, pairwise([0, *ends]), strict=True):
        yield slot, start, end


def _charge(slot: Slot, start: int, end: int, expected_read: int, billed: ChargedTokens) -> SlotCharge:
    def within(first: int, last: int) -> int:
        return max(min(end, last) - max(start, first), 0)

    paid = billed.read + billed.written
    return SlotCharge(
        slot,
        end - start,
        within(0, expected_read),
        within(0, billed.read),
        within(billed.read, paid),
        within(paid, billed.total),
    )


def first_difference(before: Sequence[SentBlock], now: Sequence[SentBlock]) -> FirstDifference | None:
    """Return the first difference of `now` from `before`; None if `now` begins with all of `before`."""
    for at, old in enumerate(before):
        new = now[at] if at < len(now) else None
        if new is None or new.content != old.content:
            return _locate_difference(old, new)
    return None


def _locate_difference(old: SentBlock, new: SentBlock | None) -> FirstDifference:
    if new is None:
        return FirstDifference(old.slot, old.label, 0, _segment_at(old, 0))
    byte = _common_length(old.content, new.content)
    return FirstDifference(new.slot, new.label, byte, _segment_at(new, byte) or _segment_at(old, byte))


def _common_length(one: bytes, other: bytes) -> int:
    """Return the number of bytes in the common prefix."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (first, second) in enumerate(pairs) if first != second), min(len(one), len(other)))


def _segment_at(block: SentBlock, byte: int) -> Segment | None:
    if block.part is None:
        return None
    place = byte - block.lead
    return next((span.segment for span in block.part.spans() if span.start <= place < span.end), None)
