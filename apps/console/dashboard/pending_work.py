"""Pending work: every queue with its length, its oldest row and its filtered list, counted in one statement."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlencode

from django.db import connection
from django.db.models import Count, Min, Q, QuerySet, Value
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from apps.console.conversations.stuck_turns import STUCK_PARAMETER
from apps.console.framework.change_lists import TAB
from apps.console.framework.request_context import actor_of
from apps.console.review.inbox_filters import AGE, CLAIM, MINE, OVERDUE, claimed_by
from apps.desk.queues import waiting_drafts, waiting_escalations, waiting_reports
from apps.governance.actors import Actor
from apps.governance.models import Proposal
from apps.governance.models.base import refuse_unless_acting
from apps.kill_switches.models import KillSwitch
from apps.learning.contradictions.models import Contradiction
from apps.learning.lessons.models import EditCluster, LearningVersion
from apps.memory.models import MemoryTier
from apps.review.proposal_queues import OVERDUE_AFTER, overdue_condition
from apps.runtime.health.stuck_turns import RETRYING_FOR, stuck_turns
from apps.runtime.models import Turn
from apps.tenants.models import Agent
from apps.tools.models import ToolApproval

INBOX: Final = "governance_proposal_changelist"
_STATUS_PARAMETER: Final = "status__exact"
_CONVERSATIONS_VIEW: Final = "conversations_conversation_changelist"
_DAYS, _MINUTES = OVERDUE_AFTER.days, RETRYING_FOR.seconds // 60


@dataclass(frozen=True, slots=True)
class PendingQueue:
    """One queue of pending work, and the list filtered to it."""

    title: str
    view: str
    narrowed: tuple[tuple[str, str], ...] = ()
    count: int = 0
    oldest: datetime | None = None

    @property
    def url(self) -> str:
        """The address of the list of exactly these rows."""
        narrowed = urlencode(self.narrowed)
        return f"{reverse(f'admin:{self.view}')}{f'?{narrowed}' if narrowed else ''}"


# In the order in which they are shown: first what this person has claimed, then what customers wait for.
QUEUES: Final[Mapping[str, PendingQueue]] = {
    "mine": PendingQueue("Reviews you are looking at", INBOX, ((CLAIM, MINE),)),
    "drafts": PendingQueue("Reply drafts", "desk_draft_changelist", ((TAB, "open"),)),
    "escalations": PendingQueue("Escalations", "desk_escalation_changelist", ((TAB, "open"),)),
    "reports": PendingQueue("Reported replies", "desk_report_changelist", ((TAB, "open"),)),
    "calls": PendingQueue("Calls to approve", "tools_toolapproval_changelist", ((TAB, "waiting"),)),
    "retried": PendingQueue(
        f"Turns tried again for {_MINUTES} minutes or more", _CONVERSATIONS_VIEW, ((STUCK_PARAMETER, "retried"),)
    ),
    "lease_expired": PendingQueue(
        "Turns whose worker is gone", _CONVERSATIONS_VIEW, ((STUCK_PARAMETER, "lease_expired"),)
    ),
    "blocked": PendingQueue(
        "Turns that wait for a switch, a budget or an endpoint", _CONVERSATIONS_VIEW, ((STUCK_PARAMETER, "blocked"),)
    ),
    "overdue": PendingQueue(f"Reviews that wait for more than {_DAYS} days", INBOX, ((AGE, OVERDUE),)),
    "reviews": PendingQueue("Reviews in all", INBOX),
    "contradictions": PendingQueue("Contradictions", "learning_contradiction_changelist", ((TAB, "open"),)),
    "versions": PendingQueue("Learning versions", "learning_learningversion_changelist", ((TAB, "pending"),)),
    "tiers": PendingQueue(
        "Distilled memory that waits for a first yes", "memory_memorytier_changelist", ((_STATUS_PARAMETER, "pending"),)
    ),
    "edits": PendingQueue("Edits that repeat", "learning_editcluster_changelist", ((TAB, "open"),)),
}
# Counted in the same statement, and shown elsewhere.
NEW_SKILLS, OTHER_PROPOSALS, AGENTS, SWITCHES = "new_skills", "others", "agents", "switches"


@dataclass(frozen=True, slots=True)
class PendingCounts:
    """The number of pending rows in each queue, for one person."""

    counts: Mapping[str, tuple[int, datetime | None]]

    def count(self, name: str) -> int:
        """Return how many rows are in one queue."""
        return self.counts[name][0]

    def queues(self) -> Iterator[PendingQueue]:
        """Yield the queues that are not empty."""
        for name, queue in QUEUES.items():
            count, oldest = self.counts[name]
            if count:
                yield PendingQueue(queue.title, queue.view, queue.narrowed, count, oldest)


def pending_counts(request: HttpRequest) -> PendingCounts:
    """Return the pending work of the signed-in person, counted once per request."""
    if not hasattr(request, "awaiting"):
        request.awaiting = _read_counts(actor_of(request), timezone.now())  # type: ignore[attr-defined]  # of this module alone
    known: PendingCounts = request.awaiting  # type: ignore[attr-defined]  # set above
    return known


@dataclass(frozen=True, slots=True)
class CountQuery:
    """The counting statement for one person, as Django compiled it at one moment."""

    sql: str
    parameters: tuple[Any, ...]  # Any: what a column is compared with
    written_at: datetime

    def parameters_at(self, now: datetime) -> tuple[Any, ...]:
        """Return the parameters for another moment: each time among them is shifted by the time since the compilation."""
        later = now - self.written_at
        return tuple(each + later if isinstance(each, datetime) else each for each in self.parameters)


def write_count_query(actor: Actor, now: datetime) -> CountQuery:
    """Compile the statement that counts all queues."""
    first, *others = (_count_queue(name, *each) for name, each in _queue_rows(actor, now).items())
    sql, parameters = first.union(*others, all=True).query.sql_with_params()
    return CountQuery(sql, tuple(parameters), now)


@lru_cache(maxsize=256)
def _count_query_of(actor: Actor) -> CountQuery:
    """Return the compiled statement, which depends on the actor alone; compiling it takes a third of a page's time."""
    return write_count_query(actor, timezone.now())


