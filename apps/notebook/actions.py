"""Actions on notes: people and agents write, finish and drop them; the system drops old scratch notes."""

from collections.abc import Mapping
from typing import Any

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, IllegalTransition, NotPermitted
from apps.governance.governed_write import assign_values, governed
from apps.governance.models import Taint
from apps.governance.policy.policy_table import Act
from apps.notebook.models import Note
from apps.notebook.rules import (
    CUSTOMER_WORDS_REFUSAL,
    NoteRefusal,
    customer_key_for_note,
    limit_refusal,
    open_note_limit,
)


def write_note(
    agent_id: int,
    *,
    actor: Actor,
    values: Mapping[str, Any],
    conversation_id: int | None = None,
    taint: Taint | None = None,
) -> Note:
    """Write a note for later. Sessions that open from now on may show it.

    A note that an agent writes while answering a customer is always about that customer. `taint` is the source of an agent's
    text; if it is missing, the text counts as a customer's.
    """
    note = Note(tenant_id=actor.tenant_id, agent_id=agent_id, conversation_id=conversation_id, author=actor.label)
    with acting_as(actor), governed(Act.NOTE_WRITE, note, actor=actor) as row:
        assign_values(row, Act.NOTE_WRITE, values)
        row.text = _normalise_lines(row.text)
        row.end_user_key = _note_key(row.end_user_key, actor)
        row.taint = _note_taint(row, actor, taint)
        _refuse_over_limit(row, actor)
    return note


def amend_note(
    note: Note, *, actor: Actor, values: Mapping[str, Any], read_at: int | None = None, taint: Taint | None = None
) -> Note:
    """Change the text or the due time of a note. A person who changes the text becomes its author."""
    _refuse_other_customer(note, actor)
    with governed(Act.NOTE_AMEND, note, actor=actor, read_at=read_at) as row:
        _refuse_settled(row)
        before = row.text
        assign_values(row, Act.NOTE_AMEND, values)
        row.text = _normalise_lines(row.text)
        if row.text != before:
            row.author, row.taint = actor.label, _note_taint(row, actor, taint)
    return note


def finish_note(note: Note, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Note:
    """Mark a note as done. Open sessions keep their prompt."""
    _refuse_other_customer(note, actor)
    with governed(Act.NOTE_FINISH, note, actor=actor, read_at=read_at, reason=reason) as row:
        row.finish()
    return note


def drop_note(note: Note, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Note:
    """Drop a note that no longer matters."""
    _refuse_other_customer(note, actor)
    with governed(Act.NOTE_DROP, note, actor=actor, read_at=read_at, reason=reason) as row:
        row.drop()
    return note


def _normalise_lines(text: str) -> str:
    # A browser sends other line endings than it received.
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _note_key(wanted: str, actor: Actor) -> str:
    key = customer_key_for_note(wanted, actor.customer_key, is_proven=actor.customer_is_proven)
    if isinstance(key, NoteRefusal):
        raise NotPermitted(key.reason)
    return key


def _note_taint(row: Note, actor: Actor, taint: Taint | None) -> Taint:
    """Return the source of a note's text.

    Raises NotPermitted if a customer's text would enter a note without a customer, which all customers' turns show.
    """
    if actor.is_person:
        return Taint.OPERATOR
    own_taint = taint or Taint.CUSTOMER
    if row.end_user_key:
        return Taint.joined(Taint.CUSTOMER, own_taint)
    if own_taint is Taint.CUSTOMER:
        raise NotPermitted(CUSTOMER_WORDS_REFUSAL)
    return Taint.joined(Taint.AGENT, own_taint)


def _refuse_other_customer(note: Note, actor: Actor) -> None:
    """Refuse an agent's write to a note of another customer than the one it answers. PostgreSQL refuses it too."""
    if actor.customer_key is not None and _note_key(note.end_user_key, actor) != note.end_user_key:
        raise NotPermitted("This note is not this customer's, so nothing said here changes it. Leave it as it is.")


def _refuse_settled(row: Note) -> None:
    if row.status != Note.Status.OPEN:
        raise IllegalTransition(f"This note is {row.status} and stays as it is. Write another one.")


def _refuse_over_limit(row: Note, actor: Actor) -> None:
    waiting = Note.objects.visible_to(actor).open().kept_by(row.agent_id, row.end_user_key).order_by("created_at", "id")
    open_ids = list(waiting.values_list("pk", flat=True)[: open_note_limit(row.end_user_key)])
    if refusal := limit_refusal(open_ids, row.end_user_key):
        raise Conflict(refusal)
