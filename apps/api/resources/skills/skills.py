"""REST resource for skills: list, read, draft, change, approve, deprecate, discard and quarantine.

Every skill starts as a draft. A person approves its exact bytes, and later changes need a person too (R018, R092-R096, Z-2, Z-3).
`change_skill` picks the act by the skill's state and by the actor's permissions.
"""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from django.db.models import F, QuerySet, Value
from django.db.models.functions import Coalesce
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import ChoiceField, DateTimeField, IntegerField, SerializerMethodField

from apps.api.framework.row_actions import check_transition, decision_action
from apps.api.framework.versions import VersionedViewSet
from apps.api.protocol.filters import CharFilter, ChoiceFilter, DjangoFilterBackend, SearchFilter
from apps.api.protocol.pagination import RowOrdering
from apps.api.protocol.request_bodies import (
    ParsedBody,
    ReasonedDecisionBody,
    RequestBody,
    StrictBooleanField,
    StrictIntegerField,
    StrictTextField,
)
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.api.resources.agents.agents import agent_id_named
from apps.api.resources.skills.skill_attachments import AttachmentSerializer
from apps.api.resources.skills.skill_curation import CurationFilters, CurationSerializer, refuse_agents
from apps.governance.actors import Actor
from apps.governance.errors import Conflict, NotPermitted
from apps.governance.governed_write import authorize, may, refuse_stale
from apps.governance.models import Proposal, Taint
from apps.governance.policy.policy_table import Act
from apps.review.skill_actions import approve_skill
from apps.runtime.skill_retirement import read_curations
from apps.runtime.taint_attribution import heard_texts_of_agent, taint_of_text
from apps.skills.actions import (
    amend_skill,
    count_use,
    deprecate_skill,
    discard_skill,
    draft_skill,
    retain_skill,
    revise_skill,
)
from apps.skills.models import TEXT_FIELDS, Skill
from apps.skills.proposals import propose_revision
from apps.skills.quarantine import quarantine_skill, release_skill
from apps.skills.skill_validation import BODY_CHARACTERS, DESCRIPTION_CHARACTERS, NAME_CHARACTERS, TITLE_CHARACTERS


def change_skill(skill: Skill, sent: ParsedBody, *, actor: Actor) -> Proposal | None:
    """Apply a body according to the skill's state. Returns a proposal if a person must agree first."""
    texts = sent.only(*TEXT_FIELDS)
    reason = sent.reason
    if texts and skill.status == Skill.Status.DEPRECATED:
        raise Conflict("A deprecated skill cannot be changed. Draft a new one.")
    if texts and skill.status == Skill.Status.DRAFT:
        taint = taint_of_texts(texts, actor)
        amend_skill(skill, actor=actor, values=texts, read_at=sent.read_at, reason=reason, taint=taint)
    elif texts and not may(actor, Act.SKILL_REVISE, row=skill):
        return propose_revision(skill, actor=actor, values=texts, taint=taint_of_texts(texts, actor))
    elif texts:
        revise_skill(skill, actor=actor, values=texts, read_at=sent.read_at, reason=reason)
    if sent.values.get("status", skill.status) != skill.status:
        transition_skill(skill, sent.values["status"], sent, actor=actor, read_at=None if texts else sent.read_at)
    return None


def taint_of_texts(texts: Mapping[str, str], actor: Actor) -> Taint:
    """Return the taint of the texts, based on the texts that the actor has received."""
    return taint_of_text("\n".join(texts.values()), heard_texts_of_agent(actor))


def transition_skill(skill: Skill, to: str, sent: ParsedBody, *, actor: Actor, read_at: int | None) -> None:
    """Approve or deprecate the skill, depending on the state that the body names."""
    check_transition(skill, "status", to)
    reason = sent.reason
    if to == Skill.Status.DEPRECATED:
        deprecate_skill(skill, actor=actor, read_at=read_at, reason=reason)
        return
    reviewed = sent.values.get("reviewed_sha256")
    if reviewed is None:
        raise ValidationError({"reviewed_sha256": ["Send the content_sha256 of the text that you reviewed."]})
    values = {"reviewed_sha256": reviewed, "reason": reason, **sent.only("confirm_findings")}
    approve_skill(skill, actor=actor, read_at=read_at, **values)


