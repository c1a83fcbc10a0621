"""The governed write: one permission check, one write, one change record, one commit.

    with governed(Act.SKILL_APPROVE, skill, actor=actor, read_at=version) as row:
        row.approve()

`governed` locks the row first. The body changes the row in memory. Afterwards `governed` checks the changed fields, writes only
those, and records the change. An exception in the body rolls everything back.

`governed_create` inserts a row as it was built and `governed_remove` deletes one, with the same check and record.

`write_reason` sets a default reason and evidence for all acts of a process; each of their change records stores both.
"""

import hashlib
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.core.serializers.json import DjangoJSONEncoder
from django.db import Error, IntegrityError, ProgrammingError, transaction
from django.db.models import BaseConstraint
from django_fsm import FSMFieldMixin, TransitionNotAllowed
from psycopg import errors as postgres

from apps.governance.actors import Actor
from apps.governance.authorization import act_phrase, authorize, check_actor, columns_of, may, refuse_other_subject
from apps.governance.database.actor_transaction import acting_as
from apps.governance.database.deferred_constraints import check_references
from apps.governance.errors import (
    Conflict,
    GovernanceError,
    IllegalTransition,
    Invalid,
    NotPermitted,
    NotVisible,
    Stale,
    StoppedByKillSwitch,
)
from apps.governance.models import ChangeRecord, ChangeText, Governed
from apps.governance.models.base import governed_write_open
from apps.governance.policy.policy_table import POLICY, Act
from apps.governance.refusal_log import RefusalSubject, recording_refusals

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class WriteReason:
    """The default reason of a block's acts, and evidence that is added to each act's own."""

    reason: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)


NO_EVIDENCE: Mapping[str, Any] = MappingProxyType({})
_NO_REASON = WriteReason()
_current_reason: ContextVar[WriteReason] = ContextVar("write_reason", default=_NO_REASON)


def resolved_reason(evidence: Mapping[str, Any] | None, reason: str) -> tuple[Values, str]:
    """Return the evidence and the reason of one act. The act's own values take precedence over those of `write_reason`."""
    given = _current_reason.get()
    return {**given.evidence, **(evidence or {})}, reason or given.reason


@contextmanager
def write_reason(reason: str, evidence: Mapping[str, Any] = NO_EVIDENCE) -> Iterator[None]:
    """Set the default reason and evidence of every act in the block; an act's own reason and evidence take precedence.

    In nested blocks the inner reason applies, and the evidence of both blocks is merged.
    """
    outer = _current_reason.get()
    token = _current_reason.set(WriteReason(reason, {**outer.evidence, **evidence}))
    try:
        yield
    finally:
        _current_reason.reset(token)


__all__ = [
    "assign_values",
    "authorize",
    "governed",
    "governed_create",
    "governed_remove",
    "invalid_from_validation",
    "lock_row",
    "may",
    "recorded_values",
    "refuse_stale",
    "refuse_ungoverned_fields",
    "text_sha256",
]

Row = TypeVar("Row", bound=Governed)
# The constraint name in the error that a trigger raises for a write while a kill switch is active.
KILL_SWITCH_CONSTRAINT = "stopped_by_kill_switch"


@dataclass(frozen=True, slots=True)
class PendingChange:
    """A running act, and the row's values at the moment when the row was locked."""

    act: Act
    actor: Actor
    version_before: int
    before: Values
    evidence: Values
    reason: str


@contextmanager
def governed(
    act: Act,
    row: Row,
    *,
    actor: Actor,
    read_at: int | None = None,
    evidence: Mapping[str, Any] | None = None,
    reason: str = "",
    removes: bool = False,
) -> Iterator[Row]:
    """Change or create `row` as one governed write. `read_at` is the version that the actor read; an outdated one is refused."""
    with recording_refusals(actor, act, RefusalSubject.of(row)), _permitted_transaction(actor, act, row, removes):
        adding = row._state.adding
        if not adding:
            _lock_and_check(row, act, actor, read_at)
        before: Values = {} if adding else recorded_values(row)
        change = PendingChange(act, actor, 0 if adding else row.version, before, *resolved_reason(evidence, reason))
        try:
            yield row
        except TransitionNotAllowed as refusal:
            raise IllegalTransition(_illegal_transition_message(row, refusal)) from refusal
        after: Values = {} if removes else recorded_values(row)
        changed = frozenset(name for name in after if adding or after[name] != before.get(name))
        if not removes:
            _check_fields(actor, act, row, changed, adding)
        if not (changed or removes):
            return
        subject_id = _write(row, changed, adding, removes)
        _write_change_record(change, row, subject_id, after)


def governed_create(
    act: Act, row: Row, *, actor: Actor, evidence: Mapping[str, Any] | None = None, reason: str = ""
) -> Row:
    """Insert a new row as it was built in memory. As with `governed`: one check, one write, one change record."""
    with governed(act, row, actor=actor, evidence=evidence, reason=reason):
        pass  # The row is already complete.
    return row


