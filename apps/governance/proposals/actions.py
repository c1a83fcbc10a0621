"""Governed writes on proposals.

Applying the proposed change is a separate act; `apps.review` performs both in one transaction.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models.functions import Now
from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.authorization import authorize
from apps.governance.database.actor_transaction import acting_as
from apps.governance.database.deferred_constraints import check_references_to
from apps.governance.errors import IllegalTransition, Invalid, MissingActor, NotPermitted, refuse_blank
from apps.governance.governed_write import governed
from apps.governance.models import Approval, Governed, Proposal, Taint
from apps.governance.policy.policy_table import Act
from apps.governance.policy.risk_tiers import ReviewTerms, RiskTier, counted_approvals, highest_tier
from apps.governance.proposals.approval_rules import (
    ApprovalVerdict,
    ProposalBase,
    ProposedChange,
    approvals_required,
    authors_of,
    conflict_if_approved,
    count_support,
    earlier_open_proposal,
    merge_evidence,
    refuse_approved,
    refuse_changed_content,
    refuse_closed,
    refuse_full_queue,
    refuse_rejected,
    refuse_run_out,
    refuse_self_approval,
    refuse_too_few_reviewers,
    refuse_undecidable,
    reviewers_of,
)

UNDO_WITHIN = timedelta(minutes=1)


def open_proposal(
    target: Governed, *, actor: Actor, act: Act, change: ProposedChange, terms: ReviewTerms | None = None
) -> Proposal:
    """Submit a change for approval. If the target has an open proposal of this kind, revise it and add the new evidence."""
    terms = terms or ReviewTerms()
    authorize(actor, act, target.tenant_id, change.fields_of(act), agent_id=target.agent_concerned)
    with acting_as(actor):
        refuse_rejected(target, actor, change)
        known = earlier_open_proposal(target, actor, change)
        if known is None:
            refuse_full_queue(actor, terms)
        proposal = known or _new_proposal(target, change)
        with governed(act, proposal, actor=actor, evidence=change.evidence) as row:
            _write_proposed_change(row, target, actor, change)
            row.expires_at = _new_deadline(terms)
    return proposal


def approve_proposal(
    proposal: Proposal,
    *,
    actor: Actor,
    verdict: ApprovalVerdict,
    terms: ReviewTerms | None = None,
    read_at: int | None = None,
) -> Proposal:
    """Approve the bytes that the reviewer read, or the reviewer's edit.

    `has_enough_approvals` tells whether the approvals suffice.
    """
    with acting_as(actor):
        act = Act.PROPOSAL_APPROVE
        with governed(act, proposal, actor=actor, read_at=read_at, reason=verdict.reason) as row:
            counts = _count_approval(row, actor, verdict, terms or ReviewTerms())
        if counts:
            _create_approval(proposal, actor, verdict)
    return proposal


def reject_proposal(
    proposal: Proposal, *, actor: Actor, reason: str, reason_code: str = "", read_at: int | None = None
) -> Proposal:
    """Reject a proposal. The target does not change; the reason is stored with the proposal, where the agent can read it."""
    with governed(Act.PROPOSAL_REJECT, proposal, actor=actor, read_at=read_at, reason=reason) as row:
        refuse_run_out(row)
        row.reject()
        _record_decision(row, actor, reason)
        row.reason_code = reason_code
    return proposal


def settle_proposal(
    proposal: Proposal,
    *,
    actor: Actor,
    read_at: int | None = None,
    reason: str = "",
    replaced: Mapping[str, Any] | None = None,
) -> Proposal:
    """Mark a proposal as applied after its change was made in the same transaction. The replaced values are kept for an undo."""
    with governed(Act.PROPOSAL_APPLY, proposal, actor=actor, read_at=read_at, reason=reason) as row:
        row.apply()
        _record_decision(row, actor, reason)
        row.replaced_values = dict(replaced or {})
    return proposal


def undo_proposal(proposal: Proposal, *, actor: Actor, read_at: int | None = None) -> Proposal:
    """Undo one's own approval within a minute. The caller restores the target in the same transaction."""
    with governed(Act.PROPOSAL_UNDO, proposal, actor=actor, read_at=read_at) as row:
        _refuse_undo(row, actor)
        _reset_to_open(row)
        row.replaced_values = {}
    return proposal


def reopen_proposal(
    proposal: Proposal, *, actor: Actor, reason: str = "", terms: ReviewTerms | None = None, read_at: int | None = None
) -> Proposal:
    """Reopen a rejected or expired proposal, or one whose time has run out. Earlier approvals do not count."""
    with governed(Act.PROPOSAL_REOPEN, proposal, actor=actor, read_at=read_at, reason=reason) as row:
        if row.has_run_out(timezone.now()):
            # The sweep would do this within the hour.
            row.expire()
        _refuse_other_states(row, "reopen", Proposal.State.REJECTED, Proposal.State.EXPIRED)
        _reset_to_open(row)
        row.expires_at = _new_deadline(terms)
    return proposal