def _read_counts(actor: Actor, now: datetime) -> PendingCounts:
    refuse_unless_acting(actor)
    query = _count_query_of(actor)
    with connection.cursor() as cursor:
        cursor.execute(query.sql, query.parameters_at(now))
        return PendingCounts({name: (count, oldest) for name, count, oldest in cursor.fetchall()})


def _queue_rows(actor: Actor, now: datetime) -> dict[str, tuple[QuerySet[Any], str]]:
    """Return the rows of each queue, and the column with the moment since which they wait."""
    reviews, since = Proposal.objects.visible_to(actor).waiting(now), "created_at"
    turns = Turn.objects.filter(tenant_id=actor.tenant_id, conversation__member_user_id=None)
    new_skill = Q(kind=Proposal.Kind.SKILL_NEW)
    return {
        "mine": (reviews.filter(claimed_by(actor, now)), "claimed_at"),
        "drafts": (waiting_drafts(actor), since),
        "escalations": (waiting_escalations(actor), since),
        "reports": (waiting_reports(actor), since),
        "calls": (ToolApproval.objects.visible_to(actor).waiting(), since),
        **{name: (turns.filter(which), "started_at") for name, which in stuck_turns(now).items()},
        "overdue": (reviews.filter(overdue_condition(now)), since),
        "reviews": (reviews, since),
        NEW_SKILLS: (reviews.filter(new_skill), since),
        OTHER_PROPOSALS: (reviews.exclude(new_skill), since),
        "contradictions": (Contradiction.objects.visible_to(actor).open(), since),
        "versions": (LearningVersion.objects.visible_to(actor).pending(), since),
        "tiers": (MemoryTier.objects.visible_to(actor).filter(status=MemoryTier.Status.PENDING), since),
        "edits": (EditCluster.objects.visible_to(actor).filter(status=EditCluster.Status.OPEN), since),
        AGENTS: (Agent.objects.visible_to(actor), since),
        SWITCHES: (KillSwitch.objects.visible_to(actor).on(), since),
    }


def _count_queue(name: str, rows: QuerySet[Any], since: str) -> QuerySet[Any, Any]:
    named = rows.order_by().values(queue=Value(name))
    counted: QuerySet[Any, Any] = named.annotate(count=Count("pk"), oldest=Min(since))
    return counted.values_list("queue", "count", "oldest")
