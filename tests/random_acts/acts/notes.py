"""How acts are tried on notes."""

from collections.abc import Mapping

from apps.governance.models import Taint
from apps.governance.policy.table import Act
from apps.notebook.actions import amend_note, drop_note, finish_note, write_note
from apps.notebook.models import Note
from tests.random_acts.act_choice import Chosen, Deed, amending


def _write(chosen: Chosen) -> object:
    values = {"kind": Note.Kind.TASK, "text": chosen.words[:400]}
    return write_note(chosen.agent.pk, actor=chosen.actor, values=values, taint=Taint.AGENT)


def _amend(chosen: Chosen) -> object:
    row, words = chosen.row(Note), {"text": chosen.words[:400]}
    return amend_note(row, actor=chosen.actor, values=words, read_at=chosen.read_at(row), taint=Taint.AGENT)


NOTES: Mapping[Act, Deed] = {
    Act.NOTE_WRITE: _write,
    Act.NOTE_AMEND: _amend,
    Act.NOTE_FINISH: amending(Note, finish_note),
    Act.NOTE_DROP: amending(Note, drop_note),
}
