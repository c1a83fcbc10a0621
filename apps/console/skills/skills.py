"""Console admin of skills: the queue of drafts, the review page, approved skills, and the skill index of an agent.

The index is shown as the chosen agent's next session reads it.
"""

from dataclasses import dataclass
from typing import Any, Final

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from apps.console.explain.prompt_preview import slot_text
from apps.console.framework.change_lists import RecentValuesFilter, TabbedList
from apps.console.framework.forms import OptionalReasonForm, ReasonedDecisionForm, SkillApprovalForm
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import person_column
from apps.console.framework.page_actions import Button, CreateAction, EditAction, PanelReader, Tabs, as_mapping
from apps.console.framework.request_context import actor_of
from apps.console.review.decision_forms import RejectionForm
from apps.console.skills.skill_attachments import SkillFileForm, move_up
from apps.console.skills.skill_curation import CurationFilter
from apps.console.skills.skill_review import review_panels
from apps.governance.actors import Actor
from apps.governance.governed_write import may
from apps.governance.policy.policy_table import Act
from apps.governance.row_ids import parse_row_id
from apps.prompt.prompt_input import Slot
from apps.review.decisions import DecisionResult
from apps.review.skill_actions import approve_skill, reject_draft
from apps.skills.actions import (
    amend_skill,
    deprecate_skill,
    detach_file,
    discard_skill,
    draft_skill,
    retain_skill,
    revise_skill,
)
from apps.skills.models import Skill
from apps.skills.proposals import findings_in
from apps.skills.quarantine import quarantine_skill, release_skill
from apps.skills.retirement_rules import RETENTION_PERIOD
from apps.tenants.models import Agent

AGENT_PARAMETER: Final = "agent__id__exact"


@dataclass(frozen=True, slots=True)
class AgentSkillIndex:
    """The skill index: the part of the prompt that lists an agent's skills."""

    agent: Agent
    text: str

    @property
    def size(self) -> int:
        """The size in bytes."""
        return len(self.text.encode())


