"""Limits on repeating a tool call that returned the same result: when it is refused, and when it ends the turn; pure (R124)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Any, Self

from apps.conversations.rules import ToolCall
from apps.prompt.rendering.data_fences import canonical_json

REFUSED_AT_SAME_CALL = 3
STOPPED_AT_SAME_CALL = 5
SAME_CALL_REFUSAL = "You made this very call before, with this result. Do something else, or answer."


class RepeatVerdict(StrEnum):
    """The decision on a tool call: make it, refuse it as a repetition, or end the turn."""

    CALL = "call"
    REFUSE = "refuse"
    STOP = "stop"


@dataclass(slots=True)
class RepeatCounter:
    """Counts how often in a row a call returned the same result. A different result resets the count, so polling is allowed."""

    count: int = 0
    _same: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, calls: Iterable[ToolCall]) -> Self:
        """The counter after these calls, so that a resumed turn continues the count."""
        counter = cls()
        for call in calls:
            counter.record(call.name, call.arguments, call.result)
        return counter

    def judge(self, name: str, arguments: Mapping[str, Any]) -> RepeatVerdict:  # Any: JSON as the model wrote it
        """Decide on a call before it is made: the third with the same result is refused, and the fifth ends the turn."""
        _, times = self._same.get(_call_key(name, arguments), ("", 0))
        if times + 1 >= STOPPED_AT_SAME_CALL:
            return RepeatVerdict.STOP
        return RepeatVerdict.REFUSE if times + 1 >= REFUSED_AT_SAME_CALL else RepeatVerdict.CALL

    def record(self, name: str, arguments: Mapping[str, Any], result: str) -> None:
        """Count the result of a call. A call refused as a repetition counts as one more."""
        key = _call_key(name, arguments)
        known, times = self._same.get(key, ("", 0))
        brought = known if result == SAME_CALL_REFUSAL else sha256(result.encode(errors="surrogatepass")).hexdigest()
        self._same[key] = (brought, times + 1 if brought == known else 1)
        self.count += 1


def _call_key(name: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
    return name, canonical_json(dict(arguments))
