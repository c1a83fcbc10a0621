"""What happened to a row: its change records, with the words before and after compared."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.apps import apps
from django.db.models import Model, QuerySet

from apps.console.diffs import FieldDiff, field_diffs
from apps.console.people import People, label_of, label_of_agent
from apps.console.titles import in_words
from apps.governance.audit.row_history import records_of
from apps.governance.models import ChangeRecord, ChangeText

SHOWN_CHANGES = 20


@dataclass(frozen=True, slots=True)
class Change:
    """One change as a page shows it."""

    record: ChangeRecord
    by: str
    reason: str
    fields: list[FieldDiff]

    @property
    def number(self) -> str:
        """The version the change left, as addresses name it."""
        return str(self.record.version_after)


def changes_of(row: Model, people: People) -> list[Change]:
    """The latest changes of a row, the newest first."""
    return list(_read(records_of(row._meta.label_lower, row.pk)[:SHOWN_CHANGES], people))


def all_changes_of(row: Model, people: People) -> list[Change]:
    """Every change of a row, the newest first."""
    return list(_read(records_of(row._meta.label_lower, row.pk), people))


def change(record: ChangeRecord, people: People) -> Change:
    """One record with its words compared."""
    text: ChangeText | None = getattr(record, "text", None)
    if text is None:
        return Change(record, people[record.actor_label], "The words of this change were erased.", [])
    before, after = (in_order(values, record.subject_type, people) for values in (text.before, text.after))
    return Change(record, people[record.actor_label], text.reason, field_diffs(before, after))


def in_order(values: Mapping[str, object], subject_type: str, people: People) -> dict[str, object]:
    """The columns in the order of the noun's fields and in words, without the tenant, which is the reader's own."""
    known = [field.attname for field in apps.get_model(subject_type)._meta.concrete_fields]
    rank = {name: at for at, name in enumerate(known)}
    names = sorted((name for name in values if name != "tenant_id"), key=lambda name: rank.get(name, len(rank)))
    return {name: _said(name, values[name], people) for name in names}


def _said(name: str, value: object, people: People) -> object:
    """People, agents and rights by what they are called."""
    if name == "user_id" and isinstance(value, int):
        return people[label_of(value)]
    if name == "agent_id" and isinstance(value, int):
        return people[label_of_agent(value)]
    if name.endswith("_by") and isinstance(value, str):
        return people[value] if value else ""
    if name == "agent_ids" and isinstance(value, list):
        return "\n".join(people[label_of_agent(each)] for each in value) or "nowhere"
    return "\n".join(in_words(each) for each in value) if name == "permissions" and isinstance(value, list) else value


def _read(records: QuerySet[ChangeRecord], people: People) -> Iterator[Change]:
    for record in records:
        yield change(record, people)
