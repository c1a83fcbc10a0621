"""What a log line is about: the request, the tenant, who acts, the turn. It goes along with whatever calls, also into threads.

A scene is a list of facts that grows: whoever learns who asks notes it, and the line at the end of the request says it too.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Final

Fact = str | int

# What a scene may tell. No name and no word of a customer is among them.
FACT_NAMES: Final = frozenset({"request_id", "tenant_id", "actor", "task", "task_id", "conversation_id", "turn_id"})

_context_facts: ContextVar[dict[str, Fact] | None] = ContextVar("scene", default=None)


class _LogContext:
    """No generator: each turn that waits would hold one, four times as large."""

    __slots__ = ("_facts", "_token")

    def __init__(self, facts: dict[str, Fact]) -> None:
        self._facts = facts

    def __enter__(self) -> None:
        self._token = _context_facts.set({**current_facts(), **self._facts})

    def __exit__(self, *_: object) -> None:
        _context_facts.reset(self._token)


def log_context(**facts: Fact | None) -> AbstractContextManager[None]:
    """What is logged meanwhile says these facts besides those that hold around it."""
    _refuse_unknown(facts)
    return _LogContext(_drop_missing(facts))


def replace_log_context(**facts: Fact | None) -> None:
    """From here on this thread is about that, and about nothing else; for those who are only told of a beginning and an end."""
    _refuse_unknown(facts)
    _context_facts.set(_drop_missing(facts))


def add_log_facts(**facts: Fact | None) -> None:
    """From here on the scene says this, too; where there is none, nobody hears it."""
    _refuse_unknown(facts)
    present = _context_facts.get()
    if present is not None:
        present.update(_drop_missing(facts))


def current_facts() -> Mapping[str, Fact]:
    """What a line says just now."""
    return _context_facts.get() or {}


def _refuse_unknown(facts: Mapping[str, object]) -> None:
    if unknown := facts.keys() - FACT_NAMES:
        raise ValueError(f"A log line says no {', '.join(sorted(unknown))}; name it in apps.telemetry.log_context.")


def _drop_missing(facts: Mapping[str, Fact | None]) -> dict[str, Fact]:
    return {name: value for name, value in facts.items() if value is not None}
