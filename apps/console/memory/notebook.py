"""The notebook: notes that agents keep for later, written by people and by the agents."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import DateTimeField
from django.http import HttpRequest
from django.utils import timezone
from unfold.widgets import INPUT_CLASSES

from apps.console.framework.forms import OptionalReasonForm
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import column, moment_column
from apps.console.framework.page_actions import Button, CreateAction, EditAction, PanelReader, Tabs, as_mapping
from apps.console.review.content_flags import find_content_flags
from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act
from apps.notebook.actions import amend_note, drop_note, finish_note, write_note
from apps.notebook.models import Note
from apps.notebook.rules import SCRATCH_LIFETIME, is_due
from apps.tenants.models import Agent

NEW_NOTE_FIELDS = ("kind", "text", "due_at", "end_user_key")
EDITABLE_FIELDS = ("text", "due_at")
# One date and time field of the browser, in the tenant's time zone.
MOMENT_WIDGET = forms.DateTimeInput(
    attrs={"type": "datetime-local", "step": "1", "class": " ".join(INPUT_CLASSES)}, format="%Y-%m-%dT%H:%M:%S"
)


def note_panels(note: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the flags of the text, and whether the note is due."""
    return {
        "flags": find_content_flags({"text": note.text}),
        "is_due": is_due(note.due_at, timezone.now()),
        "scratch_days": SCRATCH_LIFETIME.days,
    }


def _write(*, actor: Actor, agent: Agent, **values: Any) -> Note:
    return write_note(agent.pk, actor=actor, values=values)


def _is_open(note: Note) -> bool:
    return bool(note.status == Note.Status.OPEN)


class NoteAdmin(GovernedAdmin):
    """Notes: open ones come first; finished and dropped ones stay readable."""

    list_display = ("beginning", "kind", "agent", "about", "due", "whose_words", "state_shown")
    list_display_links = ("beginning",)
    list_filter = ("agent", "kind")
    list_select_related = ("agent",)
    search_fields = ("text", "end_user_key")
    search_help_text = "Search text or customer"
    tabs = Tabs("status", tuple(Note.Status.choices), first=Note.Status.OPEN.value)
    empty = (
        "Nothing is noted here. Add a reminder or a task for an agent; one that keeps a notebook writes its own too."
    )
    add_fields = ("agent", *NEW_NOTE_FIELDS)
    fields = EDITABLE_FIELDS
    formfield_overrides: ClassVar = {DateTimeField: {"form_class": forms.DateTimeField, "widget": MOMENT_WIDGET}}
    change_form_template = "console/memory/note.html"
    edit_label = "Change it"
    saved = "Saved. Sessions already open keep what they started with."
    creates = CreateAction(Act.NOTE_WRITE, _write, add_fields)
    amends = (EditAction(Act.NOTE_AMEND, as_mapping(amend_note), when=_is_open),)
    panels = PanelReader(note_panels)
    buttons = (
        Button(
            "finish",
            "It is done",
            Act.NOTE_FINISH,
            finish_note,
            done="Done. Later sessions do not carry it.",
            consequence="Sessions that open from now on are not told of it. It stays to be read here.",
            form=OptionalReasonForm,
            when=_is_open,
            tone="primary",
        ),
        Button(
            "drop",
            "Drop it",
            Act.NOTE_DROP,
            drop_note,
            done="Dropped. Later sessions do not carry it.",
            consequence="It no longer matters: sessions that open from now on are not told of it.",
            form=OptionalReasonForm,
            when=_is_open,
            tone="danger",
        ),
    )

    beginning = column("Note", str, ordering="text")
    due = moment_column("Due", "due_at", missing="—")

    @admin.display(description="About", ordering="end_user_key")
    def about(self, note: Note) -> str:
        return note.end_user_key or "all it does"
