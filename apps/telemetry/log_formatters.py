"""Formats a log record as one line of JSON. An exception is logged by type and location: its message may quote a customer."""

import json
import logging
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final

from apps.telemetry.log_context import current_facts

# The attributes of every record; all other attributes are fields of this line.
RECORD_ATTRIBUTES: Final = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "color_message",
    "taskName",
}
MAX_FRAMES: Final = 12
# Objects that libraries attach to a record, such as a request, are left out.
PLAIN_TYPES: Final = (str, int, float, bool, type(None))


class JsonLines(logging.Formatter):
    """Formats `at`, `level`, `logger`, `message`, the facts of the context, and the line's own fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
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
    """Formats the same content for people at a terminal; messages of exceptions are left out as well."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name} {message}", style="{")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, and the location where an exception was raised."""
        return super().format(logging.makeLogRecord({**vars(record), "msg": safe_message(record), "args": ()}))

    def formatException(self, ei: Any) -> str:  # noqa: N802  # logging's own name; Any: what it hands about
        """Return the type of an exception, and its frames."""
        facts = describe_error(ei[1])
        return "\n".join(
            [f"  {frame}" for frame in facts["frames"]] + [f"  {facts['error']} {facts.get('refused_by', '')}"]
        )


def safe_message(record: logging.LogRecord) -> str:
    """Return the message. If there is an exception, return only the template, since the arguments may quote the exception."""
    return str(record.msg) if record.exc_info else record.getMessage()


def describe_error(error: BaseException) -> dict[str, Any]:
    """Return the type of an exception, its last frames, and the database constraint that was violated, if any."""
    facts: dict[str, Any] = {"error": type(error).__name__, "frames": last_frames(error.__traceback__)}
    diagnosis = getattr(error.__cause__ or error, "diag", None)
    if diagnosis is not None:
        facts["refused_by"] = diagnosis.constraint_name or diagnosis.sqlstate or ""
    return facts


def last_frames(trace: TracebackType | None) -> list[str]:
    """Return the last frames of a traceback, innermost last."""
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)][-MAX_FRAMES:]
