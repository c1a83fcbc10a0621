"""Rules of proposals: the inputs of proposers and reviewers, the refusals for both, and the evidence count.

The evidence count is pure. It counts each conversation that requests the change once.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.errors import (
    AlreadyRejected,
    Conflict,
    IllegalTransition,
    NeedsAnotherReviewer,
    QueueFull,
    ReviewedContentChanged,
)
from apps.governance.governed_write import invalid_from_validation
from apps.governance.models import Approval, Governed, Proposal, Taint
from apps.governance.policy.policy_table import POLICY, Act
from apps.governance.policy.risk_tiers import RequiredApprovals, ReviewTerms, RiskTier, approvals_for_tier

NAMED_IN_FULL_QUEUE = 5
REJECTIONS_SHOWN = 3
APPROVED_ALREADY = (
    "Somebody already approved this or an earlier wording of it, or commented on it, so it cannot be withdrawn."
    " Reject it instead."
)


@dataclass(frozen=True, slots=True)
class ProposedOutcome:
    """The effect of an approval on a row: new values, or retirement (`goes`).

    `is_signed`: the approver signs for the whole text.
    """

    row: Governed
    values: Mapping[str, Any]  # Any: a text or a list of lines
    is_signed: bool = True
    goes: bool = False


@dataclass(frozen=True, slots=True)
class ProposalBase:
    """The target's version, hash and texts that the proposed change was written for. The hash binds the proposal to that text."""

    version: int
    sha256: str
    content: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProposedChange:
    """A change to propose, and the base that the proposer read. `agent_id` is None if the change belongs to no single agent."""

    kind: Proposal.Kind
    agent_id: int | None
    base_sha256: str
    content: Mapping[str, Any]
    rationale: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    base_version: int = 0
    base_content: Mapping[str, Any] = field(default_factory=dict)
    risk: RiskTier = RiskTier.LOW
    # The author of the words, if it is not the actor who proposes them.
    proposed_by: str = ""
    taint: Taint | None = None

    def fields_of(self, act: Act) -> frozenset[str]:
        """Return the governed fields that the content names, or all fields of the act if the content is free text."""
        governs = frozenset(POLICY[act].fields)
        return (frozenset(self.content) & governs or governs) if self.content else frozenset()


@dataclass(frozen=True, slots=True)
class ApprovalVerdict:
    """A reviewer's approval: the hash of the bytes that were read, an optional edit with its base, and the confirmed findings."""

    reviewed_sha256: str
    risk: RiskTier
    edited: Mapping[str, Any] | None = None
    base: ProposalBase | None = None
    findings: tuple[str, ...] = ()
    reason: str = ""

    def edits(self, proposal: Proposal) -> bool:
        """Whether the reviewer changed the words."""
        return self.edited is not None and dict(self.edited) != proposal.words


def approvals_required(proposal: Proposal, terms: ReviewTerms) -> RequiredApprovals:
    """Return the approvals that the proposal requires at its current risk."""
    return approvals_for_tier(RiskTier(proposal.risk), terms.high_risk_reviewers)


def has_enough_approvals(proposal: Proposal, terms: ReviewTerms) -> bool:
    """Whether enough reviewers have approved."""
    return proposal.approval_count >= approvals_required(proposal, terms).reviewers


def authors_of(proposal: Proposal) -> set[int]:
    """Return the ids of the users who proposed or edited the words."""
    return {*proposal.proposers, *({proposal.edited_by_id} - {None})}


def reviewers_of(proposal: Proposal) -> list[Approval]:
    """Return the approvals of the proposal's current bytes."""
    return list(Approval.objects.filter(proposal=proposal, content_sha256=proposal.content_sha256))


def refuse_changed_content(proposal: Proposal, reviewed_sha256: str) -> None:
    """Refuse a decision if the reviewer read other bytes than the current ones."""
    if proposal.content_sha256 != reviewed_sha256:
        raise ReviewedContentChanged(
            "The proposal is not what you read: somebody revised it, edited it or bound it to a newer text since."
            " Read it again before you decide.",
            proposal.version,
            proposal.content_sha256,
            proposal.words,
        )


def refuse_undecidable(proposal: Proposal) -> None:
    """Refuse a decision on a proposal that is not open, or whose time has run out."""
    refuse_run_out(proposal)
    refuse_closed(proposal)


def refuse_run_out(proposal: Proposal) -> None:
    """Refuse a decision on an open proposal whose time has run out, before the sweep has marked it as expired."""
    if proposal.has_run_out(timezone.now()):
        raise IllegalTransition(
            f"The time to decide on this proposal ended on {proposal.expires_at:%d %B %Y at %H:%M} UTC. Reopen it first."
        )


def refuse_closed(proposal: Proposal) -> None:
    """Refuse a change of a proposal that is not open."""
    if proposal.state == Proposal.State.OPEN:
        return
    instead = {
        Proposal.State.QUARANTINED: "Release it first; it gives the reason of the quarantine.",
        Proposal.State.APPLIED: "Its change is live.",
    }.get(Proposal.State(proposal.state), "Reopen it first.")
    raise IllegalTransition(f"Cannot decide on a proposal that is {proposal.state}. {instead}")


def refuse_self_approval(proposal: Proposal, actor: Actor, panel: RequiredApprovals, *, edits: bool) -> None:
    """Refuse an author's approval if self-approval is not permitted, and a second approval by the same person."""
    if edits:
        return
    if actor.user_id in authors_of(proposal) and not panel.may_self_approve:
        wrote = "edited" if actor.user_id == proposal.edited_by_id else "proposed"
        raise NeedsAnotherReviewer(
            f"{actor.label} {wrote} this, and at {proposal.risk} risk nobody approves their own words."
            f" Ask {panel.reviewers} other reviewers."
        )
    if any(one.user_id == actor.user_id for one in reviewers_of(proposal)):
        raise Conflict("You approved this already. It waits for another reviewer.")