def refuse_discarding(skill: Skill, actor: Actor) -> None:
    """Refuse to discard a skill that is not a draft."""
    if skill.status == Skill.Status.DRAFT:
        return
    if not actor.is_person:
        raise NotPermitted(
            f"This skill is {skill.status}, and an agent may not remove it. Ask an operator to deprecate it."
        )
    raise Conflict(
        f"This skill is {skill.status}; only a draft can be discarded. Deprecate the skill instead; its history stays."
    )


SUMMARY_FIELDS = ("id", "agent_key", "name", "title", "description", "category", "status", "content_sha256")
USE_FIELDS = ("use_count", "last_used_at")
APPROVAL_FIELDS = ("drafted_by", "approved_sha256", "approved_by", "approved_at")
QUARANTINE_FIELDS = ("quarantined_at", "quarantined_by", "quarantine_reason")
RETAIN_DESCRIPTION = (
    "Keep an approved skill, with a reason. It is not suggested for retirement for 90 days. People only."
)
QUARANTINE_DESCRIPTION = "Quarantine a skill in any status, with a reason: no agent can use it. People only."
RELEASE_DESCRIPTION = "Release the skill from quarantine, in its former status, with a reason. People only."


class SkillSummarySerializer(RowSerializer[Skill]):
    """A skill in a list, without its body. Bodies are fetched one at a time, which counts as use (R091, R096)."""

    agent_key = agent_key()
    use_count = IntegerField(read_only=True)
    last_used_at = DateTimeField(read_only=True, allow_null=True)

    class Meta:
        model = Skill
        fields: tuple[str, ...] = (*SUMMARY_FIELDS, *USE_FIELDS, *STAMP_FIELDS)
        read_only_fields = fields


class SkillSerializer(SkillSummarySerializer):
    """A whole skill."""

    attachment = SerializerMethodField(help_text="The first of the files, for clients that know one (Z-20).")
    attachments = AttachmentSerializer(source="files", many=True, read_only=True)
    front_matter = SerializerMethodField(help_text="Other front matter of an imported skill; null if it has none.")

    @extend_schema_field(AttachmentSerializer(allow_null=True))
    def get_attachment(self, skill: Skill) -> Any:
        """Return the first file, or null."""
        return AttachmentSerializer(skill.files[0]).data if skill.files else None

    def get_front_matter(self, skill: Skill) -> dict[str, Any] | None:
        """Return the front matter as it was imported, in the form of an export."""
        return json.loads(skill.front_matter) if skill.front_matter else None

    class Meta(SkillSummarySerializer.Meta):
        fields = (
            *SUMMARY_FIELDS,
            "body",
            "attachment",
            "attachments",
            "front_matter",
            *USE_FIELDS,
            *APPROVAL_FIELDS,
            *QUARANTINE_FIELDS,
            *STAMP_FIELDS,
            "notice",
            "ignored_fields",
        )
        read_only_fields = fields


REVISION_PENDING_TEXT = "The revision waits for a person. `Location` is the proposal, and the skill is unchanged."
REVISION_PENDING_NOTICE = "The skill stays as it is until a person has agreed to the revision."
RESPONSE_FIELDS = frozenset(SkillSerializer.Meta.fields)


class DraftSkillBody(RequestBody):
    """A new runbook. Of name and title one is enough: the other is made from it (Z-4)."""

    shown = RESPONSE_FIELDS
    acts = (Act.SKILL_DRAFT,)

    agent_key = StrictTextField(required=False)
    name = StrictTextField(required=False, max_length=NAME_CHARACTERS)
    title = StrictTextField(required=False, max_length=TITLE_CHARACTERS)
    description = StrictTextField(max_length=DESCRIPTION_CHARACTERS)
    category = StrictTextField(required=False, max_length=60)
    body = StrictTextField(max_length=BODY_CHARACTERS)


