"""Personas: people write them, the agent proposes a patch, a person applies or declines it (R017-R022, R029, R030)."""

from typing import Any, ClassVar

from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.fields.json import KT
from django.db.models.functions import JSONObject
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField, ChoiceField, IntegerField, Serializer

from apps.api.framework.versions import VersionedViewSet
from apps.api.protocol.filters import AgentFilters, ChoiceFilter, SearchFilter
from apps.api.protocol.request_bodies import (
    ParsedBody,
    RequestBody,
    StrictBooleanField,
    StrictIntegerField,
    StrictTextField,
)
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.api.resources.agents.agents import agent_id_named
from apps.governance.actors import ANYWHERE, Actor
from apps.governance.errors import Conflict, NotPermitted
from apps.governance.governed_write import authorize, refuse_stale
from apps.governance.models import Proposal
from apps.governance.policy.policy_table import Act
from apps.governance.proposals.actions import reject_proposal
from apps.personas.actions import (
    activate_persona,
    amend_persona,
    archive_persona,
    create_persona,
    propose_patch,
)
from apps.personas.models import SECTION_CHARACTERS, SECTIONS, Persona
from apps.review.approval_verdict import ApprovalRequest
from apps.review.decisions import DecisionResult, approve
from apps.runtime.taint_attribution import heard_texts_of_agent, taint_of_text


class WaitingProposalSerializer(Serializer[Any]):
    """The id and version of the proposal in `proposed_patch`. A decision on it must name both."""

    id = IntegerField(read_only=True)
    version = IntegerField(read_only=True)


class PersonaSerializer(RowSerializer[Persona]):
    """A persona, with the patch that its agent proposes."""

    agent_key = agent_key()
    proposed_patch = CharField(
        read_only=True, allow_null=True, help_text="The open proposal's text; null if none waits."
    )
    proposed_patch_proposal = WaitingProposalSerializer(
        read_only=True, allow_null=True, help_text="The id and version of that proposal; null if none waits."
    )

    class Meta:
        model = Persona
        fields = (
            "id",
            "agent_key",
            *SECTIONS,
            "status",
            "proposed_patch",
            "proposed_patch_proposal",
            *STAMP_FIELDS,
            "ignored_fields",
            "notice",
        )
        read_only_fields = fields


RESPONSE_FIELDS = frozenset(PersonaSerializer.Meta.fields)
READ_PROPOSAL_FIELDS = ("proposal_id", "proposal_version")
APPROVAL_PENDING_TEXT = "Other reviewers must agree first. `Location` is the proposal, and the persona is unchanged."
PATCH_UNREAD_REFUSAL = (
    "A proposed patch waits. Send the id and version of the one you read, as in `proposed_patch_proposal`."
)


class CreatePersonaBody(RequestBody):
    """A new persona of an agent."""

    shown = RESPONSE_FIELDS
    acts = (Act.PERSONA_CREATE,)

    agent_key = StrictTextField()
    identity = StrictTextField(required=False)
    style = StrictTextField(required=False)  # type: ignore[assignment]  # of the same name in DRF: a dict for HTML forms
    avoid = StrictTextField(required=False)
    defaults = StrictTextField(required=False)
    goals = StrictTextField(required=False)


class UpdatePersonaBody(RequestBody):
    """New text for sections, a proposed patch, or a status."""

    shown = RESPONSE_FIELDS
    acts = (
        Act.PERSONA_AMEND,
        Act.PERSONA_PROPOSE,
        Act.PERSONA_ARCHIVE,
        Act.PERSONA_ACTIVATE,
    )
    whole = SECTIONS
    about = RequestBody.about | {*READ_PROPOSAL_FIELDS, "confirm_findings"}

    identity = StrictTextField(required=False)
    style = StrictTextField(required=False)  # type: ignore[assignment]  # of the same name in DRF: a dict for HTML forms
    avoid = StrictTextField(required=False)
    defaults = StrictTextField(required=False)
    goals = StrictTextField(required=False)
    status = ChoiceField(Persona.Status.choices, required=False)
    proposed_patch = StrictTextField(required=False, allow_null=True, allow_blank=False, max_length=SECTION_CHARACTERS)
    proposal_id = StrictIntegerField(
        required=False, help_text="With proposed_patch as null: the proposal that was read."
    )
    proposal_version = StrictIntegerField(
        required=False, help_text="With proposed_patch as null: its version that was read."
    )
    confirm_findings = StrictBooleanField(
        required=False, help_text="With proposed_patch as null: confirms the scanner's findings."
    )
    version = StrictIntegerField(required=False)
    reason = StrictTextField(required=False)


class PersonaFilters(AgentFilters):
    """Filter by agent and state."""

    status = ChoiceFilter(choices=Persona.Status.choices)
    search = SearchFilter("agent__key", "identity")


