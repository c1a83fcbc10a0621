"""REST resource for proposals: list filters, submission, decisions, impact, and the receipt of a decision.

A proposal is a change that an agent may not make itself. People approve, reject, snooze or quarantine it. The receipt is indented
JSON, because people keep it as a file and read it as well as machines.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django.db.models import Q, QuerySet
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.versions import VersionedViewSet
from apps.api.openapi.schema import refusal_response
from apps.api.protocol.filters import AgentFilters, BooleanFilter, CharFilter, ChoiceFilter, IdFilter, SearchFilter
from apps.api.protocol.request_bodies import (
    DecisionBody,
    OptionalVersionBody,
    ParsedBody,
    ReasonedDecisionBody,
    RequestBody,
)
from apps.api.resources.review.proposal_decisions import (
    BULK_ACTIONS,
    ApprovalBody,
    ProposalTransitionBody,
    RebaseProposalBody,
    RejectProposalBody,
    RevisionRequestBody,
    SnoozeBody,
    SubmitProposalBody,
    approval_request,
    transition_proposal,
)
from apps.api.resources.review.proposal_serializers import (
    ImpactSerializer,
    ProposalDetailSerializer,
    ProposalSerializer,
    SubmittedProposalSerializer,
)
from apps.governance.actors import ANYWHERE
from apps.governance.audit.approval_receipts import receipt_of
from apps.governance.errors import Conflict, NotPermitted
from apps.governance.governed_write import authorize, refuse_stale
from apps.governance.models import Proposal, Taint
from apps.governance.policy.policy_table import Act
from apps.governance.policy.risk_tiers import RiskTier
from apps.governance.proposals.actions import (
    claim_proposal,
    quarantine_proposal,
    reject_proposal,
    release_proposal,
    reopen_proposal,
    request_revision,
    snooze_proposal,
    withdraw_proposal,
)
from apps.governance.proposals.approval_rules import earlier_rejections
from apps.review.decisions import approve, rebase, undo
from apps.review.proposal_queues import LABELS, OVERDUE_AFTER, claimed_condition, overdue_condition, queue_conditions
from apps.review.proposal_submission import proposal_texts, submit_proposal
from apps.review.review_sheet import read_review_sheet
from apps.runtime.explain.impact import impact_of
from apps.runtime.taint_attribution import heard_texts_of_agent, taint_of_text
from apps.tenants.models import Tenant
from apps.tenants.review_settings import review_terms


class IndentedJSONRenderer(JSONRenderer):
    """JSON with a line for each value, as the command prints it."""

    def get_indent(self, accepted_media_type: str, renderer_context: Mapping[str, Any]) -> int:
        return 2


class ProposalFilters(AgentFilters):
    """By agent, kind, state, queue, risk, target, whose words they are and who looks at them."""

    kind = ChoiceFilter(choices=Proposal.Kind.choices)
    state = ChoiceFilter(choices=Proposal.State.choices)
    risk = ChoiceFilter(choices=[(tier.value, tier.value) for tier in RiskTier])
    target_type = CharFilter(help_text="personas.persona, skills.skill and the like.")
    target_id = IdFilter()
    taint = ChoiceFilter(choices=Taint.choices)
    queue = ChoiceFilter(
        choices=list(LABELS.items()), method="in_queue", help_text="What waits now, was put off, and so on."
    )
    is_claimed_by_caller = BooleanFilter(method="by_claim", help_text="True: what you said you are looking at.")
    is_claimed = BooleanFilter(method="by_any_claim", help_text="False: what nobody is looking at.")
    is_overdue = BooleanFilter(method="by_age", help_text=f"True: asked for more than {OVERDUE_AFTER.days} days ago.")
    search = SearchFilter("target_label", "proposed_by", "rationale")

    def in_queue(self, rows: QuerySet[Proposal], name: str, value: str) -> QuerySet[Proposal]:
        """As the console's inbox is divided."""
        return rows.filter(queue_conditions(timezone.now())[value])

    def by_claim(self, rows: QuerySet[Proposal], name: str, value: bool) -> QuerySet[Proposal]:
        """Those the asker claims, or all others."""
        mine = claimed_condition(timezone.now()) & Q(claimed_by_id=self.request.auth.user_id)
        return rows.filter(mine) if value else rows.exclude(mine)

    def by_any_claim(self, rows: QuerySet[Proposal], name: str, value: bool) -> QuerySet[Proposal]:
        """Those that somebody claims, or nobody."""
        anybody = claimed_condition(timezone.now())
        return rows.filter(anybody) if value else rows.exclude(anybody)

    def by_age(self, rows: QuerySet[Proposal], name: str, value: bool) -> QuerySet[Proposal]:
        """Those that were asked for too long ago, or all others."""
        late = overdue_condition(timezone.now())
        return rows.filter(late) if value else rows.exclude(late)


