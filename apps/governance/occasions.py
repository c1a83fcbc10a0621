"""Why a process of several acts writes: said once around them, kept in the record of each."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Occasion:
    """A reason for acts that give none of their own, and evidence beside theirs."""

    reason: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)


_NONE = Occasion()
_present: ContextVar[Occasion] = ContextVar("occasion", default=_NONE)


def because(evidence: Mapping[str, Any] | None, reason: str) -> tuple[Values, str]:
    """What an act says for itself, before what is said around all the acts it belongs to."""
    given = _present.get()
    return {**given.evidence, **(evidence or {})}, reason or given.reason


@contextmanager
def occasion(reason: str, evidence: Mapping[str, Any]) -> Iterator[None]:
    """Let every act inside be recorded with this reason and this evidence; what an act says itself goes first."""
    token = _present.set(Occasion(reason, evidence))
    try:
        yield
    finally:
        _present.reset(token)
