"""The inbox feed, in the order of the audit chain: ids, kinds, states and versions of changed items, never their words.

A cursor holds a link's position and the beginning of its hash. This detects a cursor of another tenant, or one from before a
restore.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Self

from django.db.models import QuerySet
from django.utils import timezone

from apps.desk.models import Draft, Escalation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import AuditLink, ChangeRecord, Governed, Proposal
from apps.governance.policy.policy_table import Act
from apps.tenants.authentication.actor_resolution import system_actor

# A client that is further behind reads the whole inbox again, which is less work than reading every change.
MOST_FEED_LINKS: Final = 2_000
HASH_CHARACTERS: Final = 8
_CURSOR_PATTERN: Final = re.compile(r"(0|[1-9][0-9]{0,17})-([0-9a-f]{8})?", re.ASCII)
MODELS_BY_LABEL: Final[Mapping[str, type[Governed]]] = {
    model._meta.label_lower: model for model in (Proposal, Draft, Escalation)
}


class FeedEventKind(StrEnum):
    """What happened to an inbox item."""

    APPEARED = "appeared"
    REVISED = "revised"
    CLOSED = "closed"


_APPEARING_ACTS: Final = frozenset({Act.PROPOSAL_REOPEN, Act.PROPOSAL_UNDO, Act.PROPOSAL_RELEASE})
_CLOSING_ACTS: Final = frozenset(
    {
        *(Act.DRAFT_SUPERSEDE, Act.DRAFT_SEND, Act.DRAFT_SEND_EDITED, Act.DRAFT_DISCARD),
        *(Act.ESCALATION_ANSWER, Act.ESCALATION_DISMISS),
        *(Act.PROPOSAL_APPLY, Act.PROPOSAL_REJECT, Act.PROPOSAL_QUARANTINE, Act.PROPOSAL_EXPIRE, Act.PROPOSAL_WITHDRAW),
    }
)


@dataclass(frozen=True, slots=True)
class InboxFeedCursor:
    """A position in the feed, which is a link of the tenant's audit chain. The hash is empty before the first link."""

    position: int = 0
    beginning: str = ""

    def __str__(self) -> str:
        return f"{self.position}-{self.beginning}"

    @classmethod
    def read(cls, value: str) -> Self | None:
        """Parse the text of a cursor; None if it is malformed."""
        found = _CURSOR_PATTERN.fullmatch(value)
        if found is None or (found[1] == "0") != (found[2] is None):
            return None
        return cls(int(found[1]), found[2] or "")

    @classmethod
    def of(cls, link: AuditLink) -> Self:
        """Return the cursor right after this link."""
        return cls(link.position, link.sha256[:HASH_CHARACTERS])


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One change of an inbox item. `proposers` are the ids of the agents that wrote the item, if its row was withdrawn."""

    mark: InboxFeedCursor
    subject: str
    row_id: int
    happened: FeedEventKind
    version: int
    is_gone: bool = False
    proposers: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class FeedPage:
    """The entries after a cursor, and the cursor after the last of them."""

    entries: Sequence[FeedEntry]
    mark: InboxFeedCursor


@dataclass(frozen=True, slots=True)
class FeedItem:
    """An entry in the form that is sent to an actor who may see it."""

    mark: InboxFeedCursor
    noun: str
    about: Mapping[str, object]


def newest_cursor(tenant_id: int) -> InboxFeedCursor:
    """Return the cursor at the end of the tenant's chain."""
    with acting_as(system_actor(tenant_id)):
        last = AuditLink.objects.filter(tenant_id=tenant_id).order_by("-position").first()
        return InboxFeedCursor.of(last) if last else InboxFeedCursor()


def read_feed_page(tenant_id: int, mark: InboxFeedCursor) -> FeedPage | None:
    """Return all entries of the tenant after a cursor, or None if there are too many or the cursor is of another chain."""
    with acting_as(system_actor(tenant_id)):
        chain = AuditLink.objects.filter(tenant_id=tenant_id).order_by("position")
        links = list(chain.filter(position__gte=mark.position)[: MOST_FEED_LINKS + 2])
        if mark.position:
            stands = bool(links) and InboxFeedCursor.of(links[0]) == mark
            links = links[1:]
            if not stands:
                return None
        if len(links) > MOST_FEED_LINKS:
            return None
        return FeedPage(list(_entries(tenant_id, links)), InboxFeedCursor.of(links[-1]) if links else mark)


