"""What of the notebook a session is told, and what of a customer's it is told with them alone (R168, R177)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from apps.notebook.models import Note
from apps.notebook.rules import is_due
from apps.prompt.prompt_input import Passage, Source


@dataclass(frozen=True, slots=True)
class Noted:
    """What of the notebook a session is told: what is about no customer by its kind, and what it is reminded of with this one."""

    reminders: tuple[Passage, ...]
    scratch: tuple[Passage, ...]
    tasks: tuple[Passage, ...]
    of_customer: tuple[Passage, ...]


def noted_in(notes: Iterable[Note], now: datetime) -> Noted:
    """What a customer's notes say never stands among those of all (R007)."""
    shown = [note for note in notes if note.kind != Note.Kind.REMINDER or is_due(note.due_at, now)]
    of_all = [note for note in shown if not note.end_user_key]
    theirs = [note for note in shown if note.end_user_key and note.kind == Note.Kind.REMINDER]
    reminders, scratch, tasks = (
        tuple(_note(note) for note in of_all if note.kind == kind)
        for kind in (Note.Kind.REMINDER, Note.Kind.SCRATCH, Note.Kind.TASK)
    )
    return Noted(reminders, scratch, tasks, tuple(map(_note, theirs)))


def _note(row: Note) -> Passage:
    approver = row.author if row.is_approved else ""
    return Passage(
        row.text, Source(row._meta.label_lower, row.pk, row.version, "text", row.author, approver, row.taint)
    )
