"""Skills: born drafts, approved byte for byte by a person, changed afterwards only through one (R018, R092-R096, Z-2, Z-3)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Coalesce
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import ChoiceField, DateTimeField, IntegerField, SerializerMethodField

from apps.api.agents import agent_id_named
from apps.api.attachments import FileShown
from apps.api.bodies import Body, Number, Sent, Text, YesNo
from apps.api.filters import AgentFilters, CharFilter, ChoiceFilter, DjangoFilterBackend
from apps.api.moves import refuse_unreachable
from apps.api.pages import Ordering
from apps.api.proposal_rows import ProposalRow
from apps.api.rows import STAMPS, Shown, agent_key
from apps.api.versions import Versioned
from apps.governance.actors import Actor
from apps.governance.door import authorize, may, refuse_stale
from apps.governance.errors import Conflicting, NotPermitted
from apps.governance.models import Proposal, Taint
from apps.governance.policy import Act
from apps.runtime.hearing import heard_by, whose_words
from apps.skills.actions import (
    amend_skill,
    approve_skill,
    count_use,
    deprecate_skill,
    discard_skill,
    draft_skill,
    revise_skill,
)
from apps.skills.models import TEXTS, Skill
from apps.skills.proposing import propose_revision
from apps.skills.rules import BODY_CHARACTERS, DESCRIPTION_CHARACTERS, NAME_CHARACTERS, TITLE_CHARACTERS

LINE = ("id", "agent_key", "name", "title", "description", "category", "status", "content_sha256")
SEARCH_WORDS = 10
SEARCH_CHARACTERS = 200
COUNTED = ("use_count", "last_used_at")
APPROVAL = ("drafted_by", "approved_sha256", "approved_by", "approved_at")


class SkillLine(Shown[Skill]):
    """A skill in a list: enough to choose by. Its body is fetched one at a time, which counts as use (R091, R096)."""

    agent_key = agent_key()
    use_count = IntegerField(read_only=True)
    last_used_at = DateTimeField(read_only=True, allow_null=True)

    class Meta:
        model = Skill
        fields: tuple[str, ...] = (*LINE, *COUNTED, *STAMPS)
        read_only_fields = fields


class SkillRow(SkillLine):
    """A whole skill."""

    attachment = SerializerMethodField(help_text="The first of the files, for clients that know one (Z-20).")
    attachments = FileShown(source="files", many=True, read_only=True)

    @extend_schema_field(FileShown(allow_null=True))
    def get_attachment(self, skill: Skill) -> Any:
        """The first file, if there is one."""
        return FileShown(skill.files[0]).data if skill.files else None

    class Meta(SkillLine.Meta):
        fields = (*LINE, "body", "attachment", "attachments", *COUNTED, *APPROVAL, *STAMPS, "ignored_fields")
        read_only_fields = fields


SHOWN = frozenset(SkillRow.Meta.fields)


class NewSkill(Body):
    """A runbook as its author writes it down. One of name and title gives the other (Z-4)."""

    shown = SHOWN
    acts = (Act.SKILL_DRAFT,)

    agent_key = Text(required=False)
    name = Text(required=False, max_length=NAME_CHARACTERS)
    title = Text(required=False, max_length=TITLE_CHARACTERS)
    description = Text(max_length=DESCRIPTION_CHARACTERS)
    category = Text(required=False, max_length=60)
    body = Text(max_length=BODY_CHARACTERS)


class SkillChange(Body):
    """New text, or for people a new status."""

    shown = SHOWN
    acts = (
        Act.SKILL_AMEND,
        Act.SKILL_REVISE,
        Act.SKILL_PROPOSE,
        Act.SKILL_APPROVE,
        Act.SKILL_DEPRECATE,
    )
    whole = TEXTS
    about = Body.about | {"reviewed_sha256"}

    name = Text(required=False, max_length=NAME_CHARACTERS)
    title = Text(required=False, max_length=TITLE_CHARACTERS)
    description = Text(required=False, max_length=DESCRIPTION_CHARACTERS)
    category = Text(required=False, max_length=60)
    body = Text(required=False, max_length=BODY_CHARACTERS)
    status = ChoiceField(Skill.Status.choices, required=False)
    reviewed_sha256 = Text(required=False)
    version = Number(required=False)
    reason = Text(required=False)


class SkillMove(Body):
    """The state a skill shall reach; an approval says which bytes were read."""

    acts = (
        Act.SKILL_APPROVE,
        Act.SKILL_DEPRECATE,
    )

    about = Body.about | {"reviewed_sha256", "confirm_findings"}

    to = ChoiceField(Skill.Status.choices)
    reviewed_sha256 = Text(required=False, help_text="For approved: the content_sha256 that was reviewed.")
    confirm_findings = YesNo(required=False, help_text="True, with a reason: what the scanner points at may stand.")
    version = Number(required=False)
    reason = Text(required=False)


class SkillFilters(AgentFilters):
    """By agent, state and words."""

    status = ChoiceFilter(choices=Skill.Status.choices)
    name = CharFilter()
    category = CharFilter()
    search = CharFilter(method="said", help_text=f"Up to {SEARCH_WORDS} words in name, title or description.")

    def said(self, queryset: QuerySet[Skill], name: str, value: str) -> QuerySet[Skill]:
        """Every word stands somewhere in what the index shows."""
        words = value.split()
        if len(words) > SEARCH_WORDS or len(value) > SEARCH_CHARACTERS:
            raise ValidationError(
                {name: [f"Search for at most {SEARCH_WORDS} words and {SEARCH_CHARACTERS} characters."]}
            )
        for word in words:
            queryset = queryset.filter(
                Q(name__icontains=word) | Q(title__icontains=word) | Q(description__icontains=word)
            )
        return queryset


class SkillView(Versioned[Skill]):
    """Skills of the tenant; an agent sees its own."""

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
    }
    queryset = Skill.objects.none()
    serializer_class = SkillRow
    line_class = SkillLine
    filterset_class = SkillFilters
    filter_backends = (DjangoFilterBackend, Ordering)

    def get_queryset(self) -> QuerySet[Skill]:
        """With how often each was fetched while approved."""
        return (
            Skill.objects.visible_to(self.actor)
            .select_related("agent")
            .annotate(use_count=Coalesce("use__use_count", Value(0)), last_used_at=F("use__last_used_at"))
        )

    def retrieve(self, request: Request, pk: str) -> Response:
        """The whole skill. An agent that fetches an approved one uses it (R096)."""
        skill = self.get_object()
        if request.method == "GET" and may(self.actor, Act.SKILL_FETCH, row=skill):
            count_use(skill, actor=self.actor)
        return super().retrieve(request, pk)

    @extend_schema(request=NewSkill, responses={201: SkillRow})
    def create(self, request: Request) -> Response:
        """Write a runbook down. It is born a draft, whoever sends it."""
        sent = NewSkill.read(request, self.actor)
        agent_id = agent_id_named(sent.values.get("agent_key"), self.actor)
        texts = sent.only(*TEXTS)
        skill = draft_skill(agent_id, actor=self.actor, values=texts, taint=_whose(texts, self.actor))
        return self.answer(skill.pk, sent.ignored, 201)

    @extend_schema(
        request=SkillChange,
        responses={200: SkillRow, 202: OpenApiResponse(ProposalRow, "The revision waits for a person.")},
    )
    def partial_update(self, request: Request, pk: str) -> Response:
        """Edit a draft, revise what is approved as a person, or propose a revision of it as an agent."""
        del pk
        skill = self.get_object()
        sent = SkillChange.read(request, self.actor, skill)
        refuse_stale(skill, sent.read_at)
        proposal = change_skill(skill, sent, actor=self.actor)
        if proposal is not None:
            context = {**self.get_serializer_context(), "ignored_fields": list(sent.ignored)}
            return Response(ProposalRow(proposal, context=context).data, status=202)
        return self.answer(skill.pk, sent.ignored)

    @extend_schema(
        request=SkillChange,
        responses={200: SkillRow, 202: OpenApiResponse(ProposalRow, "The revision waits for a person.")},
    )
    def update(self, request: Request, pk: str) -> Response:
        """The same with every text sent."""
        return self.partial_update(request, pk)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Discard a draft; an agent only its own. What was approved is deprecated instead (R020, Z-2)."""
        del request, pk
        skill = self.get_object()
        _refuse_discarding(skill, self.actor)
        discard_skill(skill, actor=self.actor)
        return Response(status=204)

    @extend_schema(request=SkillMove, responses=SkillRow)
    @action(detail=True, methods=["post"])
    def transition(self, request: Request, pk: str) -> Response:
        """Approve or deprecate. People only."""
        del pk
        skill = self.get_object()
        sent = SkillMove.read(request, self.actor, skill)
        # Who may not is told so before what is missing.
        to_deprecated = sent.values["to"] == Skill.Status.DEPRECATED
        act = Act.SKILL_DEPRECATE if to_deprecated else Act.SKILL_APPROVE
        authorize(self.actor, act, skill.tenant_id, agent_id=skill.agent_id)
        move_skill(skill, sent.values["to"], sent, actor=self.actor, read_at=sent.read_at)
        return self.answer(skill.pk)


