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
    rebase_as_sent,
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
from apps.governance.models.proposals import expired_condition, open_condition
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
from apps.review.decisions import approve, undo
from apps.review.proposal_queues import (
    LABELS,
    OVERDUE_AFTER,
    claimed_condition,
    overdue_condition,
    queue_conditions,
    rebase_condition,
)
from apps.review.proposal_submission import proposal_texts, submit_proposal
from apps.review.review_sheet import read_review_sheet
from apps.runtime.explain.impact import impact_of
from apps.runtime.taint_attribution import heard_texts_of_agent, taint_of_text
from apps.tenants.models import Tenant
from apps.tenants.review_settings import review_terms


class IndentedJSONRenderer(JSONRenderer):
    """Indented JSON with one value per line, as the command prints it."""

    def get_indent(self, accepted_media_type: str, renderer_context: Mapping[str, Any]) -> int:
        return 2


class ProposalFilters(AgentFilters):
    """Filter by agent, kind, state, queue, risk, target, source, reviewer, and whether a rebase is needed."""

    kind = ChoiceFilter(choices=Proposal.Kind.choices)
    state = ChoiceFilter(
        choices=Proposal.State.choices,
        method="in_state",
        help_text="A proposal whose time has run out is expired.",
    )
    risk = ChoiceFilter(choices=[(tier.value, tier.value) for tier in RiskTier])
    target_type = CharFilter(help_text="Such as personas.persona or skills.skill.")
    target_id = IdFilter()
    taint = ChoiceFilter(choices=Taint.choices)
    queue = ChoiceFilter(
        choices=list(LABELS.items()), method="in_queue", help_text="The inbox queue: waiting, snoozed and so on."
    )
    is_claimed_by_caller = BooleanFilter(method="by_claim", help_text="True: proposals that you claimed.")
    is_claimed = BooleanFilter(method="by_any_claim", help_text="False: proposals that nobody claimed.")
    is_overdue = BooleanFilter(method="by_age", help_text=f"True: proposed more than {OVERDUE_AFTER.days} days ago.")
    needs_rebase = BooleanFilter(help_text="True: open proposals whose target has changed since they were proposed.")
    search = SearchFilter("target_label", "proposed_by", "rationale")

    def in_state(self, rows: QuerySet[Proposal], name: str, value: str) -> QuerySet[Proposal]:
        """Return the proposals in a state, with the time for a decision considered."""
        now = timezone.now()
        conditions = {Proposal.State.OPEN: open_condition(now), Proposal.State.EXPIRED: expired_condition(now)}
        return rows.filter(conditions.get(Proposal.State(value), Q(state=value)))

    def in_queue(self, rows: QuerySet[Proposal], name: str, value: str) -> QuerySet[Proposal]:
        """Return the proposals of an inbox queue."""
        return rows.filter(queue_conditions(timezone.now())[value])

    def by_claim(self, rows: QuerySet[Proposal], name: str, value: bool) -> QuerySet[Proposal]:
        """Return the proposals that the actor claims, or all others."""
        mine = claimed_condition(timezone.now()) & Q(claimed_by_id=self.request.auth.user_id)
        return rows.filter(mine) if value else rows.exclude(mine)

    def by_any_claim(self, rows: QuerySet[Proposal], name: str, value: bool) -> QuerySet[Proposal]:
        """Return the proposals that anyone claims, or all others."""
        anybody = claimed_condition(timezone.now())
        return rows.filter(anybody) if value else rows.exclude(anybody)

    def by_age(self, rows: QuerySet[Proposal], name: str, value: bool) -> QuerySet[Proposal]:
        """Return the proposals that are overdue, or all others."""
        late = overdue_condition(timezone.now())
        return rows.filter(late) if value else rows.exclude(late)


