"""A cache of prompt parts within a process, so that thousands of waiting turns share one copy of each part."""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from apps.prompt.rendering.segments import SegmentTable, SlotText

PARTS_KEPT: Final = 512
# The most marks of cached parts that are sent with a claim.
MARKS_SENT: Final = 64

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A part as stored. `mark` identifies its content, so a claim returns a part that the process has cached without its text."""

    position: int
    id: int
    mark: str
    slot: int
    sha256: str
    text: str | None
    segments: SegmentTable | None


class RecentValues(Generic[Value]):
    """A thread-safe cache of the most recently used values, by tenant and mark. A dropped value is read again when needed."""

    def __init__(self, most: int, sent: int) -> None:
        self._most, self._sent = most, sent
        self._lock = threading.Lock()
        self._values: OrderedDict[tuple[int, str], Value] = OrderedDict()

    def known(self, tenant_id: int) -> dict[str, Value]:
        """A copy of the tenant's most recently used values, which stays complete when the cache drops values."""
        known: dict[str, Value] = {}
        with self._lock:
            for (tenant, mark), value in reversed(self._values.items()):
                if tenant == tenant_id:
                    known[mark] = value
                if len(known) == self._sent:
                    break
        return known

    def keep(self, tenant_id: int, mark: str, value: Value) -> Value:
        """Store a value and return it. If the mark has a stored value already, that one is kept and returned."""
        with self._lock:
            kept = self._values.setdefault((tenant_id, mark), value)
            self._values.move_to_end((tenant_id, mark))
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return kept


# Caches of the parts that came with a claim, by mark, and of the parts that this process froze, by hash.
CLAIMED_PARTS: Final = RecentValues[SlotText](PARTS_KEPT, MARKS_SENT)
FROZEN_PARTS: Final = RecentValues[SlotText](PARTS_KEPT, 0)
