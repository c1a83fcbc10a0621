"""Decisions on a proposal: approve, undo, rebase, and the expiry by a sweep. A decision and its effect share one commit.

A person can reopen an expired proposal.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import FindingsUnconfirmed, IllegalTransition, Invalid, NeedsRebase, NotVisible
from apps.governance.governed_write import authorize, refuse_stale
from apps.governance.models import Governed, Proposal
from apps.governance.policy.policy_table import Act
from apps.governance.policy.risk_tiers import tier_of
from apps.governance.proposals.actions import (
    approve_proposal,
    expire_proposal,
    rebase_proposal,
    settle_proposal,
    undo_proposal,
)
from apps.governance.proposals.approval_rules import (
    ApprovalVerdict,
    approvals_required,
    has_enough_approvals,
    refuse_changed_content,
    refuse_undecidable,
)
from apps.prompt.injection_scanner.review_findings import rules_to_confirm
from apps.review.appliers.base import Applier, Target, Values, changed_fields
from apps.review.appliers.registry import ACT_OF, applier_of, lock_target
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.review_settings import review_terms

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """What a reviewer sends with a yes.

    `content` is what they made of the words, None for as they stand; `target_read_at` the version of the target that stood
    beside them.
    """

    reviewed_sha256: str
    content: Mapping[str, Any] | None = None
    confirm_findings: bool = False
    reason: str = ""
    read_at: int | None = None
    target_read_at: int | None = None


@dataclass(frozen=True, slots=True)
class DecisionResult:
    """What a yes came to: the change is live, or more people have to agree."""

    proposal: Proposal
    target: Governed
    applied: bool
    approvals: int
    reviewers: int

    @property
    def sentence(self) -> str:
        """What to tell the reviewer."""
        if self.applied:
            return "Applied."
        missing = self.reviewers - self.approvals
        who = "one more reviewer" if missing == 1 else f"{missing} more reviewers"
        edited = " Your edit is kept with it." if self.proposal.is_edited else ""
        risk = self.proposal.risk
        return f"Noted; nothing is live yet. At {risk} risk it takes {who} who neither proposed nor edited it.{edited}"


def approve(proposal: Proposal, yes: ApprovalRequest, *, actor: Actor) -> DecisionResult:
    """Say yes to exactly what was read. The change is made once everybody has agreed whom its risk asks for."""
    authorize(actor, Act.PROPOSAL_APPROVE, proposal.tenant_id, agent_id=proposal.agent_id)
    terms = review_terms(actor)
    with acting_as(actor):
        # The target first: whoever changes it revises its proposal afterwards, and two orders would wait for each other.
        target = lock_target(proposal, actor)
        _authorize_target_act(proposal, target, actor)
        row = _lock_proposal(proposal, actor)
        refuse_stale(row, yes.read_at)
        refuse_undecidable(row)
        refuse_changed_content(row, yes.reviewed_sha256)
        refuse_stale(target, yes.target_read_at)
        verdict = _approval_verdict(row, target, yes)
        approve_proposal(proposal, actor=actor, verdict=verdict, terms=terms)
        applied = has_enough_approvals(proposal, terms)
        if applied:
            replaced = applier_of(proposal).apply(target, actor, proposal)
            settle_proposal(proposal, actor=actor, reason=yes.reason, replaced=replaced)
    return DecisionResult(
        proposal, target, applied, proposal.approval_count, approvals_required(proposal, terms).reviewers
    )


def undo(proposal: Proposal, *, actor: Actor, read_at: int | None = None) -> Proposal:
    """Take one's yes back within a minute: what was there before is live again, as a new version, and the proposal waits."""
    applier = applier_of(proposal)
    authorize(actor, Act.PROPOSAL_UNDO, proposal.tenant_id, agent_id=proposal.agent_id)
    if applier.undo is None:
        raise IllegalTransition(applier.cannot_undo)
    with acting_as(actor):
        target, applied = lock_target(proposal, actor), _lock_proposal(proposal, actor)
        undo_proposal(proposal, actor=actor, read_at=read_at)
        _refuse_changed_since(applied, target)
        applier.undo(target, actor, applied)
    return proposal


