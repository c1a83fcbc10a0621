"""The inbox of proposals: its queues, its filters, and the next proposal for a reviewer to read."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.contrib.admin import RelatedFieldListFilter
from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils import timezone

from apps.console.framework.change_lists import ALL, TAB, FixedChoicesFilter, TabbedList
from apps.console.framework.page_actions import Tab
from apps.console.framework.request_context import actor_of, people_of
from apps.console.review.saved_filters import SavedFilterPanel, canonical_query, saved_filter_panel
from apps.governance.actors import Actor
from apps.governance.governed_write import may
from apps.governance.models import Approval, Governed, Proposal, ProposalQuerySet
from apps.governance.policy.policy_table import Act
from apps.governance.proposals.actions import UNDO_WITHIN
from apps.learning.extraction.models import Extraction
from apps.review.models import Comment
from apps.review.proposal_queues import (
    LABELS,
    OVERDUE_AFTER,
    claimed_condition,
    overdue_condition,
    queue_conditions,
    rebase_condition,
)

InboxKind = Proposal.Kind
KIND, OTHER = "kind", "other"
AGE, OVERDUE = "age", "overdue"
CLAIM, MINE = "claim", "mine"
LIVE_TEXT = "live_text"
WAITING = "waiting"
UNDOABLE_SHOWN = 3
# So many waiting proposals of one agent fill most of a page of the list.
FLOOD_FROM: Final = 20
FLOODS_SHOWN: Final = 3
EMPTY_QUEUE_TEXTS = {
    "snoozed": "Nothing is put off. What somebody puts off until later stands here, and comes back by itself.",
    "needs_second_reviewer": "Nothing waits for a second reviewer. What one has approved and another has to approve stands here.",
    "needs_rebase": "Nothing needs a rebase. A proposal whose live text has changed since it was proposed is listed here.",
    "decided": "Nothing has been decided yet. What is approved or rejected stays here: who decided, when and why.",
    "expired": "Nothing has expired. What nobody decides on in time closes by itself, and can be reopened from here.",
    "quarantined": "Nothing is held apart. What somebody quarantines stands here until it is released.",
}


class Inbox(TabbedList):
    """The list of proposals: queues overlap, so each is counted by its own condition."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """Return the proposals of the queue."""
        every: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        self.queues = queue_conditions(timezone.now())
        self.request = request
        asked = request.GET.get(TAB) or WAITING
        self.tab = asked if asked in self.queues else ALL
        within = every if self.tab == ALL else every.filter(self.queues[self.tab])
        rows: QuerySet[Any] = within.annotate(
            comment_count=Coalesce(Subquery(_comment_counts()), 0),
            seconded=LATER_SUPPORT,
            needs_rebase=rebase_condition(),
        )
        return rows

    def is_tab(self, name: str) -> bool:
        """Return whether a queue has this name."""
        return name == ALL or name in LABELS

    def divided(self) -> dict[str, QuerySet[Any]]:
        """Return the proposals of each queue."""
        return {name: self.untabbed.filter(within) for name, within in self.queues.items()}

    def tabs(self) -> Iterator[Tab]:
        """Yield every queue with its length."""
        for name, label in (*LABELS.items(), (ALL, "All")):
            yield Tab(label, self.tallies[name], self.get_query_string({TAB: name}, ["p"]), name == self.tab)

    @property
    def empty(self) -> str:
        """The text of a queue without proposals."""
        return EMPTY_QUEUE_TEXTS.get(self.tab, super().empty)

    @property
    def is_narrowed(self) -> bool:
        """Whether the list is filtered by more than the menu item that leads to it."""
        of_the_menu = {KIND} if self.params.get(KIND) in {InboxKind.SKILL_NEW.value, OTHER} else set()
        return bool(self.query or self.get_filters_params().keys() - of_the_menu)

    def undoable(self) -> list[Proposal]:
        """Return the decisions that the reader may still undo."""
        return undoable_proposals(actor_of(self.request))

    def shelf(self) -> SavedFilterPanel:
        """Return the filters that the reader saved, and those that others share."""
        return saved_filter_panel(self.request, self.list_display)

    @property
    def bulk_query(self) -> str:
        """The query string of this list, by which the page of a bulk decision finds its rows again."""
        return canonical_query(self.request.GET, self.list_display) or f"{TAB}={WAITING}"

    def floods(self) -> list["AgentFlood"]:
        """Return the agents with the most waiting proposals, if these are so many that they hide the others."""
        return agent_floods(self.request)

    @property
    def has_open(self) -> bool:
        """Whether any row can be ticked."""
        return any(row.is_open for row in self.result_list)


def _later_support_count() -> QuerySet[Any]:
    """Count the later conversations that an extraction added as support to a pending draft."""
    found = Extraction.objects.filter(verdict=Extraction.Verdict.SUPPORTS, skill=OuterRef("target_id")).order_by()
    return found.values("skill").annotate(count=Count("pk")).values("count")


# These come from the extractions, not from the proposal, so the proposal does not change while somebody reads it.
LATER_SUPPORT: Final = Case(
    When(kind=InboxKind.SKILL_NEW, then=Coalesce(Subquery(_later_support_count()), 0)), default=0
)
# Whether a proposal needs a rebase, to sort by.
REBASE_ORDER: Final = Case(When(rebase_condition(), then=1), default=0)
# The evidence for a proposal, to sort by.
EVIDENCE_COUNT: Final = F("support_count") + LATER_SUPPORT


def _comment_counts() -> QuerySet[Any]:
    """Count the comments on each proposal."""
    comments = Comment.objects.standing().filter(proposal=OuterRef("pk")).order_by()
    return comments.values("proposal").annotate(count=Count("pk")).values("count")


@dataclass(frozen=True, slots=True)
class AgentFlood:
    """An agent with many waiting proposals, and the query string of the list that holds only these."""

    agent: str
    count: int
    query: str


def agent_floods(request: HttpRequest) -> list[AgentFlood]:
    """Return the agents with at least `FLOOD_FROM` waiting proposals, those with the most first."""
    per_agent = waiting_proposals(actor_of(request)).exclude(agent=None).order_by().values("agent", "agent__key")
    counted = per_agent.annotate(count=Count("pk")).filter(count__gte=FLOOD_FROM).order_by("-count", "agent")
    return [
        AgentFlood(row["agent__key"], row["count"], f"agent__id__exact={row['agent']}&{TAB}={WAITING}")
        for row in counted[:FLOODS_SHOWN]
    ]


class KindFilter(FixedChoicesFilter):
    """Filter by kind: new skills are many, so all other proposals can be read without them."""

    title = "kind"
    parameter_name = KIND

    offered = ((OTHER, "All but new skills"), *InboxKind.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the proposals of the kind."""
        if self.value() is None:
            return queryset
        return (
            queryset.exclude(kind=InboxKind.SKILL_NEW) if self.value() == OTHER else queryset.filter(kind=self.value())
        )


