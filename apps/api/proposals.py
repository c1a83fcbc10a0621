"""Proposals: what agents may not do themselves, waiting for a person to apply or reject it."""

from collections.abc import Callable, Mapping

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import ChoiceField

from apps.api.bodies import Body, Number, Sent, Text
from apps.api.filters import AgentFilters, CharFilter, ChoiceFilter, IdFilter
from apps.api.moves import refuse_unreachable
from apps.api.rows import STAMPS, Shown, agent_key
from apps.api.versions import Versioned
from apps.governance.actions import reject_proposal
from apps.governance.actors import ANYWHERE, Actor
from apps.governance.door import authorize, refuse_stale
from apps.governance.errors import NotPermitted, NotVisible
from apps.governance.models import Proposal
from apps.governance.policy import Act
from apps.governance.receipts import receipt_of
from apps.personas.actions import apply_patch
from apps.personas.models import SECTIONS, Persona
from apps.skills.actions import apply_deprecation, apply_revision
from apps.skills.models import Skill
from apps.tenants.models import Tenant


class ProposalRow(Shown[Proposal]):
    """A change that waits, or what became of it."""

    agent_key = agent_key()

    class Meta:
        model = Proposal
        fields = (
            "id",
            "agent_key",
            "kind",
            "state",
            "target_type",
            "target_id",
            "target_label",
            "base_sha256",
            "content",
            "rationale",
            "evidence",
            "support_count",
            "proposed_by",
            "decided_by",
            "decided_at",
            "decision_reason",
            *STAMPS,
            "ignored_fields",
        )
        read_only_fields = fields


class ProposalMove(Body):
    """What a person decided. A persona's patch is free text: the sections it comes to are sent along."""

    to = ChoiceField(Proposal.State.choices)
    identity = Text(required=False)
    style = Text(required=False)  # type: ignore[assignment]  # of the same name in DRF: a dict for HTML forms
    avoid = Text(required=False)
    defaults = Text(required=False)
    goals = Text(required=False)
    target_version = Number(required=False, help_text="The persona's version that stood beside the proposal.")
    version = Number(required=False, help_text="The proposal's version that was read; applied needs it.")
    reason = Text(required=False)


class ProposalFilters(AgentFilters):
    """By agent, kind, state and target."""

    kind = ChoiceFilter(choices=Proposal.Kind.choices)
    state = ChoiceFilter(choices=Proposal.State.choices)
    target_type = CharFilter(help_text="personas.persona or skills.skill.")
    target_id = IdFilter()


class ProposalView(Versioned[Proposal]):
    """Proposals of the tenant's agents; an agent sees its own."""

    queryset = Proposal.objects.none()
    serializer_class = ProposalRow
    filterset_class = ProposalFilters

    def get_queryset(self) -> QuerySet[Proposal]:
        """Those the actor sees; the one that is decided on is held, so that its agent cannot revise it meanwhile."""
        seen = Proposal.objects.visible_to(self.actor).select_related("agent")
        return seen.select_for_update(of=("self",), no_key=True) if self.action == "transition" else seen

    @extend_schema(responses=OpenApiTypes.OBJECT)
    @action(detail=True, methods=["get"])
    def receipt(self, request: Request, pk: str) -> Response:
        """What was decided, by whom and when, and where it stands in the audit chain. For people, once it is decided."""
        del request, pk
        if not self.actor.is_person:
            raise NotPermitted("Only people may read this; an agent's token does not reach it.")
        tenant_key = Tenant.objects.values_list("key", flat=True).get(pk=self.actor.tenant_id)
        return Response(receipt_of(self.get_object().pk, tenant_key=tenant_key, actor=self.actor))

    @extend_schema(request=ProposalMove, responses=ProposalRow)
    @action(detail=True, methods=["post"])
    def transition(self, request: Request, pk: str) -> Response:
        """Apply or reject. People only."""
        del pk
        authorize(self.actor, Act.PROPOSAL_APPLY, self.actor.tenant_id, agent_id=ANYWHERE)
        proposal = self.get_object()
        sent = ProposalMove.read(request, self.actor, proposal)
        refuse_stale(proposal, sent.read_at)
        decide(proposal, sent, actor=self.actor)
        return self.answer(proposal.pk)


def decide(proposal: Proposal, sent: Sent, *, actor: Actor) -> None:
    """Carry out what a person decided about a proposal."""
    refuse_unreachable(proposal, "state", sent.values["to"])
    reason = sent.values.get("reason", "")
    if sent.values["to"] == Proposal.State.APPLIED:
        _refuse_unread(sent)
        _APPLY[Proposal.Kind(proposal.kind)](proposal, sent, actor)
    elif reason.strip():
        reject_proposal(proposal, actor=actor, reason=reason, read_at=sent.read_at)
    else:
        raise ValidationError({"reason": ["Say why; the reason stays with the proposal."]})


def _refuse_unread(sent: Sent) -> None:
    if sent.read_at is None:
        raise ValidationError({"version": ["Say which text you read: send the version of the proposal you decide on."]})


def _apply_patch(proposal: Proposal, sent: Sent, actor: Actor) -> None:
    persona = Persona.objects.visible_to(actor).filter(pk=proposal.target_id).first()
    if persona is None:
        raise NotVisible("The persona this proposal is about is gone.")
    sections = sent.only(*SECTIONS)
    if not sections:
        raise ValidationError(f"Send the sections as the patch changes them: any of {', '.join(SECTIONS)}.")
    apply_patch(
        persona,
        actor=actor,
        proposal=proposal,
        values=sections,
        read_at=sent.values.get("target_version", persona.version),
        proposal_read_at=sent.values["version"],
    )


def _apply_revision(proposal: Proposal, sent: Sent, actor: Actor) -> None:
    skill = _skill(proposal, sent, actor)
    apply_revision(
        skill,
        actor=actor,
        proposal=proposal,
        values=proposal.content,
        read_at=skill.version,
        proposal_read_at=sent.values["version"],
    )


def _apply_deprecation(proposal: Proposal, sent: Sent, actor: Actor) -> None:
    skill = _skill(proposal, sent, actor)
    apply_deprecation(
        skill, actor=actor, proposal=proposal, read_at=skill.version, proposal_read_at=sent.values["version"]
    )


def _skill(proposal: Proposal, sent: Sent, actor: Actor) -> Skill:
    if foreign := sent.only(*SECTIONS, "target_version"):
        raise ValidationError(
            {name: ["This belongs to a persona's patch; this proposal is about a skill."] for name in foreign}
        )
    skill = Skill.objects.visible_to(actor).filter(pk=proposal.target_id).first()
    if skill is None:
        raise NotVisible("The skill this proposal is about is gone.")
    return skill


_APPLY: Mapping[Proposal.Kind, Callable[[Proposal, Sent, Actor], None]] = {
    Proposal.Kind.PERSONA_PATCH: _apply_patch,
    Proposal.Kind.SKILL_REVISION: _apply_revision,
    Proposal.Kind.SKILL_DEPRECATION: _apply_deprecation,
}
