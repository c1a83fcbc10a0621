"""The log of refused attempts. A refusal rolls its transaction back, so it is recorded afterwards.

The record is written with SQL and not through the model, because the write guard in the models' base class logs refusals too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from django.db import connection
from django.db.models import Model

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as, after_transaction
from apps.governance.errors import GovernanceError, IllegalTransition, NotPermitted, NotVisible, UngovernedWrite
from apps.governance.policy.policy_table import Act

# Attempts at something that the actor may not do. Wrong values, stale versions and names that are taken are honest mistakes.
RECORDED_REFUSALS = (NotPermitted, NotVisible, IllegalTransition, UngovernedWrite)
SENTENCE_CHARACTERS = 500

# A tenant that does not exist yet has no audit log, so a refused attempt to create it is not recorded.
_INSERT = """
INSERT INTO governance_refusal (tenant_id, act, code, detail, subject_type, subject_id, actor_role, actor_label,
                                actor_user_id, agent_id, created_at)
SELECT id, %s, %s, %s, %s, %s, %s, %s, %s, %s, clock_timestamp() FROM tenants_tenant WHERE id = %s
"""


@dataclass(frozen=True, slots=True)
class RefusalSubject:
    """The row that an attempt concerned, as far as the refusing code knows it."""

    type: str = ""
    row_id: int | None = None

    @classmethod
    def of(cls, row: Model) -> "RefusalSubject":
        """Return the subject for a row, with the row's id if it is saved."""
        return cls(row._meta.label_lower, None if row._state.adding else row.pk)


UNKNOWN_SUBJECT = RefusalSubject()


@contextmanager
def recording_refusals(
    actor: Actor | None, act: Act | None = None, subject: RefusalSubject = UNKNOWN_SUBJECT
) -> Iterator[None]:
    """Log the refusals that the block raises."""
    try:
        yield
    except GovernanceError as refusal:
        record_refusal(refusal, actor, act, subject)
        raise


def record_refusal(
    refusal: GovernanceError, actor: Actor | None, act: Act | None = None, subject: RefusalSubject = UNKNOWN_SUBJECT
) -> None:
    """Log a refused attempt once, however many layers the exception passes. Without an actor there is no tenant to log it for."""
    if actor is None or refusal.noted or not isinstance(refusal, RECORDED_REFUSALS):
        return
    refusal.noted = True
    after_transaction(partial(_insert_refusal, actor, act, subject, refusal.code, _storable_sentence(str(refusal))))


def _storable_sentence(sentence: str) -> str:
    # The sentence may quote user input.
    return sentence.replace("\x00", "").encode(errors="backslashreplace").decode()[:SENTENCE_CHARACTERS]


def _insert_refusal(actor: Actor, act: Act | None, subject: RefusalSubject, code: str, sentence: str) -> None:
    values = [act.value if act else "", code, sentence, subject.type, subject.row_id]
    who = [actor.role.value, actor.label, actor.user_id, actor.agent_id or actor.via_agent_id]
    # An assistant that reads for its member cannot write, but its refused attempt must be recorded.
    with acting_as(replace(actor, via_agent_id=None)), connection.cursor() as cursor:
        cursor.execute(_INSERT, [*values, *who, actor.tenant_id])