class AgentFilter(RelatedFieldListFilter):
    """Filter by agent; the names come from the names that the page has read already."""

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> Any:
        """Return every agent of the tenant as number and key."""
        return people_of(request).agents()


class ClaimFilter(FixedChoicesFilter):
    """Filter by claim."""

    title = "claim"
    parameter_name = CLAIM

    offered = ((MINE, "Claimed by me"), ("none", "Claimed by nobody"))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the proposals with such a claim."""
        looked_at = claimed_condition(timezone.now())
        if self.value() == MINE:
            return queryset.filter(claimed_by(actor_of(request), timezone.now()))
        return queryset.exclude(looked_at) if self.value() == "none" else queryset


class AgeFilter(FixedChoicesFilter):
    """Filter by age."""

    title = "age"
    parameter_name = AGE

    offered = ((OVERDUE, f"Older than {OVERDUE_AFTER.days} days"),)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the proposals of that age."""
        return queryset.filter(overdue_condition(timezone.now())) if self.value() == OVERDUE else queryset


class RebaseFilter(FixedChoicesFilter):
    """Filter by the live text: whether it changed since the proposal was bound to it."""

    title = "live text"
    parameter_name = LIVE_TEXT

    offered = (("changed", "Changed since: needs a rebase"), ("unchanged", "Unchanged"))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the proposals that need a rebase, or all others."""
        if self.value() is None:
            return queryset
        return (
            queryset.filter(rebase_condition()) if self.value() == "changed" else queryset.exclude(rebase_condition())
        )


def waiting_proposals(actor: Actor) -> ProposalQuerySet:
    """Return the proposals that wait for a person now."""
    return Proposal.objects.visible_to(actor).waiting(timezone.now())


def claimed_by(actor: Actor, now: datetime) -> Q:
    """Return the condition for proposals that this person has claimed."""
    return claimed_condition(now) & Q(claimed_by_id=actor.user_id)


def next_to_decide(actor: Actor) -> ProposalQuerySet:
    """Return the waiting proposals: first those this person has claimed, then the oldest."""
    mine = claimed_by(actor, timezone.now())
    return (
        waiting_proposals(actor).annotate(is_mine=Case(When(mine, then=True), default=False)).order_by("-is_mine", "pk")
    )


def open_proposals_about(row: Governed, actor: Actor) -> ProposalQuerySet:
    """Return the open proposals about a row, snoozed or not."""
    return Proposal.objects.visible_to(actor).open().about(row).select_related("agent")


def next_waiting_proposal(after: Proposal, actor: Actor) -> Proposal | None:
    """Return the next proposal down the list, then from its top; skip those that only others may decide or have claimed."""
    agreed = Approval.objects.filter(
        proposal=OuterRef("pk"), user_label=actor.label, content_sha256=OuterRef("content_sha256")
    )
    other_claims = claimed_condition(timezone.now()) & ~Q(claimed_by_id=actor.user_id)
    rows = waiting_proposals(actor).exclude(pk=after.pk).exclude(other_claims).filter(~Exists(agreed))
    # A removed proposal has no place in the list.
    beyond = rows.filter(pk__lt=after.pk).first() if after.pk else None
    return beyond or rows.first()


def undoable_proposals(actor: Actor) -> list[Proposal]:
    """Return the proposals that this person applied less than a minute ago and may undo, the latest first."""
    if not may(actor, Act.PROPOSAL_UNDO):
        return []
    since = timezone.now() - UNDO_WITHIN
    rows = Proposal.objects.visible_to(actor).filter(
        state=Proposal.State.APPLIED, decided_by_id=actor.user_id, decided_at__gt=since
    )
    return list(rows.order_by("-decided_at")[:UNDOABLE_SHOWN])