def governed_remove(
    act: Act,
    row: Row,
    *,
    actor: Actor,
    read_at: int | None = None,
    evidence: Mapping[str, Any] | None = None,
    reason: str = "",
) -> None:
    """Delete a row. Its last values are kept in the change record."""
    with governed(act, row, actor=actor, read_at=read_at, evidence=evidence, reason=reason, removes=True):
        pass  # Nothing to change before the deletion.


@contextmanager
def _permitted_transaction(actor: Actor, act: Act, row: Governed, removes: bool) -> Iterator[None]:
    check_actor(actor, act, row.tenant_id, agent_id=row.agent_concerned)
    refuse_other_subject(row, act, actor.role, adding=row._state.adding, removes=removes)
    with acting_as(actor):
        yield


def assign_values(row: Governed, act: Act, values: Mapping[str, Any]) -> None:
    """Assign values from a request. Raises `NotPermitted` for a field that the act does not govern."""
    refuse_ungoverned_fields(act, values)
    for name, value in values.items():
        setattr(row, name, value)


def refuse_ungoverned_fields(act: Act, names: Iterable[str]) -> None:
    """Raise `NotPermitted` if the act does not govern all of these fields, whatever the role."""
    if foreign := sorted(set(names) - set(POLICY[act].fields)):
        raise NotPermitted(f"The act “{act_phrase(act)}” does not change {', '.join(foreign)}.")


def recorded_values(row: Governed) -> Values:
    """Return a row's values by column, as change records store them.

    Columns that are secret or stamped by the database are left out.
    """
    plain = {
        field.attname: field.value_from_object(row)
        for field in row._meta.concrete_fields
        if not field.primary_key and field.name not in row.unrecorded
    }
    parsed: Values = json.loads(json.dumps(plain, cls=DjangoJSONEncoder))
    return parsed


def _lock_and_check(row: Governed, act: Act, actor: Actor, read_at: int | None) -> None:
    lock_row(row, read_at)
    # Check against the agent of the stored row, not of the copy that the caller passed.
    check_actor(actor, act, row.tenant_id, agent_id=row.agent_concerned)


def lock_row(row: Governed, read_at: int | None) -> None:
    """Lock a row until the commit and refresh it. Raises `Stale` if the actor read another version.

    All code locks in the same order: first the row that a proposal would change, then the proposal.
    """
    queryset = type(row)._base_manager.select_for_update(no_key=True, of=("self",)).filter(tenant_id=row.tenant_id)
    # Without names, `select_related` would load every foreign key; None loads none.
    queryset = queryset.select_related(*row.named_after or (None,))
    stored = queryset.filter(pk=row.pk).order_by("pk").first()
    if stored is None:
        raise NotVisible(f"There is no such {row._meta.verbose_name}, or you may no longer change it.")
    _copy_stored_values(row, stored)
    # If several acts follow each other, only the first one is checked against the version that the actor read.
    expected, row.expected_version = row.expected_version, None
    refuse_stale(row, read_at if read_at is not None else expected)


def refuse_stale(row: Governed, read_at: int | None) -> None:
    """Raise `Stale` if the actor read another version than the current one. None means that the actor named no version."""
    if read_at is not None and read_at != row.version:
        raise Stale(
            f"This {row._meta.verbose_name} changed since you read it: you saw version {read_at}, it is now at {row.version}."
            " Read it again before you decide.",
            row.version,
        )


def _copy_stored_values(row: Governed, stored: Governed) -> None:
    """Copy the stored values, including the state, to the row in memory."""
    for column in row._meta.concrete_fields:
        value = getattr(stored, column.attname)
        if isinstance(column, FSMFieldMixin):
            # refresh_from_db() does not update a protected state field, and assigning to the field is refused.
            row.__dict__[column.attname] = value
        else:
            setattr(row, column.attname, value)
    for name in row.named_after:
        row._state.fields_cache[name] = stored._state.fields_cache[name]


def _check_fields(actor: Actor, act: Act, row: Governed, changed: frozenset[str], adding: bool) -> None:
    names = frozenset(field.name for field in row._meta.concrete_fields if field.attname in changed)
    mine = POLICY[act].writes(adding=adding)
    if not adding and (foreign := sorted(names - columns_of(act, actor.role))):
        raise NotPermitted(f"The act “{act_phrase(act)}” does not change {', '.join(foreign)}.")
    check_actor(actor, act, row.tenant_id, names & mine, agent_id=row.agent_concerned)
    # The database checks references. A query from this code would run under row security, which may hide the referenced row.
    unclean = {
        field.name for field in row._meta.concrete_fields if isinstance(field, FSMFieldMixin) or field.is_relation
    }
    try:
        # Not full_clean(): it assigns to every field, which protected state fields refuse.
        row.clean_fields(exclude=unclean)
        row.clean()
    except ValidationError as refusal:
        raise invalid_from_validation(refusal) from refusal