class UpdateSkillBody(RequestBody):
    """New texts, or for people a new status."""

    shown = RESPONSE_FIELDS
    acts = (
        Act.SKILL_AMEND,
        Act.SKILL_REVISE,
        Act.SKILL_PROPOSE,
        Act.SKILL_APPROVE,
        Act.SKILL_DEPRECATE,
    )
    whole = TEXT_FIELDS
    about = RequestBody.about | {"reviewed_sha256"}

    name = StrictTextField(required=False, max_length=NAME_CHARACTERS)
    title = StrictTextField(required=False, max_length=TITLE_CHARACTERS)
    description = StrictTextField(required=False, max_length=DESCRIPTION_CHARACTERS)
    category = StrictTextField(required=False, max_length=60)
    body = StrictTextField(required=False, max_length=BODY_CHARACTERS)
    status = ChoiceField(Skill.Status.choices, required=False)
    reviewed_sha256 = StrictTextField(required=False)
    version = StrictIntegerField(required=False)
    reason = StrictTextField(required=False)


class SkillTransitionBody(RequestBody):
    """The state to reach. An approval names the bytes that were read."""

    acts = (
        Act.SKILL_APPROVE,
        Act.SKILL_DEPRECATE,
    )

    about = RequestBody.about | {"reviewed_sha256", "confirm_findings"}

    to = ChoiceField(Skill.Status.choices)
    reviewed_sha256 = StrictTextField(required=False, help_text="For approved: the content_sha256 that was reviewed.")
    confirm_findings = StrictBooleanField(
        required=False, help_text="True, with a reason: confirms the scanner's findings."
    )
    version = StrictIntegerField(required=False)
    reason = StrictTextField(required=False)


class SkillFilters(CurationFilters):
    """Filter by agent, state and words."""

    status = ChoiceFilter(choices=Skill.Status.choices)
    name = CharFilter()
    category = CharFilter()
    search = SearchFilter("name", "title", "description")


