"""Refused attempts stay in the books: a refusal takes its transaction along, so its record is written after it.

By SQL and not by the model: the guard, on which all models stand, notes too.
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

# What somebody tried who may not. Wrong values, stale versions and taken names are honest mistakes.
RECORDED_REFUSALS = (NotPermitted, NotVisible, IllegalTransition, UngovernedWrite)
SENTENCE_CHARACTERS = 500

# A tenant that is not there yet has no books; the attempt to make it leaves nothing.
_INSERT = """
INSERT INTO governance_refusal (tenant_id, act, code, detail, subject_type, subject_id, actor_role, actor_label,
                                actor_user_id, agent_id, created_at)
SELECT id, %s, %s, %s, %s, %s, %s, %s, %s, %s, clock_timestamp() FROM tenants_tenant WHERE id = %s
"""


@dataclass(frozen=True, slots=True)
class RefusalSubject:
    """What an attempt was about, as far as the surface that refused it knows."""

    type: str = ""
    row_id: int | None = None

    @classmethod
    def of(cls, row: Model) -> "RefusalSubject":
        """A row, by its number if it has one in the database."""
        return cls(row._meta.label_lower, None if row._state.adding else row.pk)


UNKNOWN_SUBJECT = RefusalSubject()


@contextmanager
def recording_refusals(
    actor: Actor | None, act: Act | None = None, subject: RefusalSubject = UNKNOWN_SUBJECT
) -> Iterator[None]:
    """Note whatever refusal passes here."""
    try:
        yield
    except GovernanceError as refusal:
        record_refusal(refusal, actor, act, subject)
        raise


def record_refusal(
    refusal: GovernanceError, actor: Actor | None, act: Act | None = None, subject: RefusalSubject = UNKNOWN_SUBJECT
) -> None:
    """Keep a refused attempt, once however many floors it passes. Without an actor there is no tenant whose books could hold it."""
    if actor is None or refusal.noted or not isinstance(refusal, RECORDED_REFUSALS):
        return
    refusal.noted = True
    after_transaction(partial(_insert_refusal, actor, act, subject, refusal.code, _storable_sentence(str(refusal))))


def _storable_sentence(sentence: str) -> str:
    # A sentence may name what somebody sent.
    return sentence.replace("\x00", "").encode(errors="backslashreplace").decode()[:SENTENCE_CHARACTERS]


def _insert_refusal(actor: Actor, act: Act | None, subject: RefusalSubject, code: str, sentence: str) -> None:
    values = [act.value if act else "", code, sentence, subject.type, subject.row_id]
    who = [actor.role.value, actor.label, actor.user_id, actor.agent_id or actor.via_agent_id]
    # An assistant that reads for its member cannot write; that it tried to is written all the same.
    with acting_as(replace(actor, via_agent_id=None)), connection.cursor() as cursor:
        cursor.execute(_INSERT, [*values, *who, actor.tenant_id])