class ProposalView(VersionedViewSet[Proposal]):
    """Proposals of the tenant's agents; an agent sees its own, with what people said to them."""

    acts: ClassVar = {
        "create": (Act.PROPOSAL_SUBMIT, Act.PERSONA_PROPOSE, Act.RULE_PROPOSE, Act.SKILL_PROPOSE),
        "destroy": (Act.PROPOSAL_WITHDRAW,),
        "transition": (Act.PROPOSAL_APPLY, Act.PROPOSAL_REJECT),
        "approve": (Act.PROPOSAL_APPROVE, Act.PROPOSAL_APPLY),
        "reject": (Act.PROPOSAL_REJECT,),
        "undo": (Act.PROPOSAL_UNDO,),
        "rebase": (Act.PROPOSAL_REBASE,),
        "reopen": (Act.PROPOSAL_REOPEN,),
        "snooze": (Act.PROPOSAL_SNOOZE,),
        "claim": (Act.PROPOSAL_CLAIM,),
        "request-revision": (Act.PROPOSAL_REQUEST_REVISION,),
        "quarantine": (Act.PROPOSAL_QUARANTINE,),
        "release": (Act.PROPOSAL_RELEASE,),
    }
    queryset = Proposal.objects.none()
    in_bulk = BULK_ACTIONS
    serializer_class = ProposalSerializer
    filterset_class = ProposalFilters

    def get_queryset(self) -> QuerySet[Proposal]:
        """Those the actor sees."""
        return Proposal.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(responses=ProposalDetailSerializer)
    def retrieve(self, request: Request, pk: str) -> Response:
        """One proposal; people read with it both texts, who has to agree and who has."""
        row = self.get_object()
        sheet = read_review_sheet(row, actor=self.actor) if self.actor.is_person else None
        payload = ProposalDetailSerializer(row, context={**self.get_serializer_context(), "sheet": sheet}).data
        return self.shown(request, row, payload)

    @extend_schema(request=SubmitProposalBody, responses={201: SubmittedProposalSerializer})
    def create(self, request: Request) -> Response:
        """Put a change before a person. What was rejected of the same thing lately is told along, with the reasons."""
        sent = SubmitProposalBody.read(request, self.actor).values
        content, rationale = sent.get("content", {}), sent.get("rationale", "")
        proposal = submit_proposal(
            Proposal.Kind(sent["kind"]),
            sent.get("target_id"),
            actor=self.actor,
            content=content,
            taint=taint_of_text(proposal_texts(content, rationale), heard_texts_of_agent(self.actor)),
            rationale=rationale,
        )
        rejected = earlier_rejections(proposal, self.actor)
        row = self.get_queryset().get(pk=proposal.pk)
        context = {**self.get_serializer_context(), "ignored_fields": [], "rejected_before": rejected}
        return Response(SubmittedProposalSerializer(row, context=context).data, status=201)

    @extend_schema(responses={200: OpenApiTypes.OBJECT, **refusal_response(409, "It is not decided yet.")})
    @action(detail=True, methods=["get"], renderer_classes=[IndentedJSONRenderer])
    def receipt(self, request: Request, pk: str) -> Response:
        """What was decided, by whom and when, and where it stands in the audit chain. For people, once it is decided."""
        if not self.actor.is_person:
            raise NotPermitted("Only people may read this; an agent's token does not reach it.")
        tenant_key = Tenant.objects.values_list("key", flat=True).get(pk=self.actor.tenant_id)
        return Response(receipt_of(self.get_object().pk, tenant_key=tenant_key, actor=self.actor))

    @extend_schema(
        responses={
            200: ImpactSerializer,
            **refusal_response(409, "It is decided, or a reviewer has to write its words first."),
        }
    )
    @action(detail=True, methods=["get"])
    def reach(self, request: Request, pk: str) -> Response:
        """What a yes would reach: sessions, customers, bytes of the prompt, and what caches pay. For people, while it is open."""
        if not self.actor.is_person:
            raise NotPermitted("Only people may read this; an agent's token does not reach it.")
        would = read_review_sheet(self.get_object(), actor=self.actor).would
        if would is None:
            raise Conflict(
                "Nothing can be told of this: it is decided, its target is gone, or a reviewer has to write its words first."
            )
        return Response(ImpactSerializer(impact_of(would, actor=self.actor, now=timezone.now())).data)

    @extend_schema(request=ProposalTransitionBody, responses={200: ProposalSerializer, 202: ProposalSerializer})
    @action(detail=True, methods=["post"])
    def transition(self, request: Request, pk: str) -> Response:
        """Apply, reject, hold apart or open again, by the name of the state to reach. 202: others have to agree. People only."""
        authorize(self.actor, Act.PROPOSAL_APPLY, self.actor.tenant_id, agent_id=ANYWHERE)
        proposal = self.get_object()
        sent = ProposalTransitionBody.read(request, self.actor, proposal)
        refuse_stale(proposal, sent.read_at)
        done = transition_proposal(proposal, sent, actor=self.actor)
        return self.answer(proposal.pk, status=200 if done else 202)

    @extend_schema(request=ApprovalBody, responses={200: ProposalSerializer, 202: ProposalSerializer})
    @action(detail=True, methods=["post"])
    def approve(self, request: Request, pk: str) -> Response:
        """Say yes to the bytes of `reviewed_sha256`. 200: it is applied; 202: another reviewer has to agree."""
        authorize(self.actor, Act.PROPOSAL_APPROVE, self.actor.tenant_id, agent_id=ANYWHERE)
        proposal = self.get_object()
        decided = approve(
            proposal, approval_request(ApprovalBody.read(request, self.actor, proposal)), actor=self.actor
        )
        return self.answer(proposal.pk, status=200 if decided.applied else 202)

    @extend_schema(request=RejectProposalBody, responses=ProposalSerializer)
    @action(detail=True, methods=["post"])
    def reject(self, request: Request, pk: str) -> Response:
        """Say no, with a reason that the agent learns. People only."""
        return self._run_decision(
            request,
            pk,
            Act.PROPOSAL_REJECT,
            RejectProposalBody,
            lambda row, sent: reject_proposal(
                row,
                actor=self.actor,
                reason=sent.reason,
                reason_code=sent.values["reason_code"],
                read_at=sent.read_at,
            ),
        )

    @extend_schema(request=OptionalVersionBody, responses=ProposalSerializer)
    @action(detail=True, methods=["post"])
    def undo(self, request: Request, pk: str) -> Response:
        """Take one's own yes back within a minute; what was live before is live again."""
        return self._run_decision(
            request,
            pk,
            Act.PROPOSAL_UNDO,
            OptionalVersionBody,
            lambda row, sent: undo(row, actor=self.actor, read_at=sent.read_at),
        )

    @extend_schema(request=RebaseProposalBody, responses=ProposalSerializer)
    @action(detail=True, methods=["post"])
    def rebase(self, request: Request, pk: str) -> Response:
        """Bind the proposal to what is live now, as it is or in other words."""
        return self._run_decision(
            request,
            pk,
            Act.PROPOSAL_REBASE,
            RebaseProposalBody,
            lambda row, sent: rebase(row, actor=self.actor, content=sent.values.get("content"), read_at=sent.read_at),
        )

    @extend_schema(request=DecisionBody, responses=ProposalSerializer)
    @action(detail=True, methods=["post"])
    def reopen(self, request: Request, pk: str) -> Response:
        """Take up again what was rejected or ran out of time."""
        return self._run_decision(
            request,
            pk,
            Act.PROPOSAL_REOPEN,
            DecisionBody,
            lambda row, sent: reopen_proposal(
                row,
                actor=self.actor,
                reason=sent.reason,
                terms=review_terms(self.actor),
                read_at=sent.read_at,
            ),
        )

    @extend_schema(request=SnoozeBody, responses=ProposalSerializer)
    @action(detail=True, methods=["post"])
    def snooze(self, request: Request, pk: str) -> Response:
        """Put it off until a moment; null brings it back at once."""
        return self._run_decision(
            request,
            pk,
            Act.PROPOSAL_SNOOZE,
            SnoozeBody,
            lambda row, sent: snooze_proposal(row, actor=self.actor, until=sent.values["until"], read_at=sent.read_at),
        )

    @extend_schema(request=OptionalVersionBody, responses=ProposalSerializer)
    @action(detail=True, methods=["post"])
    def claim(self, request: Request, pk: str) -> Response:
        """Say that one is looking at it; it keeps nobody else from deciding."""
        return self._run_decision(
            request,
            pk,
            Act.PROPOSAL_CLAIM,
            OptionalVersionBody,
            lambda row, sent: claim_proposal(row, actor=self.actor, read_at=sent.read_at),
        )

    @extend_schema(request=RevisionRequestBody, responses=ProposalSerializer)
    @action(detail=True, methods=["post"], url_path="request-revision")
    def request_revision(self, request: Request, pk: str) -> Response:
        """Ask the agent to say it otherwise."""
        return self._run_decision(
            request,
            pk,
            Act.PROPOSAL_REQUEST_REVISION,
            RevisionRequestBody,
            lambda row, sent: request_revision(
                row, actor=self.actor, words=sent.values["revision_request"], read_at=sent.read_at
            ),
        )

    @extend_schema(request=ReasonedDecisionBody, responses=ProposalSerializer)
    @action(detail=True, methods=["post"])
    def quarantine(self, request: Request, pk: str) -> Response:
        """Hold it apart, with a reason."""
        return self._run_decision(
            request,
            pk,
            Act.PROPOSAL_QUARANTINE,
            ReasonedDecisionBody,
            lambda row, sent: quarantine_proposal(row, actor=self.actor, reason=sent.reason, read_at=sent.read_at),
        )

    @extend_schema(request=ReasonedDecisionBody, responses=ProposalSerializer)
    @action(detail=True, methods=["post"])
    def release(self, request: Request, pk: str) -> Response:
        """Let it wait for a decision again, with a reason."""
        return self._run_decision(
            request,
            pk,
            Act.PROPOSAL_RELEASE,
            ReasonedDecisionBody,
            lambda row, sent: release_proposal(row, actor=self.actor, reason=sent.reason, read_at=sent.read_at),
        )

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Take an open proposal back that nobody approved yet; an agent its own."""
        withdraw_proposal(self.get_object(), actor=self.actor)
        return Response(status=204)

    def _run_decision(
        self,
        request: Request,
        pk: str,
        act: Act,
        body: type[RequestBody],
        call: Callable[[Proposal, ParsedBody], object],
    ) -> Response:
        # Who may not is told so before what is missing.
        authorize(self.actor, act, self.actor.tenant_id, agent_id=ANYWHERE)
        proposal = self.get_object()
        call(proposal, body.read(request, self.actor, proposal))
        return self.answer(proposal.pk)