class SkillList(TabbedList):
    """The list of skills, by status."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """Return the rows; keep the actor, with whose rights the index is read where it is shown."""
        self.actor = actor_of(request)
        return super().get_queryset(request, exclude_parameters)

    def index(self) -> AgentSkillIndex | None:
        """Return the index of the chosen agent; None if no agent is chosen or it is not there."""
        chosen = self._chosen_agent_id()
        agent = Agent.objects.visible_to(self.actor).filter(pk=int(chosen)).first() if chosen else None
        return AgentSkillIndex(agent, slot_text(agent, Slot.SKILLS, self.actor)) if agent else None

    def of_agent(self) -> str:
        """Return the query string that limits an export to the chosen agent."""
        chosen = self._chosen_agent_id()
        return f"?agent={chosen}" if chosen else ""

    def has_any_to_export(self) -> bool:
        """Return whether there is anything to export; always true with a search, because a search does not limit the export."""
        return bool(self.query) or self.tallies[Skill.Status.APPROVED].found > 0

    def may_import(self) -> bool:
        """Return whether the reader may import drafts."""
        return may(self.actor, Act.SKILL_DRAFT)

    def _chosen_agent_id(self) -> str:
        chosen = str(self.params.get(AGENT_PARAMETER, ""))
        return "" if parse_row_id(chosen) is None else chosen


FIELDS = ("title", "name", "description", "category", "body")


def _draft(*, actor: Actor, agent: Agent, **texts: str) -> Skill:
    return draft_skill(agent.pk, actor=actor, values=texts)


def _approval_message(decided: DecisionResult) -> str:
    if decided.applied:
        return "Approved. The next session of this agent lists the skill."
    return "Approval noted. Its risk requires another reviewer; the skill reaches no customer until one has approved."


def _approval_initial(skill: Skill) -> dict[str, Any]:
    return {"reviewed_sha256": skill.content_sha256, "findings": findings_in(skill)}


def _is_draft(skill: Skill) -> bool:
    return bool(skill.status == Skill.Status.DRAFT) and not skill.is_quarantined


def _is_approved(skill: Skill) -> bool:
    return bool(skill.status == Skill.Status.APPROVED) and not skill.is_quarantined


def _is_quarantinable(skill: Skill) -> bool:
    return skill.status != Skill.Status.DEPRECATED and not skill.is_quarantined


def _is_quarantined(skill: Skill) -> bool:
    return skill.is_quarantined


def _never_as_button(skill: Skill) -> bool:
    """Return False: the form is shown beside each file, not among the decisions."""
    return False


def _skill_list_url(skill: Skill) -> str:
    return reverse("admin:skills_skill_changelist")


class SkillAdmin(GovernedAdmin):
    """Drafts to review, and the approved skills that agents use."""

    list_display = ("title", "agent", "status", "category", "author", "whose_words", "uses", "updated")
    list_filter = ("agent", ("category", RecentValuesFilter), CurationFilter)
    list_select_related = ("agent", "use")
    search_fields = ("name", "title", "description")
    search_help_text = "Search name, title or one-liner"
    tabs = Tabs("status", tuple(Skill.Status.choices), first=Skill.Status.DRAFT)
    changelist = SkillList
    list_before_template = "console/skills/skills_list_header.html"
    empty = (
        "No skill here. Drafts appear when a conversation with tool calls is resolved as solved, or add one by hand."
    )
    add_fields = ("agent", *FIELDS)
    fields = FIELDS
    change_form_template = "console/skills/skill.html"
    edit_label = "Edit the text"
    creates = CreateAction(Act.SKILL_DRAFT, _draft, add_fields)
    amends = (
        EditAction(Act.SKILL_AMEND, as_mapping(amend_skill), when=_is_draft),
        EditAction(Act.SKILL_REVISE, as_mapping(revise_skill), when=_is_approved),
    )
    panels = PanelReader(review_panels)
    buttons = (
        Button(
            "approve",
            "Approve",
            Act.SKILL_APPROVE,
            approve_skill,
            done=_approval_message,
            consequence="If you approve, the next session of agent {agent} lists this skill;"
            " sessions already open keep theirs.",
            form=SkillApprovalForm,
            initial=_approval_initial,
            when=_is_draft,
            tone="primary",
            folded=False,
        ),
        Button(
            "reject",
            "Reject",
            Act.PROPOSAL_REJECT,
            reject_draft,
            done="Rejected. The draft reaches no customer.",
            consequence="The draft reaches no customer. The agent is told the reason.",
            form=RejectionForm,
            when=_is_draft,
            tone="danger",
            leads_to=_skill_list_url,
            on_others=True,
        ),
        Button(
            "discard",
            "Discard",
            Act.SKILL_DISCARD,
            discard_skill,
            done="Discarded. The words stay in the history of changes.",
            consequence="The draft is removed, and its name becomes free. Its words stay in the history of changes.",
            form=OptionalReasonForm,
            when=_is_draft,
            leads_to=_skill_list_url,
        ),
        Button(
            "deprecate",
            "Deprecate",
            Act.SKILL_DEPRECATE,
            deprecate_skill,
            done="Deprecated. The next session of this agent no longer lists it.",
            consequence="The next session of agent {agent} no longer lists this skill. Only a restore to an earlier version"
            " makes it a draft again.",
            form=ReasonedDecisionForm,
            when=_is_approved,
            tone="danger",
        ),
        Button(
            "keep",
            "Keep",
            Act.SKILL_RETAIN,
            retain_skill,
            done=f"Kept. It is not suggested for retirement for {RETENTION_PERIOD.days} days.",
            consequence=f"Nothing changes for customers. The skill is not suggested for retirement for"
            f" {RETENTION_PERIOD.days} days.",
            form=ReasonedDecisionForm,
            when=_is_approved,
        ),
        Button(
            "detach",
            "Remove the file",
            Act.SKILL_DETACH,
            detach_file,
            done="Removed. Its bytes stay as long as the history refers to it.",
            form=SkillFileForm,
            when=_never_as_button,
            tone="danger",
        ),
        Button(
            "arrange",
            "Move the file up",
            Act.SKILL_ARRANGE,
            move_up,
            done="Moved. Clients that support only one attachment see the first file.",
            form=SkillFileForm,
            when=_never_as_button,
        ),
        Button(
            "quarantine",
            "Quarantine",
            Act.SKILL_QUARANTINE,
            quarantine_skill,
            done="In quarantine. No agent finds it any more, and open sessions drop it with their next turn.",
            consequence="No agent finds this skill any more until somebody releases it, and nobody can decide on it meanwhile."
            " Open sessions that list it get a new prompt with their next turn, which is written to the cache once.",
            form=ReasonedDecisionForm,
            when=_is_quarantinable,
            tone="danger",
        ),
        Button(
            "release",
            "Release",
            Act.SKILL_RELEASE,
            release_skill,
            done="Released with the status it had.",
            consequence="The skill is back in the status it had; an approved one serves agent {agent} again at once.",
            form=ReasonedDecisionForm,
            when=_is_quarantined,
        ),
    )

    author = person_column("Drafted by", "drafted_by")

    @admin.display(description="Times fetched", ordering="use__use_count")
    def uses(self, skill: Skill) -> int:
        use = getattr(skill, "use", None)
        return use.use_count if use else 0
