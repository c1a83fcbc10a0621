"""Decisions on a proposal: approve, undo, rebase, and the expiry by a sweep. A decision and its effect share one commit.

Every decision opens with `deciding`: it checks the actor, starts the transaction, and locks the row that the proposal would
change and then the proposal, as the reviewer read it. What follows is the decision itself, and its records.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any

from apps.governance.actors import Actor
from apps.governance.authorization import check_actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import IllegalTransition
from apps.governance.governed_write import lock_row, refuse_stale, write_reason
from apps.governance.models import Governed, Proposal
from apps.governance.policy.policy_table import Act
from apps.governance.proposals.actions import (
    approve_proposal,
    expire_proposal,
    rebase_proposal,
    settle_proposal,
    undo_proposal,
)
from apps.governance.proposals.approval_rules import (
    approvals_required,
    has_enough_approvals,
    refuse_changed_content,
    refuse_undecidable,
)
from apps.governance.refusal_log import RefusalSubject, recording_refusals
from apps.review.appliers.base import Target
from apps.review.appliers.registry import ACT_OF, applier_of, lock_target
from apps.review.approval_verdict import ApprovalRequest, approval_verdict
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.review_settings import review_terms

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DecisionResult:
    """The outcome of an approval: the change is live, or more people have to agree."""

    proposal: Proposal
    target: Governed
    applied: bool
    approvals: int
    reviewers: int

    @property
    def sentence(self) -> str:
        """The outcome in words, for the reviewer."""
        if self.applied:
            return "Applied."
        missing = self.reviewers - self.approvals
        who = "one more reviewer" if missing == 1 else f"{missing} more reviewers"
        edited = " Your edit is kept with it." if self.proposal.is_edited else ""
        risk = self.proposal.risk
        return f"Noted; nothing is live yet. At {risk} risk it takes {who} who neither proposed nor edited it.{edited}"


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision under way: its actor may take it, and both rows stay as they are until the commit."""

    actor: Actor
    proposal: Proposal
    target: Target

    def approve(self, request: ApprovalRequest) -> DecisionResult:
        """Record one reviewer's approval, and make the change once enough reviewers have agreed."""
        proposal, target, actor = self.proposal, self.target, self.actor
        refuse_undecidable(proposal)
        refuse_changed_content(proposal, request.reviewed_sha256)
        refuse_stale(target, request.target_read_at)
        verdict = approval_verdict(proposal, target, request)
        terms = review_terms(actor)
        approve_proposal(proposal, actor=actor, verdict=verdict, terms=terms)
        applied = has_enough_approvals(proposal, terms)
        if applied:
            with write_reason(request.reason or f"Applies proposal {proposal.pk}."):
                replaced = applier_of(proposal).apply(target, actor, proposal)
            settle_proposal(proposal, actor=actor, reason=request.reason, replaced=replaced)
        reviewers = approvals_required(proposal, terms).reviewers
        return DecisionResult(proposal, target, applied, proposal.approval_count, reviewers)


@contextmanager
def decision_transaction(act: Act, row: Governed, *, actor: Actor) -> Iterator[None]:
    """Check that the actor may decide on `row`, log a refusal of this act, and hold one transaction for the whole decision."""
    with recording_refusals(actor, act, RefusalSubject.of(row)):
        check_actor(actor, act, row.tenant_id, agent_id=row.agent_concerned)
        with acting_as(actor):
            yield


@contextmanager
def deciding(act: Act, proposal: Proposal, *, actor: Actor, read_at: int | None = None) -> Iterator[Decision]:
    """Open a decision on a proposal: who, both locks, and freshness. `read_at` is the version that the actor read."""
    with decision_transaction(act, proposal, actor=actor):
        # The target is locked first: its own actions revise the proposal afterwards, and two orders would deadlock.
        target = lock_target(proposal, actor)
        lock_row(proposal, read_at)
        yield Decision(actor, proposal, target)


def approve(proposal: Proposal, request: ApprovalRequest, *, actor: Actor) -> DecisionResult:
    """Approve exactly the words that were read. The change is made once everybody has agreed whom its risk requires."""
    with deciding(Act.PROPOSAL_APPROVE, proposal, actor=actor, read_at=request.read_at) as decision:
        _check_act_of_target(decision)
        return decision.approve(request)


def undo(proposal: Proposal, *, actor: Actor, read_at: int | None = None) -> Proposal:
    """Take one's own approval back within a minute: the earlier text is live again as a new version, the proposal is open."""
    applier = applier_of(proposal)
    with deciding(Act.PROPOSAL_UNDO, proposal, actor=actor, read_at=read_at) as decision:
        if applier.undo is None:
            raise IllegalTransition(applier.cannot_undo)
        applied = copy(proposal)
        undo_proposal(proposal, actor=actor)
        _refuse_changed_since(applied, decision.target)
        with write_reason(f"Undoes proposal {proposal.pk}."):
            applier.undo(decision.target, actor, applied)
    return proposal


def rebase(
    proposal: Proposal, *, actor: Actor, content: Mapping[str, Any] | None = None, read_at: int | None = None
) -> Proposal:
    """Bind a proposal to the live text after a look at both; `content` replaces its words, None keeps them."""
    applier = applier_of(proposal)
    with deciding(Act.PROPOSAL_REBASE, proposal, actor=actor, read_at=read_at) as decision:
        words = None if content is None else applier.check(content)
        return rebase_proposal(proposal, actor=actor, base=applier.base(decision.target), words=words)


def expire(tenant_id: int, proposal_id: int) -> None:
    """Close one proposal, unless somebody decided on it or gave it more time meanwhile."""
    actor = system_actor(tenant_id, "proposal expiry")
    with acting_as(actor):
        proposal = Proposal.objects.visible_to(actor).open().filter(pk=proposal_id).first()
    if proposal is None:
        return
    try:
        expire_proposal(proposal, actor=actor)
    except IllegalTransition:
        logger.info("proposal was decided before it expired", extra={"proposal_id": proposal_id})


def _check_act_of_target(decision: Decision) -> None:
    """Every approval counts, so each one comes from an actor who may make the change directly, at that place."""
    act, target = ACT_OF[Proposal.Kind(decision.proposal.kind)], decision.target
    with recording_refusals(decision.actor, act):
        check_actor(decision.actor, act, target.tenant_id, agent_id=target.agent_concerned)


def _refuse_changed_since(applied: Proposal, target: Target) -> None:
    if "version" in applied.replaced_values and target.version != applied.replaced_values["version"]:
        raise IllegalTransition(
            f"{applied.target_label} changed again since, so nothing is undone. Change it by hand, or restore a version."
        )
