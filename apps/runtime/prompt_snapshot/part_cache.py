"""What a process has read already and will need again: thousands of waiting turns hold each piece of it once."""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from apps.prompt.rendering.segments import SegmentTable, SlotText

PARTS_KEPT: Final = 512
# As many marks are sent along with a claim.
MARKS_SENT: Final = 64

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A part as it is stored. `mark` tells it from every other content, so it comes without its words where they are known."""

    position: int
    id: int
    mark: str
    slot: int
    sha256: str
    text: str | None
    segments: SegmentTable | None


class RecentValues(Generic[Value]):
    """The values used last, by tenant and mark; safe between threads. What is forgotten is read again."""

    def __init__(self, most: int, sent: int) -> None:
        self._most, self._sent = most, sent
        self._lock = threading.Lock()
        self._values: OrderedDict[tuple[int, str], Value] = OrderedDict()

    def known(self, tenant_id: int) -> dict[str, Value]:
        """Some of a tenant's values, those used last; whoever holds this keeps them, whatever is forgotten meanwhile."""
        known: dict[str, Value] = {}
        with self._lock:
            for (tenant, mark), value in reversed(self._values.items()):
                if tenant == tenant_id:
                    known[mark] = value
                if len(known) == self._sent:
                    break
        return known

    def keep(self, tenant_id: int, mark: str, value: Value) -> Value:
        """Note a value that was used; the one that was there first, if it was."""
        with self._lock:
            kept = self._values.setdefault((tenant_id, mark), value)
            self._values.move_to_end((tenant_id, mark))
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return kept


# Those that a claim brought, by their marks, and those that were frozen here, by their hashes.
CLAIMED_PARTS: Final = RecentValues[SlotText](PARTS_KEPT, MARKS_SENT)
FROZEN_PARTS: Final = RecentValues[SlotText](PARTS_KEPT, 0)
