"""The pages of the notebook: what is open first, whose words it is, and what becomes of it."""

import pytest
from django.test import Client
from django.urls import reverse

from apps.governance.database.actor_transaction import acting_as
from apps.notebook.models import Note
from tests.support.drivers.console_client import decide, list_of, page_of, page_words
from tests.support.factories.notes import enable_notebook, make_note, make_reminder
from tests.support.worlds.world import World

pytestmark = pytest.mark.django_db


def test_a_notebook_without_notes_says_what_may_stand_there(world: World, operator: Client) -> None:
    assert "Nothing is noted here" in page_words(operator.get(list_of(Note)))


@pytest.mark.slow
def test_a_note_is_added_changed_and_finished(world: World, operator: Client) -> None:  # R177
    typed = {"agent": world.agent.pk, "kind": "reminder", "text": "Call back.\r\nAsk for Kim."}
    refused = operator.post(reverse("admin:notebook_note_add"), typed)
    assert "A reminder says when" in page_words(refused)
    added = operator.post(reverse("admin:notebook_note_add"), typed | {"due_at": "2026-01-02T09:30"})
    assert added.status_code == 302
    with acting_as(world.operator):
        note = Note.objects.get()
    shown = page_words(operator.get(page_of(note)))
    for words in ("Ask for Kim.", "which has come", "all the agent does", "keeps no notebook"):
        assert words in shown
    enable_notebook(world)
    assert "keeps no notebook" not in page_words(operator.get(page_of(note)))
    operator.post(page_of(note), {"text": "Write.", "due_at": "2999-01-02T09:30", "read_at": note.version})
    changed = page_words(operator.get(page_of(note)))
    assert "Write." in changed
    assert "which has come" not in changed
    assert decide(operator, note, "finish").status_code < 400
    assert "Drop it" not in page_words(operator.get(page_of(note)))


def test_the_list_shows_what_is_open_and_narrows_by_kind(world: World, operator: Client) -> None:
    make_reminder(world, "Ask for the address.", end_user_key="http:ann")
    make_note(world, "Half done.", kind=Note.Kind.SCRATCH, actor=world.bot)
    dropped = make_note(world, "Long gone.")
    assert decide(operator, dropped, "drop").status_code < 400
    listed = page_words(operator.get(list_of(Note)))
    assert "Ask for the address." in listed
    assert "http:ann" in listed
    assert "Long gone." not in listed
    assert "Long gone." in page_words(operator.get(f"{list_of(Note)}?tab=dropped"))
    narrowed = page_words(operator.get(f"{list_of(Note)}?kind__exact=scratch"))
    assert "Half done." in narrowed
    assert "Ask for the address." not in narrowed
