"""Recurring edits: changes that people make in an agent's drafts again and again, with the drafts that show them (R138)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from operator import attrgetter
from typing import Any, Final

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from apps.console.framework.change_lists import TabbedList
from apps.console.framework.charts import Plot, stacked_plot
from apps.console.framework.forms import DecisionForm, OptionalReasonForm, ReasonedDecisionForm, VerbatimTextField
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import column
from apps.console.framework.page_actions import Button, PanelReader, Tabs
from apps.console.framework.row_titles import excerpt, format_moment
from apps.console.framework.row_urls import url_of_subject
from apps.console.framework.text_diffs import field_diffs
from apps.governance.database.actor_transaction import current_actor
from apps.governance.policy.policy_table import Act
from apps.learning.lessons.actions import dismiss_cluster, reopen_cluster
from apps.learning.lessons.edit_cluster_proposals import propose_cluster_rule, propose_skill_change, shared_skill
from apps.learning.lessons.models import MEMBERS_SHOWN, EditCluster, EditClusterCase
from apps.skills.models import Skill

Status = EditCluster.Status
WEEKS_SHOWN: Final = 12


@dataclass(frozen=True, slots=True)
class ClusterDraft:
    """A draft of the cluster, with the pages of the draft and its conversation."""

    happened_at: Any
    draft_id: int
    draft_url: str
    conversation_id: int | None
    conversation_url: str


class EditClusterList(TabbedList):
    """The list, with the number of drafts of each cluster."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """Return the rows with their counts, read in one statement."""
        rows: Any = super().get_queryset(request, exclude_parameters)  # Any: a noun's adjectives
        counted: QuerySet[Any] = rows.counted()
        return counted


class ProposeRuleForm(DecisionForm):
    """Approval to propose a rule; the product suggests its text, and the person may write another one."""

    rule = VerbatimTextField(
        required=False,
        label="The rule",
        max_length=1000,
        help_text="The line that a reviewer is shown. Change it, or write it where it is empty; never copy what a customer wrote.",
    )


def cluster_panels(cluster: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the drafts, the latest first, their number in each week, and the change in one of them."""
    members = list(cluster.latest_members)
    days = EditClusterCase.objects.filter(cluster=cluster).values_list("case__happened_at", flat=True)
    lesson = members[-1].case.lesson if members else None
    return {
        "members": [_cluster_draft(each) for each in members],
        "shown": MEMBERS_SHOWN,
        "support": len(days),
        "weeks": plot_by_week([each.date() for each in days], timezone.now().date()),
        "diffs": field_diffs({"reply": lesson.problem}, {"reply": lesson.correction}) if lesson else (),
        "behind": _cached_skill(cluster) if _is_open(cluster) else None,
        "proposal_url": url_of_subject("governance.proposal", cluster.proposal_id) if cluster.proposal_id else "",
    }


def plot_by_week(days: Sequence[date], today: date) -> Plot:
    """Plot the number of drafts in each of the last twelve weeks, labelled by their Mondays, the earliest first."""
    monday = today - timedelta(days=today.weekday())
    counts = Counter(day - timedelta(days=day.weekday()) for day in days)
    shown = [monday - timedelta(weeks=back) for back in reversed(range(WEEKS_SHOWN))]
    return stacked_plot(shown, [counts])


def _cluster_draft(member: EditClusterCase) -> ClusterDraft:
    case = member.case
    thread = case.conversation_id
    draft_url = url_of_subject("desk.draft", case.source_id)
    thread_url = url_of_subject("conversations.conversation", thread) if thread else ""
    return ClusterDraft(case.happened_at, case.source_id, draft_url, thread, thread_url)


def _cached_skill(cluster: Any) -> Skill | None:
    """Return the skill that all its drafts are based on, looked up once for its page."""
    if not hasattr(cluster, "behind"):
        actor = current_actor()
        cluster.behind = shared_skill(cluster, actor=actor) if actor else None
    found: Skill | None = cluster.behind
    return found


def _has_common_skill(cluster: EditCluster) -> bool:
    return _is_open(cluster) and _cached_skill(cluster) is not None


def _is_open(cluster: EditCluster) -> bool:
    return bool(cluster.status == Status.OPEN)


def _is_settled(cluster: EditCluster) -> bool:
    return not _is_open(cluster)


class EditClusterAdmin(GovernedAdmin):
    """Recurring edits: those that nobody has decided on come first."""

    list_display = ("said", "change_shown", "agent", "drafts", "first_seen", "last_seen", "state_shown")
    list_display_links = ("said",)
    list_filter = ("agent",)
    list_select_related = ("agent",)
    changelist = EditClusterList
    tabs = Tabs("status", tuple(Status.choices), first=Status.OPEN.value)
    empty = (
        "Nothing here. Once operators have changed three drafts of an agent in the same way, or discarded three for the same"
        " reason, it stands here within a minute."
    )
    fields = ()
    change_form_template = "console/learning/edit_cluster.html"
    panels = PanelReader(cluster_panels)
    buttons = (
        Button(
            "propose",
            "Propose a rule",
            Act.EDIT_CLUSTER_PROPOSE,
            propose_cluster_rule,
            done="Proposed. The rule waits in review, with these drafts as evidence.",
            consequence="A rule for this agent waits for a reviewer. Nothing changes for customers until somebody approves it.",
            form=ProposeRuleForm,
            initial=lambda cluster: {"rule": cluster.rule},
            when=_is_open,
            tone="primary",
            folded=False,
        ),
        Button(
            "propose_in_skill",
            "Propose as a change of the skill",
            Act.EDIT_CLUSTER_PROPOSE,
            propose_skill_change,
            done="Proposed. The next version of the skill waits in review, with these drafts as evidence.",
            consequence="The line joins the runbook that all these drafts stand on, as a version that waits for a reviewer.",
            form=ProposeRuleForm,
            initial=lambda cluster: {"rule": cluster.rule},
            when=_has_common_skill,
        ),
        Button(
            "dismiss",
            "Dismiss",
            Act.EDIT_CLUSTER_DISMISS,
            dismiss_cluster,
            done="Dismissed. It comes back only if three times as many drafts show it.",
            consequence="It stays away, however it grows, until three times as many drafts show it.",
            form=ReasonedDecisionForm,
            when=_is_open,
            tone="danger",
        ),
        Button(
            "reopen",
            "Look at it again",
            Act.EDIT_CLUSTER_REOPEN,
            reopen_cluster,
            done="Open again.",
            consequence="It stands among what nobody has decided on. A proposal that came of it stays where it is.",
            form=OptionalReasonForm,
            when=_is_settled,
        ),
    )

    said = column("What people do", attrgetter("sentence"), ordering="category")
    drafts = column("Drafts", attrgetter("support"))
    first_seen = column("First seen", lambda row: format_moment(row.first_seen_at))
    last_seen = column("Last seen", lambda row: format_moment(row.last_seen_at))

    @admin.display(description="For example")
    def change_shown(self, cluster: EditCluster) -> str:
        return (
            excerpt(" ".join(f"{sign} {words}" for sign, words in _signed_changes(cluster) if words)) or "whole drafts"
        )


def _signed_changes(cluster: EditCluster) -> tuple[tuple[str, str], ...]:
    return ("\N{MINUS SIGN}", cluster.removed_text), ("+", cluster.added_text)
