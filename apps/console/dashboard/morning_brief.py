"""Morning brief: what agents learned since a moment, what was quarantined or refused, who approved it, and how to undo it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

from django.apps import apps
from django.db.models import Case, Count, DateField, F, Q, QuerySet, Value, When, Window
from django.db.models.functions import Concat, RowNumber
from django.urls import reverse
from django.utils.text import capfirst

from apps.console.dashboard.daily_counts import DailyCounts
from apps.console.framework.form_errors import refusal_label
from apps.console.framework.row_urls import url_of_subject
from apps.governance.actors import Actor
from apps.governance.models import ChangeRecord, ChangeText, Refusal, Taint
from apps.governance.policy.policy_table import Act
from apps.restore.plan import RESTORABLE

LINES_SHOWN: Final = 5
REFUSED_PREFIX: Final = "refused: "
DERIVED_TAINTS: Final = (Taint.CUSTOMER.value, Taint.TOOL.value, Taint.IMPORT.value)


@dataclass(frozen=True, slots=True)
class BriefTopic:
    """One heading of the brief, with its acts and the sentence for a period without any."""

    title: str
    acts: tuple[Act, ...]
    quiet: str


TOPICS: Final[Mapping[str, BriefTopic]] = {
    "skills": BriefTopic(
        "Skills",
        (
            *(Act.SKILL_APPROVE, Act.SKILL_REVISE, Act.SKILL_DEPRECATE),
            *(Act.SKILL_UNDO, Act.SKILL_REDRAFT, Act.SKILL_RELEASE),
        ),
        "No skill was approved, revised or retired.",
    ),
    "versions": BriefTopic(
        "Learning versions",
        (
            Act.LEARNING_VERSION_APPLY,
            Act.LEARNING_VERSION_ACTIVATE,
            Act.LEARNING_VERSION_REJECT,
            Act.LEARNING_VERSION_RETIRE,
            Act.LEARNING_VERSION_RESTORE,
            Act.LEARNING_VERSION_WITHDRAW,
        ),
        "No version of what was learned was activated, retired or withdrawn.",
    ),
    "memory": BriefTopic(
        "Memory",
        (Act.MEMORY_AMEND, Act.MEMORY_APPROVE, Act.BLOCK_WRITE, Act.BLOCK_AMEND, Act.BLOCK_APPROVE),
        "No line of memory was let in or taken out.",
    ),
    "tiers": BriefTopic(
        "Distilled memory",
        (Act.TIER_DISTIL, Act.TIER_AMEND, Act.TIER_APPROVE, Act.TIER_CLEAR),
        "Nothing was distilled.",
    ),
    "rules": BriefTopic(
        "Rules and personas",
        (
            *(Act.RULE_ADD, Act.RULE_AMEND, Act.RULE_RETIRE, Act.RULE_RESTORE),
            *(Act.PERSONA_CREATE, Act.PERSONA_AMEND, Act.PERSONA_ARCHIVE, Act.PERSONA_ACTIVATE),
            *(Act.OVERLAY_WRITE, Act.IDENTITY_CARD_WRITE),
        ),
        "No rule and no persona was changed.",
    ),
    "held": BriefTopic(
        "Held apart",
        (Act.SKILL_QUARANTINE, Act.PROPOSAL_QUARANTINE),
        "Nothing was put in quarantine.",
    ),
}
# A decision is undone by the opposite decision, on the row's own page.
UNDONE_BY_DECISION: Final = frozenset({Act.SKILL_APPROVE, *TOPICS["versions"].acts, *TOPICS["held"].acts})
# For these topics the brief counts the lines added and dropped: their texts hold one fact on each line.
LINE_TOPICS: Final = ("memory", "tiers")


@dataclass(frozen=True, slots=True)
class BriefLine:
    """One change as the brief shows it."""

    record: ChangeRecord
    added: int = 0
    dropped: int = 0

    @property
    def subject(self) -> str:
        """The kind and name of the changed row; the name alone where it includes the kind."""
        kind, label = str(apps.get_model(self.record.subject_type)._meta.verbose_name), self.record.subject_label
        says_so = label.casefold().startswith((kind, kind.rpartition(" ")[2]))
        return str(capfirst(label if says_so else f"{kind} {label}"))

    @property
    def did(self) -> str:
        """The act as a past participle, such as "approved"."""
        return Act(self.record.act).past_participle

    @property
    def line_summary(self) -> str:
        """The number of lines added and dropped; empty if there are none."""
        if not (self.added or self.dropped):
            return ""
        return f", {self.added} line{'' if self.added == 1 else 's'} added, {self.dropped} dropped"

    @property
    def url(self) -> str:
        """The page of the change record, with the texts before and after."""
        return url_of_subject(ChangeRecord._meta.label_lower, self.record.pk)

    @property
    def subject_url(self) -> str:
        """The page of the changed row, if it is still there."""
        return "" if not self.record.version_after else url_of_subject(self.record.subject_type, self.record.subject_id)

    @property
    def proposer(self) -> str:
        """The author of the words, if the person who approved them is somebody else."""
        return str(self.record.evidence.get("proposed_by", ""))

    @property
    def undo_url(self) -> str:
        """The page that restores the version before, or the row's page with the opposite decision."""
        record, model = self.record, apps.get_model(self.record.subject_type)
        if record.version_before and model in RESTORABLE and record.act not in UNDONE_BY_DECISION:
            named = {"row": f"{record.subject_type}:{record.subject_id}", "version": record.version_before}
            return f"{reverse('admin:restore')}?{urlencode(named)}"
        return self.subject_url