def quarantine_proposal(proposal: Proposal, *, actor: Actor, reason: str, read_at: int | None = None) -> Proposal:
    """Quarantine a proposal: until a person releases it, nobody may decide on it and its agent may not revise it."""
    with governed(Act.PROPOSAL_QUARANTINE, proposal, actor=actor, read_at=read_at, reason=reason) as row:
        refuse_blank(reason, "Give a reason for the quarantine. The person who releases the proposal has to know it.")
        refuse_run_out(row)
        row.quarantine()
        _record_decision(row, actor, "")
        row.quarantine_reason = reason
    return proposal


def release_proposal(
    proposal: Proposal, *, actor: Actor, reason: str, terms: ReviewTerms | None = None, read_at: int | None = None
) -> Proposal:
    """Release a proposal from quarantine, which reopens it. If its time has run out meanwhile, it gets new time."""
    with governed(Act.PROPOSAL_RELEASE, proposal, actor=actor, read_at=read_at, reason=reason) as row:
        refuse_blank(reason, "Give a reason for the release.")
        _refuse_other_states(row, "release", Proposal.State.QUARANTINED)
        _reset_to_open(row)
        if row.has_run_out(timezone.now()):
            row.expires_at = _new_deadline(terms)
    return proposal


def expire_proposal(proposal: Proposal, *, actor: Actor) -> Proposal:
    """Expire a proposal that nobody decided on in time. A person may reopen it."""
    with governed(Act.PROPOSAL_EXPIRE, proposal, actor=actor) as row:
        if row.expires_at is None or row.expires_at > timezone.now():
            raise IllegalTransition("This proposal has not run out of time, so it does not expire yet.")
        row.expire()
        _record_decision(row, actor, "")
    return proposal


def snooze_proposal(
    proposal: Proposal, *, actor: Actor, until: datetime | None, read_at: int | None = None
) -> Proposal:
    """Hide a proposal from the waiting queue until `until`; None ends the snooze at once."""
    with governed(Act.PROPOSAL_SNOOZE, proposal, actor=actor, read_at=read_at) as row:
        refuse_undecidable(row)
        if until is not None and until <= timezone.now():
            raise Invalid("Choose a moment in the future.", {"until": ["This lies in the past."]})
        row.snoozed_until = until
    return proposal


def claim_proposal(proposal: Proposal, *, actor: Actor, read_at: int | None = None) -> Proposal:
    """Mark a proposal as being reviewed by the actor. Others may still decide on it; the claim lapses after half an hour."""
    with governed(Act.PROPOSAL_CLAIM, proposal, actor=actor, read_at=read_at) as row:
        refuse_undecidable(row)
        row.claimed_by, row.claimed_by_id, row.claimed_at = actor.label, actor.user_id, timezone.now()
    return proposal


def request_revision(proposal: Proposal, *, actor: Actor, words: str, read_at: int | None = None) -> Proposal:
    """Ask the agent to revise its proposal. The agent reads the request with the proposal; a revision clears it."""
    with governed(Act.PROPOSAL_REQUEST_REVISION, proposal, actor=actor, read_at=read_at, reason=words) as row:
        refuse_undecidable(row)
        refuse_blank(words, "Say what the agent should change.", "revision_request")
        row.revision_request = words
    return proposal


def rebase_proposal(
    proposal: Proposal,
    *,
    actor: Actor,
    base: ProposalBase,
    words: Mapping[str, Any] | None = None,
    read_at: int | None = None,
) -> Proposal:
    """Bind a proposal to the current live text, with the same words or new ones. Earlier approvals no longer count."""
    with governed(Act.PROPOSAL_REBASE, proposal, actor=actor, read_at=read_at) as row:
        refuse_undecidable(row)
        _set_base(row, base)
        if words is not None and dict(words) != row.words:
            _set_edited_content(row, actor, words)
        row.approval_count = 0
    return proposal


def withdraw_proposal(proposal: Proposal, *, actor: Actor, reason: str = "") -> None:
    """Withdraw an open proposal that was never approved or commented on. The change record keeps its words."""
    with conflict_if_approved(), acting_as(actor):
        with governed(Act.PROPOSAL_WITHDRAW, proposal, actor=actor, reason=reason, removes=True) as row:
            refuse_closed(row)
            refuse_approved(row)
        check_references_to(Proposal._meta.db_table)


