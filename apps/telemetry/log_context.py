"""The context of log lines: request, tenant, actor and turn. It follows the calls of a task, including those in threads.

A context is a growing set of facts: code that identifies the actor adds it to the context, and the log line at the end of the
request includes it.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Final

Fact = str | int

# The facts that a context may contain, which include no name and no text of a customer.
FACT_NAMES: Final = frozenset({"request_id", "tenant_id", "actor", "task", "task_id", "conversation_id", "turn_id"})

_context_facts: ContextVar[dict[str, Fact] | None] = ContextVar("scene", default=None)


class _LogContext:
    """A context manager as a class: each waiting turn keeps one, and a generator-based one would be four times as large."""

    __slots__ = ("_facts", "_token")

    def __init__(self, facts: dict[str, Fact]) -> None:
        self._facts = facts

    def __enter__(self) -> None:
        self._token = _context_facts.set({**current_facts(), **self._facts})

    def __exit__(self, *_: object) -> None:
        _context_facts.reset(self._token)


def log_context(**facts: Fact | None) -> AbstractContextManager[None]:
    """Add these facts to every log line inside the block, in addition to the facts of enclosing blocks."""
    _refuse_unknown(facts)
    return _LogContext(_drop_missing(facts))


def replace_log_context(**facts: Fact | None) -> None:
    """Replace all facts of this thread, for callers that get only a start and an end callback."""
    _refuse_unknown(facts)
    _context_facts.set(_drop_missing(facts))


def add_log_facts(**facts: Fact | None) -> None:
    """Add these facts to the current context; do nothing if there is no context."""
    _refuse_unknown(facts)
    present = _context_facts.get()
    if present is not None:
        present.update(_drop_missing(facts))


def current_facts() -> Mapping[str, Fact]:
    """Return the facts of the current context."""
    return _context_facts.get() or {}


def _refuse_unknown(facts: Mapping[str, object]) -> None:
    if unknown := facts.keys() - FACT_NAMES:
        raise ValueError(
            f"Unknown log fact: {', '.join(sorted(unknown))}. Add it to FACT_NAMES in apps.telemetry.log_context."
        )


def _drop_missing(facts: Mapping[str, Fact | None]) -> dict[str, Fact]:
    return {name: value for name, value in facts.items() if value is not None}