@dataclass(frozen=True, slots=True)
class BriefSection:
    """A heading with its latest changes, and the number of all its changes."""

    topic: BriefTopic
    url: str
    count: int = 0
    derived: int = 0
    derived_url: str = ""
    lines: list[BriefLine] = field(default_factory=list)

    @property
    def is_cut(self) -> bool:
        """Whether there are more than are shown."""
        return self.count > len(self.lines)


@dataclass(frozen=True, slots=True)
class RefusalCount:
    """The number of refusals for one reason."""

    code: str
    count: int
    url: str

    @property
    def reason(self) -> str:
        """The code in words."""
        return refusal_label(self.code)


def brief_sections(actor: Actor, since: datetime) -> list[BriefSection]:
    """Return the changes since then by topic, read in two statements."""
    found: dict[str, list[Any]] = {name: [] for name in TOPICS}
    for record in _latest_changes(actor, since):
        found[record.topic].append(record)
    words = _line_changes([record.pk for name in LINE_TOPICS for record in found[name]])
    return [_section(TOPICS[name], records, words, since) for name, records in found.items()]


def refusal_counts(actor: Actor, since: datetime) -> QuerySet[Any, Any]:
    """Return the refusals since then counted by code, in the shape of the daily counts."""
    rows = Refusal.objects.filter(tenant_id=actor.tenant_id, created_at__gte=since).order_by()
    named = rows.values(
        name=Concat(Value(REFUSED_PREFIX), F("code")), on_day=Value(since.date(), output_field=DateField())
    )
    counts: QuerySet[Any, Any] = named.annotate(part=Count("pk"), whole=Value(0))
    return counts.values_list("name", "on_day", "part", "whole")


def commonest_refusals(found: DailyCounts, since: datetime) -> list[RefusalCount]:
    """Return the refusals since then by reason, the commonest first."""
    codes = {
        name.removeprefix(REFUSED_PREFIX): sum(part.values())
        for name, part in found.parts.items()
        if name.startswith(REFUSED_PREFIX)
    }
    path = refused_url(since)
    commonest = sorted(codes.items(), key=lambda counted: (-counted[1], counted[0]))
    return [RefusalCount(code, count, f"{path}&{urlencode({'code__exact': code})}") for code, count in commonest]


def refused_url(since: datetime) -> str:
    """Return the address of the list of refusals since then."""
    return f"{reverse('admin:governance_refusal_changelist')}?{_since_query(since)}"


def lines_changed(before: str, after: str) -> tuple[int, int]:
    """Return how many lines of a text were added and how many dropped; blank lines are ignored."""
    old, new = (Counter(filter(None, map(str.strip, text.splitlines()))) for text in (before, after))
    return (new - old).total(), (old - new).total()


def _latest_changes(actor: Actor, since: datetime) -> QuerySet[Any]:
    """Return the latest changes of each topic, each with the number of all changes of its topic."""
    acts = [act for topic in TOPICS.values() for act in topic.acts]
    topic = Case(*(When(act__in=topic.acts, then=Value(name)) for name, topic in TOPICS.items()))
    of_topic = partial(Window, partition_by=F("topic"))
    return (
        ChangeRecord.objects.filter(tenant_id=actor.tenant_id, created_at__gte=since, act__in=acts)
        .annotate(topic=topic)
        .annotate(
            place=of_topic(RowNumber(), order_by=F("id").desc()),
            total=of_topic(Count("*")),
            total_derived=of_topic(Count("pk", filter=Q(taint__in=DERIVED_TAINTS))),
        )
        .filter(place__lte=LINES_SHOWN)
        .order_by("-id")
    )


def _line_changes(record_ids: Iterable[int]) -> dict[int, tuple[int, int]]:
    texts = ChangeText.objects.filter(record_id__in=list(record_ids))
    text_rows: Iterator[tuple[int, str | None, str | None]] = texts.values_list(
        "record_id", "before__body", "after__body"
    ).iterator()
    return {record_id: lines_changed(before or "", after or "") for record_id, before, after in text_rows}


def _section(
    topic: BriefTopic, records: list[Any], words: Mapping[int, tuple[int, int]], since: datetime
) -> BriefSection:
    path = reverse("admin:governance_changerecord_changelist")
    acts = ",".join(topic.acts)
    return BriefSection(
        topic,
        f"{path}?{_since_query(since, act__in=acts)}",
        records[0].total if records else 0,
        records[0].total_derived if records else 0,
        f"{path}?{_since_query(since, act__in=acts, taint__in=','.join(DERIVED_TAINTS))}",
        [BriefLine(record, *words.get(record.pk, (0, 0))) for record in records],
    )


def _since_query(since: datetime, **narrowed: str) -> str:
    return urlencode({**narrowed, "created_at__gte": since.isoformat(timespec="seconds")})