class SkillView(VersionedViewSet[Skill]):
    """Skills of the tenant. An agent sees its own."""

    acts: ClassVar = {
        "create": (Act.SKILL_DRAFT,),
        "retrieve": (Act.SKILL_FETCH,),
        "partial_update": (
            Act.SKILL_AMEND,
            Act.SKILL_REVISE,
            Act.SKILL_PROPOSE,
            Act.SKILL_APPROVE,
            Act.SKILL_DEPRECATE,
        ),
        "destroy": (Act.SKILL_DISCARD,),
        "transition": (
            Act.SKILL_APPROVE,
            Act.SKILL_DEPRECATE,
        ),
        "retain": (Act.SKILL_RETAIN,),
        "quarantine": (Act.SKILL_QUARANTINE,),
        "release": (Act.SKILL_RELEASE,),
    }
    queryset = Skill.objects.none()
    in_bulk = ("create", "update", "delete", "transition", "retain")
    serializer_class = SkillSerializer
    line_class = SkillSummarySerializer
    counted = USE_FIELDS
    filterset_class = SkillFilters
    filter_backends = (DjangoFilterBackend, RowOrdering)

    def get_queryset(self) -> QuerySet[Skill]:
        """Return the skills with the number of fetches while approved."""
        return (
            Skill.objects.visible_to(self.actor)
            .select_related("agent")
            .annotate(use_count=Coalesce("use__use_count", Value(0)), last_used_at=F("use__last_used_at"))
        )

    def retrieve(self, request: Request, pk: str) -> Response:
        """Show the whole skill. If an agent fetches an approved one, that counts as use (R096)."""
        skill = self.get_object()
        if request.method == "GET" and may(self.actor, Act.SKILL_FETCH, row=skill):
            count_use(skill, actor=self.actor)
        return super().retrieve(request, pk)

    @extend_schema(request=DraftSkillBody, responses={201: SkillSerializer})
    def create(self, request: Request) -> Response:
        """Draft a skill. It starts as a draft for every author."""
        sent = DraftSkillBody.read(request, self.actor)
        agent_id = agent_id_named(sent.values.get("agent_key"), self.actor)
        texts = sent.only(*TEXT_FIELDS)
        skill = draft_skill(agent_id, actor=self.actor, values=texts, taint=taint_of_texts(texts, self.actor))
        return self.answer(skill.pk, sent.ignored, 201)

    @extend_schema(
        request=UpdateSkillBody,
        responses={200: SkillSerializer, 202: OpenApiResponse(SkillSerializer, REVISION_PENDING_TEXT)},
    )
    def partial_update(self, request: Request, pk: str) -> Response:
        """Edit a draft, or revise an approved skill as a person; an agent proposes the revision."""
        skill = self.get_object()
        sent = UpdateSkillBody.read(request, self.actor, skill)
        refuse_stale(skill, sent.read_at)
        proposal = change_skill(skill, sent, actor=self.actor)
        return self.answer(skill.pk, sent.ignored, notice=REVISION_PENDING_NOTICE if proposal else "", waits=proposal)

    @extend_schema(
        request=UpdateSkillBody,
        responses={200: SkillSerializer, 202: OpenApiResponse(SkillSerializer, REVISION_PENDING_TEXT)},
    )
    def update(self, request: Request, pk: str) -> Response:
        """Replace the row: send every text."""
        return self.partial_update(request, pk)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Discard a draft; an agent only its own. An approved skill is deprecated instead (R020, Z-2)."""
        skill = self.get_object()
        refuse_discarding(skill, self.actor)
        discard_skill(skill, actor=self.actor)
        return Response(status=204)

    @extend_schema(request=SkillTransitionBody, responses=SkillSerializer)
    @action(detail=True, methods=["post"])
    def transition(self, request: Request, pk: str) -> Response:
        """Approve or deprecate. People only."""
        skill = self.get_object()
        sent = SkillTransitionBody.read(request, self.actor, skill)
        # The permission is checked before the missing fields.
        to_deprecated = sent.values["to"] == Skill.Status.DEPRECATED
        act = Act.SKILL_DEPRECATE if to_deprecated else Act.SKILL_APPROVE
        authorize(self.actor, act, skill.tenant_id, agent_id=skill.agent_id)
        transition_skill(skill, sent.values["to"], sent, actor=self.actor, read_at=sent.read_at)
        return self.answer(skill.pk)

    @extend_schema(responses=CurationSerializer, filters=False)
    @action(detail=True, methods=["get"])
    def curation(self, request: Request, pk: str) -> Response:
        """Show the statistics of an approved skill, and the reason why it could be retired, if there is one. People only."""
        refuse_agents(self.actor)
        skill = self.get_object()
        found = read_curations([skill.pk], actor=self.actor, now=timezone.now()).get(skill.pk)
        if found is None:
            raise Conflict("Only approved skills that are not in quarantine have statistics.")
        return Response(CurationSerializer(found).data)

    retain = decision_action(
        "retain", Act.SKILL_RETAIN, retain_skill, SkillSerializer, RETAIN_DESCRIPTION, ReasonedDecisionBody
    )
    quarantine = decision_action(
        "quarantine",
        Act.SKILL_QUARANTINE,
        quarantine_skill,
        SkillSerializer,
        QUARANTINE_DESCRIPTION,
        ReasonedDecisionBody,
    )
    release = decision_action(
        "release", Act.SKILL_RELEASE, release_skill, SkillSerializer, RELEASE_DESCRIPTION, ReasonedDecisionBody
    )
