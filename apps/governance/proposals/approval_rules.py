"""Rules of proposals: the values a proposer and a reviewer hand in, the refusals of both, and the evidence count.

The evidence count is pure. It counts each conversation that asks for the change once.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError

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
    "Somebody approved this already, or an earlier wording of it, or commented on it, so it is not taken back."
    " Reject it instead."
)


@dataclass(frozen=True, slots=True)
class ProposedOutcome:
    """What a yes would make of a row: other values, or its end. `is_signed` where somebody would answer for all of it."""

    row: Governed
    values: Mapping[str, Any]  # Any: a text or lines
    is_signed: bool = True
    goes: bool = False


@dataclass(frozen=True, slots=True)
class ProposalBase:
    """What a change was read from: the target's version, the hash of what is bound, and its texts."""

    version: int
    sha256: str
    content: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProposedChange:
    """What would change if a person says yes, and what the proposer read. `agent_id` is None for what belongs to no one agent."""

    kind: Proposal.Kind
    agent_id: int | None
    base_sha256: str
    content: Mapping[str, Any]
    rationale: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    base_version: int = 0
    base_content: Mapping[str, Any] = field(default_factory=dict)
    risk: RiskTier = RiskTier.LOW
    # Whose words they are, if not just those of whoever proposes.
    proposed_by: str = ""
    taint: Taint | None = None

    def fields_of(self, act: Act) -> frozenset[str]:
        """The governed fields it is about: those it names, or else whatever the act is for."""
        governs = frozenset(POLICY[act].fields)
        return (frozenset(self.content) & governs or governs) if self.content else frozenset()


@dataclass(frozen=True, slots=True)
class ApprovalVerdict:
    """A reviewer's yes: to which bytes, edited how and over what, with which findings confirmed."""

    reviewed_sha256: str
    risk: RiskTier
    edited: Mapping[str, Any] | None = None
    base: ProposalBase | None = None
    findings: tuple[str, ...] = ()
    reason: str = ""

    def edits(self, proposal: Proposal) -> bool:
        """Whether the words are not those that stood there."""
        return self.edited is not None and dict(self.edited) != proposal.words


def approvals_required(proposal: Proposal, terms: ReviewTerms) -> RequiredApprovals:
    """Who has to agree to it as it stands."""
    return approvals_for_tier(RiskTier(proposal.risk), terms.high_risk_reviewers)


def has_enough_approvals(proposal: Proposal, terms: ReviewTerms) -> bool:
    """Whether everybody who has to agree has."""
    return proposal.approval_count >= approvals_required(proposal, terms).reviewers


def authors_of(proposal: Proposal) -> set[int]:
    """Who proposed the words or edited them."""
    return {*proposal.proposers, *({proposal.edited_by_id} - {None})}


def reviewers_of(proposal: Proposal) -> list[Approval]:
    """Who agreed to the bytes that stand there now."""
    return list(Approval.objects.filter(proposal=proposal, content_sha256=proposal.content_sha256))


def refuse_changed_content(proposal: Proposal, reviewed_sha256: str) -> None:
    """Refuse a yes to other bytes than those that stand there."""
    if proposal.content_sha256 != reviewed_sha256:
        raise ReviewedContentChanged(
            "The proposal is not what you read: somebody revised it, edited it or bound it to a newer text since."
            " Read it again and decide on what stands there.",
            proposal.version,
            proposal.content_sha256,
            proposal.words,
        )


def refuse_undecidable(proposal: Proposal) -> None:
    """Refuse a decision on what does not wait."""
    if proposal.state == Proposal.State.OPEN:
        return
    instead = {
        Proposal.State.QUARANTINED: "Release it first; it says why it is held.",
        Proposal.State.APPLIED: "What it changed is live.",
    }.get(Proposal.State(proposal.state), "Reopen it first.")
    raise IllegalTransition(f"Cannot decide on a proposal that is {proposal.state}. {instead}")


def refuse_self_approval(proposal: Proposal, actor: Actor, panel: RequiredApprovals, *, edits: bool) -> None:
    """Refuse whoever would judge their own words where nobody may, and whoever said yes to these bytes already."""
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
    """Refuse a first yes that could never be followed by enough others, and say the ways out."""
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
    """Refuse an agent one more proposal than its tenant wants to read, and say what it can do instead.

    Those it wrote or revised itself count: runbooks that were imported for it, or drafted by a worker, are no fault of its own.
    """
    if actor.is_person or actor.agent_id is None:
        return
    mine = Proposal.objects.visible_to(actor).open().filter(proposers__contains=[actor.user_id])
    if mine.count() < terms.max_open_proposals:
        return
    some = "; ".join(f"{row.pk}: {row}" for row in mine.order_by("-updated_at")[:NAMED_IN_FULL_QUEUE])
    raise QueueFull(
        f"{terms.max_open_proposals} of your proposals wait for a person already, which is all that may. Revise one of them"
        f" instead of adding another (the latest are {some}), or wait until some are decided."
    )


def earlier_open_proposal(target: Governed, actor: Actor, change: ProposedChange) -> Proposal | None:
    """The open proposal that this one revises. People's for everybody is no agent's to see, and they revise none of an agent's."""
    waiting = Proposal.objects.visible_to(actor).open().about(target).filter(kind=change.kind)
    return waiting.filter(agent__isnull=change.agent_id is None).first()


def refuse_approved(proposal: Proposal) -> None:
    """Raise `Conflict` where a reviewer said yes to the words as they stand."""
    if proposal.approval_count:
        raise Conflict(APPROVED_ALREADY)


@contextmanager
def conflict_if_approved() -> Iterator[None]:
    """The same for a yes to an earlier wording, and for a comment. An agent may not look at them; their references refuse."""
    try:
        yield
    except IntegrityError as error:
        raise Conflict(APPROVED_ALREADY) from error


def refuse_rejected(target: Governed, actor: Actor, change: ProposedChange) -> None:
    """Refuse an agent what a person has said no to, word for word, and say why they did."""
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
    """Refuse to the proposer, not to the reviewer, what could never be applied."""
    candidate = model(**values)
    others = {field.name for field in model._meta.concrete_fields} - set(values)
    try:
        candidate.clean_fields(exclude=others)
    except ValidationError as refusal:
        raise invalid_from_validation(refusal) from refusal


def earlier_rejections(proposal: Proposal, actor: Actor) -> list[Proposal]:
    """The last rejections of the same thing, so that who asks again can answer their reasons."""
    rows = Proposal.objects.visible_to(actor).filter(
        kind=proposal.kind,
        target_type=proposal.target_type,
        target_id=proposal.target_id,
        state=Proposal.State.REJECTED,
    )
    return list(rows.order_by("-decided_at")[:REJECTIONS_SHOWN])


def rejection_reason(proposal: Proposal) -> str:
    """The reason of a no as one reads it."""
    label = proposal.get_reason_code_display() if proposal.reason_code else ""
    return ": ".join(filter(None, [label, proposal.decision_reason])) or "no reason given"


CONVERSATION = "conversation_id"
CONVERSATIONS = "conversation_ids"
# How often it was asked for with no conversation named.
UNNAMED_REQUESTS = "requests_without_conversation"


def merge_evidence(before: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The evidence with that of one more time it was asked for."""
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
    """How many conversations ask for it, and how many times it was asked for with none named."""
    return len(evidence.get(CONVERSATIONS, [])) + int(evidence.get(UNNAMED_REQUESTS, 0))
