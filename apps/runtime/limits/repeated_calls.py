"""When a tool call that was made before, with the same result, is refused, and when it ends the turn; pure (R124)."""

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
    """What becomes of a tool call that may be one too many."""

    CALL = "call"
    REFUSE = "refuse"
    STOP = "stop"


@dataclass(slots=True)
class RepeatCounter:
    """How often in a row a call brought the same result. Another result is progress, so polling what changes goes on."""

    count: int = 0
    _same: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, calls: Iterable[ToolCall]) -> Self:
        """As it stood after these calls; a resumed turn counts on."""
        counter = cls()
        for call in calls:
            counter.record(call.name, call.arguments, call.result)
        return counter

    def judge(self, name: str, arguments: Mapping[str, Any]) -> RepeatVerdict:  # Any: JSON as the model wrote it
        """Asked before a call: its result would be the third of its kind and is refused, or the fifth and ends the loop."""
        _, times = self._same.get(_call_key(name, arguments), ("", 0))
        if times + 1 >= STOPPED_AT_SAME_CALL:
            return RepeatVerdict.STOP
        return RepeatVerdict.REFUSE if times + 1 >= REFUSED_AT_SAME_CALL else RepeatVerdict.CALL

    def record(self, name: str, arguments: Mapping[str, Any], result: str) -> None:
        """Note what a call brought; to be refused as a repetition is to repeat it."""
        key = _call_key(name, arguments)
        known, times = self._same.get(key, ("", 0))
        brought = known if result == SAME_CALL_REFUSAL else sha256(result.encode(errors="surrogatepass")).hexdigest()
        self._same[key] = (brought, times + 1 if brought == known else 1)
        self.count += 1


def _call_key(name: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
    return name, canonical_json(dict(arguments))