def _new_deadline(terms: ReviewTerms | None) -> datetime:
    return timezone.now() + timedelta(days=(terms or ReviewTerms()).proposal_days)


def _new_proposal(target: Governed, change: ProposedChange) -> Proposal:
    about = {"target_type": target._meta.label_lower, "target_id": target.pk, "kind": change.kind}
    return Proposal(tenant_id=target.tenant_id, agent_id=change.agent_id, **about)


def _write_proposed_change(row: Proposal, target: Governed, actor: Actor, change: ProposedChange) -> None:
    row.target_label = target.proposal_label
    _set_base(row, ProposalBase(change.base_version, change.base_sha256, change.base_content))
    row.content = dict(change.content)
    row.edited_content, row.edited_by, row.edited_by_id = None, "", None
    row.approval_count = 0
    row.revision_request = ""
    row.risk = highest_tier(RiskTier(row.risk), change.risk).value
    row.rationale = change.rationale
    row.evidence = merge_evidence(row.evidence, change.evidence)
    row.support_count = count_support(row.evidence)
    row.proposed_by = change.proposed_by or actor.label
    row.proposers = sorted({*row.proposers, *({actor.user_id} - {None})})
    row.taint = Taint.joined(row.taint, change.taint or (Taint.OPERATOR if actor.is_person else Taint.AGENT))


def _set_base(row: Proposal, base: ProposalBase) -> None:
    row.base_version, row.base_sha256, row.base_content = base.version, base.sha256, dict(base.content)


def _set_edited_content(row: Proposal, actor: Actor, words: Mapping[str, Any]) -> None:
    row.edited_content, row.edited_by, row.edited_by_id = dict(words), actor.label, actor.user_id
    # `edited_by` names only the last editor, but every editor is an author of these words.
    row.proposers = sorted({*row.proposers, *([] if actor.user_id is None else [actor.user_id])})


def _count_approval(row: Proposal, actor: Actor, verdict: ApprovalVerdict, terms: ReviewTerms) -> bool:
    """Write the approval to the row, and return whether it counts.

    An author's approval does not count if self-approval is not permitted.
    """
    refuse_undecidable(row)
    refuse_changed_content(row, verdict.reviewed_sha256)
    edits = verdict.edits(row)
    if edits and verdict.edited is not None:
        _set_edited_content(row, actor, verdict.edited)
        if verdict.base is not None:
            _set_base(row, verdict.base)
    row.risk = highest_tier(RiskTier(row.risk), verdict.risk).value
    panel = approvals_required(row, terms)
    refuse_self_approval(row, actor, panel, edits=edits)
    refuse_too_few_reviewers(row, panel, terms)
    before = set[int | None]() if edits else {one.user_id for one in reviewers_of(row)}
    row.approval_count = counted_approvals({*before, actor.user_id}, authors_of(row), panel)
    return panel.may_self_approve or actor.user_id not in authors_of(row)


def _create_approval(proposal: Proposal, actor: Actor, verdict: ApprovalVerdict) -> None:
    if actor.user_id is None:
        raise MissingActor("An approval needs a person as its actor.")
    Approval.objects.create(
        tenant_id=proposal.tenant_id,
        proposal=proposal,
        user_id=actor.user_id,
        user_label=actor.label,
        content_sha256=proposal.content_sha256,
        is_edited=proposal.edited_by_id == actor.user_id,
        is_self_approval=actor.user_id in authors_of(proposal),
        confirmed_findings=list(verdict.findings),
        reason=verdict.reason,
    )


def _record_decision(row: Proposal, actor: Actor, reason: str) -> None:
    row.decided_by, row.decided_by_id = actor.label, actor.user_id
    row.decision_reason = reason


def _reset_to_open(row: Proposal) -> None:
    row.reopen()
    row.decided_by, row.decided_by_id, row.decision_reason, row.reason_code = "", None, "", ""
    row.quarantine_reason = ""
    row.approval_count = 0


def _refuse_other_states(row: Proposal, what: str, *states: Proposal.State) -> None:
    if row.state not in states:
        raise IllegalTransition(f"Cannot {what} a proposal that is {row.state}.")


def _refuse_undo(row: Proposal, actor: Actor) -> None:
    _refuse_other_states(row, "undo", Proposal.State.APPLIED)
    if row.decided_by_id != actor.user_id:
        raise NotPermitted(f"Only {row.decided_by}, who applied it, may undo it. Propose the change back instead.")
    # Compare with the database's clock, which also stamped the decision.
    if not Proposal.objects.filter(pk=row.pk, decided_at__gt=Now() - UNDO_WITHIN).exists():
        raise IllegalTransition("An approval can be undone only within a minute. Change the live text instead.")
