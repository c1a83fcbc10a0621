"""Decisions on a proposal: approve, undo, rebase, and expire. A decision and its effect share one commit.

Every decision starts with `deciding`. It checks the actor, opens the transaction, locks the target and then the proposal, and
refuses a proposal that changed since the reviewer read it.
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
from apps.review.clean_rebase import cleanly_rebased_words
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.review_settings import review_terms

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DecisionResult:
    """The outcome of an approval: the change was applied, or more reviewers have to approve."""

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
    """A decision in progress: its actor is authorised and its target locked; `deciding` locks the proposal, too."""

    actor: Actor
    proposal: Proposal
    target: Target

    def approve(self, request: ApprovalRequest) -> DecisionResult:
        """Record one reviewer's approval, and make the change once enough reviewers have approved."""
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
    """Check that the actor may perform this act on `row`, log a refusal, and open one transaction for the whole decision."""
    with recording_refusals(actor, act, RefusalSubject.of(row)):
        check_actor(actor, act, row.tenant_id, agent_id=row.agent_concerned)
        with acting_as(actor):
            yield


@contextmanager
def deciding(act: Act, proposal: Proposal, *, actor: Actor, read_at: int | None = None) -> Iterator[Decision]:
    """Open a decision: check the actor, lock the target and the proposal, and refuse a version other than `read_at`."""
    with decision_transaction(act, proposal, actor=actor):
        # The target is locked first, as its own actions do before they revise a proposal; the reverse order could deadlock.
        target = lock_target(proposal, actor)
        lock_row(proposal, read_at)
        yield Decision(actor, proposal, target)


def approve(proposal: Proposal, request: ApprovalRequest, *, actor: Actor) -> DecisionResult:
    """Approve exactly the words that the reviewer read.

    The change is made once the required number of reviewers have approved.
    """
    with deciding(Act.PROPOSAL_APPROVE, proposal, actor=actor, read_at=request.read_at) as decision:
        _check_act_of_target(decision)
        return decision.approve(request)


def undo(proposal: Proposal, *, actor: Actor, read_at: int | None = None) -> Proposal:
    """Undo one's own approval within a minute: restore the earlier text as a new version, and reopen the proposal."""
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
    """Bind a proposal to the current live text. `content` replaces the proposal's words; None keeps them."""
    applier = applier_of(proposal)
    with deciding(Act.PROPOSAL_REBASE, proposal, actor=actor, read_at=read_at) as decision:
        words = None if content is None else applier.check(content)
        return rebase_proposal(proposal, actor=actor, base=applier.base(decision.target), words=words)


def rebase_cleanly(proposal: Proposal, *, actor: Actor, read_at: int | None = None) -> Proposal:
    """Bind a proposal to the current live text and merge the words with it. Raises `Conflict` if a person has to choose."""
    applier = applier_of(proposal)
    with deciding(Act.PROPOSAL_REBASE, proposal, actor=actor, read_at=read_at) as decision:
        refuse_undecidable(proposal)
        words = cleanly_rebased_words(proposal, decision.target, applier)
        return rebase_proposal(proposal, actor=actor, base=applier.base(decision.target), words=words)


def expire(tenant_id: int, proposal_id: int) -> None:
    """Expire one proposal, unless it was decided or its time was extended meanwhile."""
    actor = system_actor(tenant_id, "proposal expiry")
    with acting_as(actor):
        proposal = Proposal.objects.visible_to(actor).unclosed().filter(pk=proposal_id).first()
    if proposal is None:
        return
    try:
        expire_proposal(proposal, actor=actor)
    except IllegalTransition:
        logger.info("proposal was decided before it expired", extra={"proposal_id": proposal_id})


def _check_act_of_target(decision: Decision) -> None:
    """Check that the reviewer may also make the change directly on the target's rows, since every approval counts."""
    act, target = ACT_OF[Proposal.Kind(decision.proposal.kind)], decision.target
    with recording_refusals(decision.actor, act):
        check_actor(decision.actor, act, target.tenant_id, agent_id=target.agent_concerned)


def _refuse_changed_since(applied: Proposal, target: Target) -> None:
    if "version" in applied.replaced_values and target.version != applied.replaced_values["version"]:
        raise IllegalTransition(
            f"{applied.target_label} changed again since then, so the approval cannot be undone. Edit it, or restore a version."
        )