def items_visible_to(entries: Collection[FeedEntry], actor: Actor) -> list[FeedItem]:
    """Return the entries that the actor may see: all of the tenant's for a person, only its own for an agent."""
    with acting_as(actor):
        there = {name: _visible_rows(model, entries, actor) for name, model in MODELS_BY_LABEL.items()}
        return [item for entry in entries if (item := _feed_item(entry, there[entry.subject], actor)) is not None]


def waiting_counts(actor: Actor) -> Mapping[str, int]:
    """Return the numbers of pending proposals, drafts and escalations that the actor may see."""
    with acting_as(actor):
        return {
            "proposals": _only_own_rows(Proposal.objects.visible_to(actor).waiting(timezone.now()), actor).count(),
            "drafts": _only_own_rows(Draft.objects.visible_to(actor).open(), actor).count(),
            "escalations": _only_own_rows(Escalation.objects.visible_to(actor).open(), actor).count(),
        }


def _entries(tenant_id: int, links: Sequence[AuditLink]) -> Iterator[FeedEntry]:
    marks = {link.entry_id: InboxFeedCursor.of(link) for link in links if link.entry_type == AuditLink.EntryType.CHANGE}
    of_tenant = ChangeRecord.objects.filter(tenant_id=tenant_id, subject_type__in=MODELS_BY_LABEL)
    records = sorted(of_tenant.filter(pk__in=marks), key=lambda record: marks[record.pk].position)
    there = {name: _existing_ids(model, records) for name, model in MODELS_BY_LABEL.items() if records}
    for record in records:
        is_gone = record.subject_id not in there[record.subject_type]
        yield FeedEntry(
            mark=marks[record.pk],
            subject=record.subject_type,
            row_id=record.subject_id,
            happened=event_kind(record),
            version=record.version_after,
            is_gone=is_gone,
            proposers=_proposers(record) if is_gone else frozenset(),
        )


def _proposers(record: ChangeRecord) -> frozenset[int]:
    """Return the ids of the agents that wrote a deleted row, from the row's change records."""
    of_row = ChangeRecord.objects.filter(tenant_id=record.tenant_id, subject_type=record.subject_type)
    agents = of_row.filter(subject_id=record.subject_id, agent_id__isnull=False).order_by()
    return frozenset(agent_id for agent_id in agents.values_list("agent_id", flat=True).distinct() if agent_id)


def event_kind(record: ChangeRecord) -> FeedEventKind:
    """Return what a change record means for the inbox: the item appeared, was revised, or was closed."""
    act = Act(record.act)
    if act in _CLOSING_ACTS:
        return FeedEventKind.CLOSED
    return FeedEventKind.APPEARED if act in _APPEARING_ACTS or not record.version_before else FeedEventKind.REVISED


def _existing_ids(model: type[Governed], records: Sequence[ChangeRecord]) -> set[int]:
    ids = {record.subject_id for record in records if record.subject_type == model._meta.label_lower}
    rows: QuerySet[Any] = model._default_manager.filter(pk__in=ids)
    return set(rows.values_list("pk", flat=True))


def _only_own_rows(rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
    """Restrict an agent to its own rows.

    It may also read some proposals of others about shared rules, which its feed leaves out.
    """
    return rows if actor.is_person else rows.filter(agent=actor.agent_id)


def _visible_rows(model: type[Governed], entries: Collection[FeedEntry], actor: Actor) -> Mapping[int, Any]:
    ids = {entry.row_id for entry in entries if entry.subject == model._meta.label_lower and not entry.is_gone}
    visible: QuerySet[Any] = model.objects.visible_to(actor)
    return {row.pk: row for row in _only_own_rows(visible.filter(pk__in=ids), actor)} if ids else {}


def _feed_item(entry: FeedEntry, rows: Mapping[int, Any], actor: Actor) -> FeedItem | None:
    noun = MODELS_BY_LABEL[entry.subject].noun
    about = {"id": entry.row_id, "change": entry.happened.value, "version": entry.version}
    if entry.is_gone:
        is_theirs = actor.is_person or actor.agent_id in entry.proposers
        return FeedItem(entry.mark, noun, {**about, "state": "withdrawn"}) if is_theirs else None
    row = rows.get(entry.row_id)
    if row is None:
        return None
    if isinstance(row, Proposal):
        of_kind = {"kind": row.kind, "state": row.state, "agent_id": row.agent_id}
        return FeedItem(entry.mark, noun, {**about, **of_kind})
    of_thread = {"state": row.status, "agent_id": row.agent_id, "conversation_id": row.conversation_id}
    return FeedItem(entry.mark, noun, {**about, **of_thread})
