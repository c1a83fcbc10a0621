"""Why two prompts differ: the governed acts between two moments that made a line come or go."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from apps.governance.actors import PEOPLE
from apps.governance.models import ChangeRecord
from apps.prompt.differences import Hunk, Line
from apps.prompt.values import Source
from apps.runtime.models import Session
from apps.tenants.models import Agent, TenantSettings


@dataclass(frozen=True, slots=True)
class Window:
    """The time between two prompts of an agent; whoever asks acts as somebody who may read the records."""

    tenant_id: int
    agent_id: int
    after: datetime
    until: datetime

    @classmethod
    def between(cls, one: Session, other: Session | None, now: datetime) -> "Window":
        """From the earlier of the two to the later; without another, until now."""
        moments = sorted([one.snapshot_at, other.snapshot_at if other else now])
        return cls(one.tenant_id, one.agent_id, *moments)


@dataclass(frozen=True, slots=True)
class Cause:
    """One act, with who did it and the person who let it."""

    act: str
    record: str
    version: int
    author: str
    approver: str
    at: datetime


def causes(hunk: Hunk, window: Window) -> tuple[Cause, ...]:
    """The acts on the hunk's own records; failing these, those on how the agent is set up. None: the product's own words moved."""
    lines = (*hunk.removed, *hunk.added)
    found = [cause for source in hunk.sources for cause in _of_source(source, lines, window)]
    return tuple(dict.fromkeys(found)) or tuple(_of_setup(window))


def _of_source(source: Source, lines: Iterable[Line], window: Window) -> Iterator[Cause]:
    records = list(_records(window, source.record_type, source.record_id))
    mine = [line.text for line in lines if source in line.sources or not line.sources]
    telling = [record for record in records if _moved(record, mine)]
    for record in telling or records[-1:]:
        yield _cause(record)


def _of_setup(window: Window) -> Iterator[Cause]:
    settings = TenantSettings.objects.filter(tenant_id=window.tenant_id).values_list("pk", flat=True)
    subjects = [
        (Agent._meta.label_lower, window.agent_id),
        *((TenantSettings._meta.label_lower, pk) for pk in settings),
    ]
    for kind, pk in subjects:
        yield from map(_cause, _records(window, kind, pk))


def _records(window: Window, kind: str, pk: int) -> Iterable[ChangeRecord]:
    return (
        ChangeRecord.objects.filter(
            tenant_id=window.tenant_id,
            subject_type=kind,
            subject_id=pk,
            at__gt=window.after,
            at__lte=window.until,
        )
        .select_related("text")
        .order_by("id")
    )


def _moved(record: ChangeRecord, lines: Iterable[str]) -> bool:
    """Whether a line that this act wrote or took away stands in one of these."""
    text = getattr(record, "text", None)
    changed = _lines(text.before) ^ _lines(text.after) if text else frozenset()
    return any(words in line for line in lines for words in changed)


def _lines(values: dict[str, object]) -> frozenset[str]:
    texts = (value for value in values.values() if isinstance(value, str))
    return frozenset(line.strip() for text in texts for line in text.splitlines() if line.strip())


def _cause(record: ChangeRecord) -> Cause:
    approver = record.actor_label if record.actor_role in PEOPLE else ""
    subject = f"{record.subject_type} {record.subject_id}"
    return Cause(record.act, subject, record.version_after, record.actor_label, approver, record.at)
