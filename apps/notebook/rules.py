"""Rules of notes: valid fields, the customer a note belongs to, the limit of open notes, and when a reminder is due; pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

TEXT_CHARACTERS: Final = 500
TEXT_LINES: Final = 8
OPEN_PER_AGENT: Final = 50
OPEN_PER_CUSTOMER: Final = 20
OLDEST_NAMED: Final = 3
# A scratch note that nobody changed for this long is dropped.
SCRATCH_LIFETIME: Final = timedelta(days=7)

REMINDER: Final = "reminder"
TASK: Final = "task"
SCRATCH: Final = "scratch"

CUSTOMER_UNPROVEN: Final = "Nobody has proven to be the customer this conversation names, so nothing is noted of them."
NO_CUSTOMER: Final = "This conversation names no customer, so what is said here goes into no notebook."
CUSTOMER_WORDS_REFUSAL: Final = (
    "These words came of what a customer or another program said, and a note without a customer is read by all of them."
    " Write it for that customer, or in words of your own."
)


@dataclass(frozen=True, slots=True)
class NoteRefusal:
    """The reason why a note cannot be written here."""

    reason: str


def note_flaws(kind: str, text: str, due_at: datetime | None) -> dict[str, str]:
    """Return the flaws of a note, by field."""
    found = {}
    if not text.strip():
        found["text"] = "A note says something. Write a line."
    elif text.count("\n") >= TEXT_LINES:
        found["text"] = f"A note has {TEXT_LINES} lines at most. Write a shorter one, or several."
    if kind == REMINDER and due_at is None:
        found["due_at"] = "A reminder says when. Give the time from which on it is shown."
    if kind == SCRATCH and due_at is not None:
        found["due_at"] = (
            f"Scratch has no time: it goes after {SCRATCH_LIFETIME.days} days. Write a task or a reminder."
        )
    return found


def customer_key_for_note(wanted: str, served: str | None, *, is_proven: bool) -> str | NoteRefusal:
    """Return the customer of an agent's note: in a turn, the customer it answers; outside a turn, the one that it names.

    A turn begun by a schedule answers nobody and counts as verified. A turn with an unnamed customer does not (R007).
    """
    if served is None:
        return wanted
    if is_proven:
        return served
    return NoteRefusal(CUSTOMER_UNPROVEN if served else NO_CUSTOMER)


def open_note_limit(end_user_key: str) -> int:
    """Return how many notes may be open for one customer, or without a customer."""
    return OPEN_PER_CUSTOMER if end_user_key else OPEN_PER_AGENT


def limit_refusal(open_ids: Sequence[int], end_user_key: str) -> str:
    """Return the refusal of one more note, with a remedy; empty if there is room. `open_ids` are sorted, oldest first."""
    limit = open_note_limit(end_user_key)
    if len(open_ids) < limit:
        return ""
    oldest = ", ".join(str(each) for each in open_ids[:OLDEST_NAMED])
    scope = "about this customer" if end_user_key else "without a customer"
    return (
        f"The notebook has {limit} open notes {scope}, which is as many as it may. The oldest are {oldest}:"
        " finish what is done, drop what no longer matters, and write this one then."
    )


def is_due(due_at: datetime | None, now: datetime) -> bool:
    """Return whether a reminder's time has come; a note without a time is never due."""
    return due_at is not None and due_at <= now