def rebase(
    proposal: Proposal, *, actor: Actor, content: Mapping[str, Any] | None = None, read_at: int | None = None
) -> Proposal:
    """Bind a proposal to what is live now, after a look at both texts; with `content`, in other words."""
    authorize(actor, Act.PROPOSAL_REBASE, proposal.tenant_id, agent_id=proposal.agent_id)
    applier = applier_of(proposal)
    with acting_as(actor):
        target = lock_target(proposal, actor)
        words = None if content is None else applier.check(content)
        return rebase_proposal(proposal, actor=actor, base=applier.base(target), words=words, read_at=read_at)


def _authorize_target_act(proposal: Proposal, target: Target, actor: Actor) -> None:
    """Each yes counts, so each comes from somebody who may make the change at all, there."""
    authorize(actor, ACT_OF[Proposal.Kind(proposal.kind)], target.tenant_id, agent_id=target.agent_concerned)


def needs_rebase(proposal: Proposal, target: Target, applier: Applier) -> bool:
    """Whether what it would change is not what its words were written over."""
    unbound = applier.appends or (applier.free_text and not proposal.is_edited)
    return not unbound and bool(applier.sha256(target) != proposal.base_sha256)


def _lock_proposal(proposal: Proposal, actor: Actor) -> Proposal:
    rows = Proposal.objects.visible_to(actor).select_for_update(no_key=True, of=("self",))
    row = rows.filter(pk=proposal.pk).first()
    if row is None:
        raise NotVisible("There is no such proposal.")
    return row


def _approval_verdict(row: Proposal, target: Target, yes: ApprovalRequest) -> ApprovalVerdict:
    applier = applier_of(row)
    edits = yes.content is not None and dict(yes.content) != row.words
    words = _words_to_apply(row, applier, yes)
    live = applier.live(target)
    if needs_rebase(row, target, applier) and not (edits and applier.free_text):
        raise NeedsRebase(
            f"{row.target_label} changed since the proposer read it (version {row.base_version}; it is now at"
            f" {target.version}). Compare both and rebase the proposal, as it is or in other words.",
            row.base_content,
            live,
        )
    after = applier.after(live, words)
    findings = _confirmed_findings(live, after, yes, applier.beside(target))
    tier = tier_of(applier.touches(live, after) | applier.reaches(target))
    edited, base = (words, applier.base(target)) if edits else (None, None)
    return ApprovalVerdict(yes.reviewed_sha256, tier, edited, base, findings, yes.reason)


def _words_to_apply(row: Proposal, applier: Applier, yes: ApprovalRequest) -> Values:
    if yes.content is not None:
        return applier.check(yes.content)
    if applier.free_text and not row.is_edited:
        raise Invalid(
            "This proposal is free text. Send what it comes to, field by field.",
            {"content": ["Say how the fields shall read."]},
        )
    words: Values = row.words
    return words


def _confirmed_findings(live: Values, after: Values, yes: ApprovalRequest, beside: tuple[str, ...]) -> tuple[str, ...]:
    findings = (
        *rules_to_confirm(text for name in sorted(changed_fields(live, after)) for text in _as_texts(after[name])),
        *beside,
    )
    if findings and not (yes.confirm_findings and yes.reason.strip()):
        raise FindingsUnconfirmed(
            f"The scanner points at something in these words ({', '.join(findings)}). Read them once more; if they may stand,"
            " confirm the findings and say why.",
            findings,
        )
    return findings


def _as_texts(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list | dict) else [str(value)]


def _refuse_changed_since(applied: Proposal, target: Target) -> None:
    if "version" in applied.replaced_values and target.version != applied.replaced_values["version"]:
        raise IllegalTransition(
            f"{applied.target_label} changed again since, so nothing is undone. Change it by hand, or restore a version."
        )


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