class PersonaView(VersionedViewSet[Persona]):
    """Personas of the tenant; an agent sees its own."""

    acts: ClassVar = {
        "create": (Act.PERSONA_CREATE,),
        "partial_update": (
            Act.PERSONA_AMEND,
            Act.PERSONA_PROPOSE,
            Act.PERSONA_ARCHIVE,
            Act.PERSONA_ACTIVATE,
        ),
        "destroy": (Act.PERSONA_ARCHIVE,),
    }
    queryset = Persona.objects.none()
    serializer_class = PersonaSerializer
    filterset_class = PersonaFilters

    def get_queryset(self) -> QuerySet[Persona]:
        """Return the personas with the text of the waiting proposal."""
        waiting = (
            Proposal.objects.visible_to(self.actor)
            .open()
            .filter(kind=Proposal.Kind.PERSONA_PATCH, target_type=Persona._meta.label_lower, target_id=OuterRef("pk"))
        )
        text = waiting.values(text=KT("content__text"))
        named = waiting.values(named=JSONObject(id="pk", version="version"))
        seen = Persona.objects.visible_to(self.actor).select_related("agent")
        return seen.annotate(proposed_patch=Subquery(text[:1]), proposed_patch_proposal=Subquery(named[:1]))

    @extend_schema(request=CreatePersonaBody, responses={201: PersonaSerializer})
    def create(self, request: Request) -> Response:
        """Create an agent's persona. People only; an agent proposes a patch of an existing one."""
        authorize(self.actor, Act.PERSONA_CREATE, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = CreatePersonaBody.read(request, self.actor)
        agent_id = agent_id_named(sent.values["agent_key"], self.actor)
        persona = create_persona(agent_id, actor=self.actor, values=sent.only(*SECTIONS))
        return self.answer(persona.pk, sent.ignored, 201)

    @extend_schema(
        request=UpdatePersonaBody,
        responses={200: PersonaSerializer, 202: OpenApiResponse(PersonaSerializer, APPROVAL_PENDING_TEXT)},
    )
    def partial_update(self, request: Request, pk: str) -> Response:
        """Edit sections, propose a patch, or settle the waiting patch by sending it as null."""
        persona = self.get_object()
        sent = UpdatePersonaBody.read(request, self.actor, persona)
        decided = change_persona(persona, sent, actor=self.actor)
        if decided is None or decided.applied:
            return self.answer(persona.pk, sent.ignored)
        return self.answer(persona.pk, sent.ignored, notice=decided.sentence, waits=decided.proposal)

    @extend_schema(request=UpdatePersonaBody, responses=PersonaSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Replace the persona: send every section."""
        return self.partial_update(request, pk)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Archive the persona. Its agent uses the default prompt, and the history stays."""
        archive_persona(self.get_object(), actor=self.actor)
        return Response(status=204)


def change_persona(persona: Persona, sent: ParsedBody, *, actor: Actor) -> DecisionResult | None:
    """Apply every change in a body in one transaction. The first change checks the version that the sender read.

    Returns the decision on the proposed patch, if the body contains one.
    """
    refuse_stale(persona, sent.read_at)
    decided = None
    sections = sent.only(*SECTIONS)
    if "proposed_patch" in sent.values and sent.values["proposed_patch"] is None:
        decided = _settle_patch(persona, sections, sent, actor)
    elif sections:
        amend_persona(persona, actor=actor, values=sections, read_at=sent.read_at, reason=sent.reason)
    if sent.values.get("proposed_patch"):
        text = sent.values["proposed_patch"]
        taint = taint_of_text(text, heard_texts_of_agent(actor))
        propose_patch(persona, actor=actor, text=text, taint=taint)
    status = sent.values.get("status", persona.status)
    if status != persona.status:
        act = archive_persona if status == Persona.Status.ARCHIVED else activate_persona
        act(persona, actor=actor, read_at=None if sections else sent.read_at, reason=sent.reason)
    return decided


def _settle_patch(persona: Persona, sections: dict[str, Any], sent: ParsedBody, actor: Actor) -> DecisionResult | None:
    if not actor.is_person:
        raise NotPermitted("Only an operator may clear a proposed patch. Send the text that you propose now instead.")
    reason = sent.reason
    patches = Proposal.objects.visible_to(actor).open().about(persona).filter(kind=Proposal.Kind.PERSONA_PATCH)
    proposal = patches.first()
    if proposal is None:
        _refuse_settled_patch(sent)
        amend_persona(persona, actor=actor, values=sections, read_at=sent.read_at, reason=reason)
        return None
    proposal_read_at = _proposal_version_read(proposal, sent)
    if sections:
        # The version that was read identifies the bytes. It is compared again under the lock.
        yes = ApprovalRequest(
            proposal.content_sha256,
            sections,
            sent.values.get("confirm_findings", False),
            reason,
            proposal_read_at,
            sent.read_at or persona.version,
        )
        return approve(proposal, yes, actor=actor)
    if reason.strip():
        reject_proposal(proposal, actor=actor, reason=reason, read_at=proposal_read_at)
        return None
    raise ValidationError(
        {"reason": ["Give a reason for declining the proposed patch, or send the sections it changes."]}
    )


def _proposal_version_read(proposal: Proposal, sent: ParsedBody) -> int:
    """Return the version that the sender read. The id is compared too, because a later proposal starts again at version 1."""
    missing = [name for name in READ_PROPOSAL_FIELDS if name not in sent.values]
    if missing:
        raise ValidationError({name: [PATCH_UNREAD_REFUSAL] for name in missing})
    if sent.values["proposal_id"] != proposal.pk:
        raise Conflict("The waiting patch is not the one you read. Read the persona again.")
    return int(sent.values["proposal_version"])


def _refuse_settled_patch(sent: ParsedBody) -> None:
    if sent.only(*READ_PROPOSAL_FIELDS):
        raise Conflict("The proposed patch you read was decided already. Read the persona again.")
