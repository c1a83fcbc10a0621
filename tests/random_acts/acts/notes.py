"""How acts are tried on notes."""

from collections.abc import Mapping

from apps.governance.models import Taint
from apps.governance.policy.policy_table import Act
from apps.notebook.actions import amend_note, drop_note, finish_note, write_note
from apps.notebook.models import Note
from tests.random_acts.act_choice import ActChoice, ActRunner, amend_row


def _write(chosen: ActChoice) -> object:
    values = {"kind": Note.Kind.TASK, "text": chosen.words[:400]}
    return write_note(chosen.agent.pk, actor=chosen.actor, values=values, taint=Taint.AGENT)


def _amend(chosen: ActChoice) -> object:
    row, words = chosen.row(Note), {"text": chosen.words[:400]}
    return amend_note(row, actor=chosen.actor, values=words, read_at=chosen.read_at(row), taint=Taint.AGENT)


NOTES: Mapping[Act, ActRunner] = {
    Act.NOTE_WRITE: _write,
    Act.NOTE_AMEND: _amend,
    Act.NOTE_FINISH: amend_row(Note, finish_note),
    Act.NOTE_DROP: amend_row(Note, drop_note),
}