def invalid_from_validation(refusal: ValidationError) -> Invalid:
    """Convert Django's `ValidationError` to `Invalid`."""
    by_field = hasattr(refusal, "error_dict")
    fields: dict[str, list[str]] = refusal.message_dict if by_field else {NON_FIELD_ERRORS: refusal.messages}
    details = "; ".join(f"{name.replace('_', ' ')}: {' '.join(reasons)}" for name, reasons in fields.items())
    return Invalid(f"Some values cannot be taken. {details}", fields)


def _write(row: Governed, changed: frozenset[str], adding: bool, removes: bool) -> int:
    try:
        with transaction.atomic(), governed_write_open():
            if removes:
                subject_id = int(row.pk)
                row.delete()
                return subject_id
            if adding:
                row.save(force_insert=True)
                check_references(row._meta.db_table)
            else:
                # Write only changed columns: a role with column grants may not name other columns in an UPDATE.
                row.save(update_fields=sorted(_field_name(row, name) for name in changed))
    except (IntegrityError, ProgrammingError) as refusal:
        raise _translate_database_error(row, refusal) from refusal
    row.refresh_from_db(fields=["version", "updated_at", *row.stamped])
    return int(row.pk)


def _field_name(row: Governed, attname: str) -> str:
    return next(field.name for field in row._meta.concrete_fields if field.attname == attname)


def _write_change_record(change: PendingChange, row: Governed, subject_id: int, after: Values) -> None:
    salt = secrets.token_hex(16)
    texts = {"before": change.before, "after": after, "reason": change.reason}
    record = ChangeRecord.objects.create(
        tenant_id=row.tenant_id,
        act=change.act.value,
        subject_type=row._meta.label_lower,
        subject_id=subject_id,
        subject_label=str(subject_id) if row.named_by_customer else row.stored_label,
        actor_role=change.actor.role.value,
        actor_label=change.actor.label,
        actor_user_id=change.actor.user_id,
        agent_id=change.actor.agent_id,
        version_before=change.version_before,
        version_after=row.version if after else 0,
        evidence=change.evidence,
        taint=row.taint,
        text_sha256=text_sha256(salt, change.before, after, change.reason),
    )
    ChangeText.objects.create(tenant_id=row.tenant_id, record=record, salt=salt, **texts)


def text_sha256(salt: str, before: Values, after: Values, reason: str) -> str:
    """Return the hash of a change's text, which the change record keeps.

    The salt prevents guessing a short text from its hash.
    """
    body = json.dumps([salt, before, after, reason], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(body.encode()).hexdigest()


def _translate_database_error(row: Governed, refusal: Error) -> GovernanceError:
    cause = refusal.__cause__
    name = cause.diag.constraint_name if isinstance(cause, postgres.Error) else None
    if isinstance(cause, postgres.Error) and name == KILL_SWITCH_CONSTRAINT:
        return StoppedByKillSwitch(str(cause.diag.message_primary))
    if isinstance(cause, postgres.InsufficientPrivilege):
        return NotPermitted(f"The database does not let the current role change this {row._meta.verbose_name}.")
    own = next((_constraint_message(constraint) for constraint in row._meta.constraints if constraint.name == name), "")
    if isinstance(cause, postgres.UniqueViolation | postgres.ExclusionViolation):
        exists = f"This exists already ({row._meta.verbose_name}). Change that one, or choose another name."
        return Conflict(own or exists)
    if isinstance(cause, postgres.ForeignKeyViolation):
        return Invalid(
            f"This {row._meta.verbose_name} refers to a row that does not exist or is of the wrong kind.", {}
        )
    if isinstance(cause, postgres.CheckViolation):
        return _check_violation_error(cause, own)
    raise refusal


def _constraint_message(constraint: BaseConstraint) -> str:
    message = constraint.violation_error_message
    return "" if message == constraint.default_violation_error_message else str(message)


def _check_violation_error(cause: postgres.CheckViolation, own: str) -> GovernanceError:
    if cause.diag.table_name is None:
        # A trigger raised this error for a transition, with a message for the user.
        return IllegalTransition(str(cause.diag.message_primary))
    # A constraint is named by the rule that it enforces.
    rule = str(cause.diag.constraint_name).replace("_", " ")
    why = own or f"They break the rule “{rule}”. Correct the values and send them again."
    return Invalid(f"These values cannot be taken. {why}", {NON_FIELD_ERRORS: [why]})


def _illegal_transition_message(row: Governed, refusal: TransitionNotAllowed) -> str:
    method = getattr(refusal.method, "__name__", "change").replace("_", " ")
    state = next(
        (field.value_from_object(row) for field in row._meta.concrete_fields if isinstance(field, FSMFieldMixin)), ""
    )
    noun = str(row._meta.verbose_name)
    return f"Cannot {method} {'an' if noun[0] in 'aeiou' else 'a'} {noun} that is {state}."
