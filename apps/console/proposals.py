"""Proposals: what agents ask for, beside what stands now, and the yes or no to it."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from apps.console.deeds import Button, Tabs, Values
from apps.console.diffs import field_diffs
from apps.console.flags import flags
from apps.console.forms import Decision, PatchDecision, ReasonedDecision
from apps.console.governed_admin import GovernedAdmin
from apps.console.history import url_of_subject
from apps.console.panels import Panels
from apps.console.requests import actor_of
from apps.console.titles import title_of
from apps.governance.actions import reject_proposal
from apps.governance.actors import Actor
from apps.governance.errors import NotVisible
from apps.governance.models import Proposal
from apps.governance.policy import Act
from apps.personas.actions import apply_patch
from apps.personas.models import SECTIONS, Persona
from apps.skills.actions import apply_deprecation, apply_revision
from apps.skills.models import Skill

REVISED = ("name", "title", "description", "category", "body")


def proposal_panels(proposal: Any, request: HttpRequest) -> dict[str, Any]:
    """The target as it stands, and what would become of it."""
    actor = actor_of(request)
    target = _target(proposal, actor)
    return {
        "target": target,
        "target_url": url_of_subject(proposal.target_type, proposal.target_id),
        "base_moved": target is not None and target.sha256 != proposal.base_sha256,
        "diffs": _revision(proposal, target),
        "proposer": proposal.people[proposal.proposed_by],
        "decider": proposal.people[proposal.decided_by] if proposal.decided_by else "",
        "is_open": proposal.state == Proposal.State.OPEN,
        "conversation_url": _conversation(proposal),
        "flags": flags({name: text for name, text in proposal.content.items() if isinstance(text, str)}),
    }


def _target(proposal: Proposal, actor: Actor) -> Persona | Skill | None:
    if proposal.kind == Proposal.Kind.PERSONA_PATCH:
        return Persona.objects.visible_to(actor).filter(pk=proposal.target_id).first()
    return Skill.objects.visible_to(actor).filter(pk=proposal.target_id).first()


def _revision(proposal: Proposal, target: Persona | Skill | None) -> list[Any]:
    if proposal.kind != Proposal.Kind.SKILL_REVISION or target is None:
        return []
    live = {name: getattr(target, name) for name in REVISED}
    return field_diffs(live, live | proposal.content)


def _conversation(proposal: Proposal) -> str:
    conversation_id = proposal.evidence.get("conversation_id")
    return url_of_subject("conversations.conversation", conversation_id) if conversation_id else ""


def _skill(proposal: Proposal, actor: Actor) -> Skill:
    skill = Skill.objects.visible_to(actor).filter(pk=proposal.target_id).first()
    if skill is None:
        raise NotVisible("The skill this proposal is about is not there any more. Reject the proposal.")
    return skill


def _patch(proposal: Proposal, actor: Actor, said: Values) -> Persona:
    persona = Persona.objects.visible_to(actor).get(pk=proposal.target_id)
    sections = {name: said[name] for name in SECTIONS}
    return apply_patch(
        persona,
        actor=actor,
        proposal=proposal,
        values=sections,
        read_at=said["persona_version"],
        proposal_read_at=said["read_at"],
    )


def _live_sections(proposal: Proposal) -> dict[str, Any]:
    persona = Persona.objects.get(pk=proposal.target_id)
    return {"persona_version": persona.version, **{name: getattr(persona, name) for name in SECTIONS}}


def _revise(proposal: Proposal, actor: Actor, said: Values) -> Skill:
    skill, read_at = _skill(proposal, actor), said["read_at"]
    texts = proposal.content
    return apply_revision(
        skill, actor=actor, proposal=proposal, values=texts, read_at=skill.version, proposal_read_at=read_at
    )


def _deprecate(proposal: Proposal, actor: Actor, said: Values) -> Skill:
    skill, read_at = _skill(proposal, actor), said["read_at"]
    return apply_deprecation(skill, actor=actor, proposal=proposal, read_at=skill.version, proposal_read_at=read_at)


def _reject(proposal: Proposal, actor: Actor, said: Values) -> Proposal:
    return reject_proposal(proposal, actor=actor, reason=said["reason"], read_at=said["read_at"])


def _is_open(proposal: Proposal) -> bool:
    return bool(proposal.state == Proposal.State.OPEN)


def _is_patch(proposal: Proposal) -> bool:
    return _is_open(proposal) and proposal.kind == Proposal.Kind.PERSONA_PATCH


def _is_revision(proposal: Proposal) -> bool:
    return _is_open(proposal) and proposal.kind == Proposal.Kind.SKILL_REVISION


def _is_deprecation(proposal: Proposal) -> bool:
    return _is_open(proposal) and proposal.kind == Proposal.Kind.SKILL_DEPRECATION


class ProposalAdmin(GovernedAdmin):
    """Open proposals first; decided ones stay to be read."""

    list_display = ("title", "kind", "agent", "author", "support", "whose_words", "updated", "state")
    list_display_links = ("title",)
    list_filter = ("kind", "agent")
    list_select_related = ("agent",)
    search_fields = ("target_label", "proposed_by")
    search_help_text = "Search target or proposer"
    tabs = Tabs("state", tuple(Proposal.State.choices), first=Proposal.State.OPEN)
    empty = "Nothing waits here. Agents propose changes of personas and of approved skills; each needs your yes."
    fields = ()
    change_form_template = "console/proposal.html"
    panels = Panels(proposal_panels)
    buttons = (
        Button(
            "apply",
            "Apply",
            Act.PROPOSAL_APPLY,
            _patch,
            done="Applied. The agent's next session speaks by the new text.",
            consequence="The sections as they stand in these fields become live for the next session of agent {agent};"
            " sessions already open keep theirs.",
            form=PatchDecision,
            initial=_live_sections,
            when=_is_patch,
            tone="primary",
            folded=False,
        ),
        Button(
            "revise",
            "Apply",
            Act.PROPOSAL_APPLY,
            _revise,
            done="Applied. The next session fetches the new version.",
            consequence="The proposed version becomes the approved one, signed by you; the next session of agent {agent}"
            " uses it.",
            form=Decision,
            when=_is_revision,
            tone="primary",
            folded=False,
        ),
        Button(
            "deprecate",
            "Apply",
            Act.PROPOSAL_APPLY,
            _deprecate,
            done="Applied. The skill is deprecated.",
            consequence="The next session of agent {agent} no longer lists this skill. There is no way back.",
            form=Decision,
            when=_is_deprecation,
            tone="danger",
        ),
        Button(
            "reject",
            "Reject",
            Act.PROPOSAL_REJECT,
            _reject,
            done="Rejected. What is live stays as it is.",
            consequence="What is live stays as it is. The reason stays with the proposal.",
            form=ReasonedDecision,
            when=_is_open,
            tone="danger",
        ),
    )

    @admin.display(description="Proposal")
    def title(self, proposal: Proposal) -> str:
        return title_of(proposal)

    @admin.display(description="Proposed by", ordering="proposed_by")
    def author(self, proposal: Any) -> str:
        return str(proposal.people[proposal.proposed_by])

    @admin.display(description="Times asked for", ordering="support_count")
    def support(self, proposal: Proposal) -> int:
        return proposal.support_count
