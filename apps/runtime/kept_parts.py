"""Frozen parts that a process has read already: thousands of waiting turns hold each of them once."""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from apps.prompt.segments import Part, SegmentTable

PARTS_KEPT: Final = 512
# As many marks are sent along with a claim.
MARKS_SENT: Final = 64


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


class KeptParts:
    """The parts used last, by tenant and mark; safe between threads. What is forgotten is read again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parts: OrderedDict[tuple[int, str], Part] = OrderedDict()

    def known(self, tenant_id: int) -> dict[str, Part]:
        """Some of a tenant's parts, those used last; whoever holds this keeps them, whatever is forgotten meanwhile."""
        known: dict[str, Part] = {}
        with self._lock:
            for (tenant, mark), part in reversed(self._parts.items()):
                if tenant == tenant_id:
                    known[mark] = part
                if len(known) == MARKS_SENT:
                    break
        return known

    def keep(self, tenant_id: int, mark: str, part: Part) -> Part:
        """Note a part that was used; the one that was there first, if it was."""
        with self._lock:
            kept = self._parts.setdefault((tenant_id, mark), part)
            self._parts.move_to_end((tenant_id, mark))
            while len(self._parts) > PARTS_KEPT:
                self._parts.popitem(last=False)
        return kept


KEPT: Final = KeptParts()