def change_skill(skill: Skill, sent: Sent, *, actor: Actor) -> Proposal | None:
    """What a body asks for, by the state the skill is in; a proposal if a person has to agree first."""
    texts = sent.only(*TEXTS)
    reason = sent.values.get("reason", "")
    if texts and skill.status == Skill.Status.DEPRECATED:
        raise Conflicting("A deprecated skill stays as it is. Draft a fresh one.")
    if texts and skill.status == Skill.Status.DRAFT:
        taint = _whose(texts, actor)
        amend_skill(skill, actor=actor, values=texts, read_at=sent.read_at, reason=reason, taint=taint)
    elif texts and not may(actor, Act.SKILL_REVISE, row=skill):
        return propose_revision(skill, actor=actor, values=texts, taint=_whose(texts, actor))
    elif texts:
        revise_skill(skill, actor=actor, values=texts, read_at=sent.read_at, reason=reason)
    if sent.values.get("status", skill.status) != skill.status:
        move_skill(skill, sent.values["status"], sent, actor=actor, read_at=None if texts else sent.read_at)
    return None


def _whose(texts: Mapping[str, str], actor: Actor) -> Taint:
    return whose_words("\n".join(texts.values()), heard_by(actor))


def move_skill(skill: Skill, to: str, sent: Sent, *, actor: Actor, read_at: int | None) -> None:
    """Approve or deprecate, as the body names it."""
    refuse_unreachable(skill, "status", to)
    reason = sent.values.get("reason", "")
    if to == Skill.Status.DEPRECATED:
        deprecate_skill(skill, actor=actor, read_at=read_at, reason=reason)
        return
    reviewed = sent.values.get("reviewed_sha256")
    if reviewed is None:
        raise ValidationError({"reviewed_sha256": ["Say which text you reviewed: send the content_sha256 you read."]})
    said = {"reviewed_sha256": reviewed, "reason": reason, **sent.only("confirm_findings")}
    approve_skill(skill, actor=actor, read_at=read_at, **said)


def _refuse_discarding(skill: Skill, actor: Actor) -> None:
    if skill.status == Skill.Status.DRAFT:
        return
    if not actor.is_person:
        raise NotPermitted(
            f"This skill is {skill.status}: an agent may not remove it. Ask an operator to deprecate it."
        )
    raise Conflicting(f"This skill is {skill.status}; only a draft is discarded. Deprecate it, and its history stays.")