def refuse_too_few_reviewers(proposal: Proposal, panel: RequiredApprovals, terms: ReviewTerms) -> None:
    """Refuse an approval if too few members could give the required approvals, and say what to do instead."""
    if panel.may_self_approve or terms.people is None:
        return
    able = terms.people - authors_of(proposal)
    if len(able) < panel.reviewers:
        raise NeedsAnotherReviewer(
            f"The risk of this is {proposal.risk}: it needs {panel.reviewers} reviewers who neither proposed nor edited the"
            f" words, and the tenant has {len(able)} of them. Invite somebody, or let an admin set “reviewers for high"
            " risk” to one in the settings."
        )


def refuse_full_queue(actor: Actor, terms: ReviewTerms) -> None:
    """Refuse an agent's new proposal at the tenant's limit of open proposals, and say what the agent can do instead.

    Only proposals that the agent wrote or revised itself count, not runbooks that were imported for it or drafted by a worker.
    """
    if actor.is_person or actor.agent_id is None:
        return
    mine = Proposal.objects.visible_to(actor).open().filter(proposers__contains=[actor.user_id])
    if mine.count() < terms.max_open_proposals:
        return
    some = "; ".join(f"{row.pk}: {row}" for row in mine.order_by("-updated_at")[:NAMED_IN_FULL_QUEUE])
    raise QueueFull(
        f"{terms.max_open_proposals} of your proposals already wait for a person, which is the limit. Revise one of them"
        f" instead of adding another (the latest are {some}), or wait until some are decided."
    )


def earlier_open_proposal(target: Governed, actor: Actor, change: ProposedChange) -> Proposal | None:
    """Return the open proposal that this one would revise, even if its time has run out: the revision gives it new time.

    People's proposals for the organisation and agents' proposals stay separate.
    """
    waiting = Proposal.objects.visible_to(actor).unclosed().about(target).filter(kind=change.kind)
    return waiting.filter(agent__isnull=change.agent_id is None).first()


def refuse_approved(proposal: Proposal) -> None:
    """Raise `Conflict` if a reviewer has approved the current words."""
    if proposal.approval_count:
        raise Conflict(APPROVED_ALREADY)


@contextmanager
def conflict_if_approved() -> Iterator[None]:
    """Raise `Conflict` if the proposal has a comment or an approval of an earlier wording.

    The block's deletion fails on their foreign keys. They are not queried, because an agent may not read them.
    """
    try:
        yield
    except IntegrityError as error:
        raise Conflict(APPROVED_ALREADY) from error


def refuse_rejected(target: Governed, actor: Actor, change: ProposedChange) -> None:
    """Refuse an agent's proposal if a person rejected the same words before, and repeat the reason."""
    if actor.is_person:
        return
    said_no = Proposal.objects.visible_to(actor).about(target).filter(kind=change.kind, content=dict(change.content))
    refused = said_no.filter(state=Proposal.State.REJECTED).first()
    if refused is not None:
        raise AlreadyRejected(
            f"A person rejected exactly this as proposal {refused.pk} ({rejection_reason(refused)})."
            " Propose something that answers the reason, or ask an operator to reopen that one."
        )


def refuse_flaws(model: type[Governed], values: Mapping[str, Any]) -> None:
    """Refuse values that the model would not accept, at the time of the proposal and not only at its approval."""
    candidate = model(**values)
    others = {field.name for field in model._meta.concrete_fields} - set(values)
    try:
        candidate.clean_fields(exclude=others)
    except ValidationError as refusal:
        raise invalid_from_validation(refusal) from refusal


def earlier_rejections(proposal: Proposal, actor: Actor) -> list[Proposal]:
    """Return the latest rejections of the same kind and target, so that a new proposal can address their reasons."""
    rows = Proposal.objects.visible_to(actor).filter(
        kind=proposal.kind,
        target_type=proposal.target_type,
        target_id=proposal.target_id,
        state=Proposal.State.REJECTED,
    )
    return list(rows.order_by("-decided_at")[:REJECTIONS_SHOWN])


def rejection_reason(proposal: Proposal) -> str:
    """Return the reason of a rejection as text for people and agents."""
    label = proposal.get_reason_code_display() if proposal.reason_code else ""
    return ": ".join(filter(None, [label, proposal.decision_reason])) or "no reason given"


CONVERSATION = "conversation_id"
CONVERSATIONS = "conversation_ids"
# The key of the number of requests that named no conversation.
UNNAMED_REQUESTS = "requests_without_conversation"


def merge_evidence(before: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the evidence of a new request into the evidence of earlier requests for the same change."""
    named = [*new.get(CONVERSATIONS, []), *([new[CONVERSATION]] if new.get(CONVERSATION) else [])]
    known = list(dict.fromkeys([*before.get(CONVERSATIONS, []), *named]))
    unnamed = int(before.get(UNNAMED_REQUESTS, 0)) + (not named)
    together = {**before, **new}
    for name, value in ((CONVERSATIONS, known), (UNNAMED_REQUESTS, unnamed)):
        together.pop(name, None)
        if value:
            together[name] = value
    return together


def count_support(evidence: Mapping[str, Any]) -> int:
    """Return the number of conversations that request the change, plus the number of requests that named no conversation."""
    return len(evidence.get(CONVERSATIONS, [])) + int(evidence.get(UNNAMED_REQUESTS, 0))
