"""The parts of a restore plan: a row's earlier state, the acts that restore it, and rows that cannot be restored."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar, cast

from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Model

from apps.governance.actors import Actor
from apps.governance.audit.row_history import row_from_record
from apps.governance.models import ChangeRecord, Governed
from apps.governance.policy.policy_table import POLICY, Act

Row = TypeVar("Row", bound=Governed)
Values = dict[str, Any]  # Any: whatever a row's fields contain


class StepFunction(Protocol):
    """One act on a row, ready to run; `read_at` is the version on which the plan is based."""

    def __call__(self, *, actor: Actor, read_at: int | None) -> object: ...


@dataclass(frozen=True, slots=True)
class PastRow(Generic[Row]):
    """A row's earlier state, and the change record that contains it. `fields` omits fields added after that record."""

    row: Row
    fields: frozenset[str]
    record_id: int
    version: int
    at: datetime

    @property
    def said(self) -> str:
        """Return the version and its time, for use in a reason."""
        return f"version {self.version} of {self.at.isoformat(timespec='seconds')}"


@dataclass(frozen=True, slots=True)
class RowPair(Generic[Row]):
    """A row's current and earlier state; one of them may be missing, but not both."""

    now: Row | None
    then: PastRow[Row] | None
    label: str

    @property
    def standing(self) -> Row:
        """Return the current row, for callers that know that the row exists."""
        return cast("Row", self.now)

    @property
    def past(self) -> PastRow[Row]:
        """Return the earlier row, for callers that know that the row existed then."""
        return cast("PastRow[Row]", self.then)


@dataclass(frozen=True, slots=True)
class RestoreStep:
    """One act that restores a row. Version 0 means that the act creates the row."""

    act: Act
    subject_type: str
    subject_id: int
    version: int
    label: str
    description: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    restores: Mapping[str, Any]
    reason: str
    row: Governed = field(compare=False, repr=False)
    carry: StepFunction = field(compare=False, repr=False)

    @property
    def key(self) -> str:
        """Return the name of the step's row in a form."""
        return f"{self.subject_type}:{self.subject_id}"

    @property
    def fields(self) -> frozenset[str]:
        """Return the governed fields that the step writes."""
        governed = POLICY[self.act].writes(adding=self.version == 0)
        return frozenset(name.removesuffix("_id") for name in self.after) & governed


@dataclass(frozen=True, slots=True)
class UnchangedNote:
    """A row that stays unchanged, and the reason."""

    label: str
    description: str


def past_row_of(model: type[Row], record: ChangeRecord) -> PastRow[Row]:
    """Return the row as the record left it."""
    known = frozenset(record.text.after)
    return PastRow(row_from_record(model, record), known, record.pk, record.version_after, record.created_at)


def values_to_restore(now: Governed, then: PastRow[Any], act: Act) -> Values:
    """Return the values that the act has to write to restore the row's earlier state."""
    governed = POLICY[act].writes(adding=False)
    fields = (each for each in now._meta.concrete_fields if each.name in governed and each.attname in then.fields)
    differ = (each.name for each in fields if getattr(then.row, each.attname) != getattr(now, each.attname))
    return {name: getattr(then.row, name) for name in differ if _reference_exists(then.row, name)}


def _reference_exists(row: Governed, name: str) -> bool:
    """Return whether the row to which the field refers still exists; True if the field is empty."""
    try:
        getattr(row, name)
    except ObjectDoesNotExist:
        return False
    return True


def make_step(
    pair: RowPair[Any], act: Act, values: Mapping[str, Any], carry: Callable[..., object], says: str = ""
) -> RestoreStep:
    """Return an act on the row of this pair, or an act that creates the row again."""
    now, then = pair.now, pair.then
    row = then.row if then else pair.standing
    return RestoreStep(
        act=act,
        subject_type=row._meta.label_lower,
        subject_id=row.pk,
        version=now.version if now else 0,
        label=pair.label,
        description=says or f"Change {join_field_names(values)}",
        before={name: _plain_value(getattr(now, name)) for name in values} if now else {},
        after={name: _plain_value(value) for name, value in values.items()},
        restores={"record_id": then.record_id, "version": then.version} if then else {},
        reason=f"Restores {then.said}." if then else "",
        row=now or row,
        carry=carry,
    )


def _plain_value(value: Any) -> Any:  # Any: whatever a row's fields contain
    """Return a value as a plan shows it; a related row is shown by its id."""
    return value.pk if isinstance(value, Model) else value


def join_field_names(names: Iterable[str]) -> str:
    """Return field names joined as in a sentence."""
    return ", ".join(name.removesuffix("_id").replace("_", " ") for name in names)