class ProposalView(VersionedViewSet[Proposal]):
    """Proposals of the tenant's agents. An agent sees its own, with the decisions on them."""

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
        """Return the rows that the actor may see."""
        rows = Proposal.objects.visible_to(self.actor).select_related("agent")
        return rows.annotate(needs_rebase=rebase_condition())

    @extend_schema(responses=ProposalDetailSerializer)
    def retrieve(self, request: Request, pk: str) -> Response:
        """Show one proposal. For people it includes both texts, the required approvals and the given ones."""
        row = self.get_object()
        sheet = read_review_sheet(row, actor=self.actor) if self.actor.is_person else None
        payload = ProposalDetailSerializer(row, context={**self.get_serializer_context(), "sheet": sheet}).data
        return self.shown(request, row, payload)

    @extend_schema(request=SubmitProposalBody, responses={201: SubmittedProposalSerializer})
    def create(self, request: Request) -> Response:
        """Submit a change for review. The response includes recent rejections of the same change, with their reasons."""
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

    @extend_schema(responses={200: OpenApiTypes.OBJECT, **refusal_response(409, "The proposal is not decided yet.")})
    @action(detail=True, methods=["get"], renderer_classes=[IndentedJSONRenderer])
    def receipt(self, request: Request, pk: str) -> Response:
        """Return the decision, the reviewers, the time, and the position in the audit chain. For people, once it is decided."""
        if not self.actor.is_person:
            raise NotPermitted("Only people may read this. An agent's token cannot.")
        tenant_key = Tenant.objects.values_list("key", flat=True).get(pk=self.actor.tenant_id)
        return Response(receipt_of(self.get_object().pk, tenant_key=tenant_key, actor=self.actor))

    @extend_schema(
        responses={
            200: ImpactSerializer,
            **refusal_response(409, "The proposal is decided or expired, or a reviewer must write its text first."),
        }
    )
    @action(detail=True, methods=["get"])
    def reach(self, request: Request, pk: str) -> Response:
        """Estimate the impact of an approval: sessions, customers, bytes of the prompt, cache costs.

        For people, while it is open.
        """
        if not self.actor.is_person:
            raise NotPermitted("Only people may read this. An agent's token cannot.")
        would = read_review_sheet(self.get_object(), actor=self.actor).would
        if would is None:
            raise Conflict(
                "This proposal has no impact to show: it is decided or expired, its target is gone,"
                " or a reviewer must write its text first."
            )
        return Response(ImpactSerializer(impact_of(would, actor=self.actor, now=timezone.now())).data)

    @extend_schema(request=ProposalTransitionBody, responses={200: ProposalSerializer, 202: ProposalSerializer})
    @action(detail=True, methods=["post"])
    def transition(self, request: Request, pk: str) -> Response:
        """Apply, reject, quarantine or reopen, by the state to reach. 202: other reviewers must agree. People only."""
        authorize(self.actor, Act.PROPOSAL_APPLY, self.actor.tenant_id, agent_id=ANYWHERE)
        proposal = self.get_object()
        sent = ProposalTransitionBody.read(request, self.actor, proposal)
        refuse_stale(proposal, sent.read_at)
        done = transition_proposal(proposal, sent, actor=self.actor)
        return self.answer(proposal.pk, status=200 if done else 202)

    @extend_schema(request=ApprovalBody, responses={200: ProposalSerializer, 202: ProposalSerializer})
    @action(detail=True, methods=["post"])
    def approve(self, request: Request, pk: str) -> Response:
        """Approve the bytes of `reviewed_sha256`. 200: the change is applied; 202: another reviewer must agree."""
        authorize(self.actor, Act.PROPOSAL_APPROVE, self.actor.tenant_id, agent_id=ANYWHERE)
        proposal = self.get_object()
        decided = approve(
            proposal, approval_request(ApprovalBody.read(request, self.actor, proposal)), actor=self.actor
        )
        return self.answer(proposal.pk, status=200 if decided.applied else 202)

    @extend_schema(request=RejectProposalBody, responses=ProposalSerializer)
    @action(detail=True, methods=["post"])
    def reject(self, request: Request, pk: str) -> Response:
        """Reject with a reason, which the agent gets to read. People only."""
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
        """Undo your own approval within a minute. The former content is live again."""
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
        """Rebase the proposal on the live content: unchanged, merged with it, or with a new text."""
        return self._run_decision(
            request,
            pk,
            Act.PROPOSAL_REBASE,
            RebaseProposalBody,
            lambda row, sent: rebase_as_sent(row, sent, actor=self.actor),
        )

    @extend_schema(request=DecisionBody, responses=ProposalSerializer)
    @action(detail=True, methods=["post"])
    def reopen(self, request: Request, pk: str) -> Response:
        """Reopen a rejected or expired proposal."""
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
        """Snooze the proposal until a moment; null ends the snooze."""
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
        """Claim the proposal, to show that you are looking at it. Others can still decide."""
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
        """Ask the agent to revise the proposal."""
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
        """Quarantine the proposal, with a reason."""
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
        """Release the proposal from quarantine, with a reason."""
        return self._run_decision(
            request,
            pk,
            Act.PROPOSAL_RELEASE,
            ReasonedDecisionBody,
            lambda row, sent: release_proposal(
                row, actor=self.actor, reason=sent.reason, terms=review_terms(self.actor), read_at=sent.read_at
            ),
        )

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Withdraw an open proposal that nobody approved yet. An agent may withdraw its own."""
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
        # A missing permission is reported before missing fields.
        authorize(self.actor, act, self.actor.tenant_id, agent_id=ANYWHERE)
        proposal = self.get_object()
        call(proposal, body.read(request, self.actor, proposal))
        return self.answer(proposal.pk)
