"""A log record as one line of JSON. Of an exception it tells what and where, and never its words: they may be a customer's."""

import json
import logging
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final

from apps.telemetry.log_context import current_facts

# What every record has; the rest is what its line says in particular.
RECORD_ATTRIBUTES: Final = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "color_message",
    "taskName",
}
MAX_FRAMES: Final = 12
# Of what others put into a line: their whole objects, such as a request, stay out.
PLAIN_TYPES: Final = (str, int, float, bool, type(None))


class JsonLines(logging.Formatter):
    """`at`, `level`, `logger`, `message`, the facts of the scene, and what the line says in particular."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        entry: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": safe_message(record),
            **current_facts(),
            **{
                name: value
                for name, value in vars(record).items()
                if name not in RECORD_ATTRIBUTES and isinstance(value, PLAIN_TYPES)
            },
        }
        if record.exc_info and record.exc_info[1] is not None:
            entry |= describe_error(record.exc_info[1])
        return json.dumps(entry, ensure_ascii=False)


class PlainLines(logging.Formatter):
    """The same for people at a terminal, words of exceptions left out as well."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name} {message}", style="{")

    def format(self, record: logging.LogRecord) -> str:
        """A line, and where an exception came from."""
        return super().format(logging.makeLogRecord({**vars(record), "msg": safe_message(record), "args": ()}))

    def formatException(self, ei: Any) -> str:  # noqa: N802  # logging's own name; Any: what it hands about
        """Its kind, and the frames it went through."""
        facts = describe_error(ei[1])
        return "\n".join(
            [f"  {frame}" for frame in facts["frames"]] + [f"  {facts['error']} {facts.get('refused_by', '')}"]
        )


def safe_message(record: logging.LogRecord) -> str:
    """What the line says. Beside an exception only what was written beforehand: what is filled in quotes the exception."""
    return str(record.msg) if record.exc_info else record.getMessage()


def describe_error(error: BaseException) -> dict[str, Any]:
    """The kind of an exception, the last frames it went through, and by which rule the database refused something."""
    facts: dict[str, Any] = {"error": type(error).__name__, "frames": last_frames(error.__traceback__)}
    diagnosis = getattr(error.__cause__ or error, "diag", None)
    if diagnosis is not None:
        facts["refused_by"] = diagnosis.constraint_name or diagnosis.sqlstate or ""
    return facts


def last_frames(trace: TracebackType | None) -> list[str]:
    """Where it happened, the innermost last."""
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)][-MAX_FRAMES:]
