"""The review sheet: base, live and proposed value of each field, and what the decision requires.

The module also approves single sections of a persona proposal, and tells why a proposal cannot be tried yet.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Final

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid
from apps.governance.models import Approval, Governed, Proposal
from apps.governance.policy.risk_tiers import RequiredApprovals, RiskFactor
from apps.governance.proposals.approval_rules import ProposedOutcome, approvals_required, authors_of, reviewers_of
from apps.prompt.injection_scanner.review_findings import rules_to_confirm
from apps.review.appliers.base import Applier, ReviewedFile, Values, changed_fields, merge_words
from apps.review.appliers.registry import applier_of, target_of
from apps.review.approval_verdict import ApprovalRequest, needs_rebase
from apps.review.clean_rebase import cleanly_rebased_words
from apps.review.decisions import DecisionResult, approve
from apps.tenants.review_settings import review_terms


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of the target: the value that the proposer read, the live value, and the value after an approval."""

    name: str
    base: Any  # Any: a text, or a list of lines
    live: Any
    after: Any

    @property
    def moved(self) -> bool:
        """Whether the live field changed since the proposer read it."""
        return bool(self.base != self.live)


@dataclass(frozen=True, slots=True)
class ProposalSheet:
    """A proposal as a reviewer sees it. `target` is None if the row no longer exists, so that nothing can be applied."""

    proposal: Proposal
    applier: Applier
    target: Governed | None
    fields: tuple[FieldChange, ...]
    touches: frozenset[RiskFactor]
    findings: tuple[str, ...]
    files: tuple[ReviewedFile, ...]
    needs_rebase: bool
    panel: RequiredApprovals
    approvals: tuple[Approval, ...]
    is_author: bool

    @property
    def needs_edited_content(self) -> bool:
        """Whether the proposal is free text, which a reviewer must still put into the target's fields."""
        return self.applier.awaits_words(self.proposal)

    @property
    def would(self) -> ProposedOutcome | None:
        """The effect of an approval; None if the proposal is not open, has no target, or needs a reviewer's wording."""
        if self.target is None or self.needs_edited_content or not self.proposal.is_open:
            return None
        after = self.applier.after(self.applier.live(self.target), self.proposal.words)
        return ProposedOutcome(self.target, after, not self.applier.appends, self.applier.retires)

    @property
    def merged_words(self) -> Values | None:
        """The words merged with the live text; None if no rebase is needed, or if a person has to choose."""
        if self.target is None:
            return None
        try:
            return cleanly_rebased_words(self.proposal, self.target, self.applier)
        except Conflict:
            return None

    @property
    def offered(self) -> Values:
        """The sections that would change, in their latest wording, including sections that a reviewer left out before."""
        if self.target is None or self.needs_edited_content or not self.applier.by_section:
            return {}
        live = self.applier.live(self.target)
        asked = merge_words(self.proposal.content, self.proposal.words)
        return {name: asked[name] for name in live if asked.get(name, live[name]) != live[name]}

    @property
    def left_out(self) -> tuple[str, ...]:
        """The proposed sections that a reviewer left out."""
        if self.applier.free_text or not self.applier.by_section:
            return ()
        return tuple(name for name in self.proposal.content if name not in self.proposal.words)

    @property
    def can_undo(self) -> bool:
        """Whether an approval of this kind can be undone (within a minute)."""
        return self.applier.undo is not None


def read_review_sheet(proposal: Proposal, *, actor: Actor) -> ProposalSheet:
    """Read the current state of a proposal and its target."""
    applier = applier_of(proposal)
    terms = review_terms(actor)
    with acting_as(actor):
        target = target_of(proposal, actor)
        fields, touches = _changes(proposal, applier, target)
        approvals = tuple(reviewers_of(proposal))
    return ProposalSheet(
        proposal,
        applier,
        target,
        fields,
        touches,
        _findings(proposal, applier, target, fields),
        () if target is None else applier.files(target),
        target is not None and needs_rebase(proposal, target, applier),
        approvals_required(proposal, terms),
        approvals,
        actor.user_id in authors_of(proposal),
    )


def _findings(
    proposal: Proposal, applier: Applier, target: Governed | None, fields: tuple[FieldChange, ...]
) -> tuple[str, ...]:
    beside: tuple[str, ...] = ()
    if target is not None and not applier.awaits_words(proposal):
        live = applier.live(target)
        beside = applier.beside(target, live, applier.after(live, proposal.words))
    return (*rules_to_confirm(text for field in fields for text in _as_texts(field.after)), *beside)


def _changes(
    proposal: Proposal, applier: Applier, target: Governed | None
) -> tuple[tuple[FieldChange, ...], frozenset[RiskFactor]]:
    if target is None or applier.awaits_words(proposal):
        return (), frozenset()
    live = applier.live(target)
    after = applier.after(live, proposal.words)
    base = proposal.base_content
    fields = (FieldChange(name, base.get(name, live.get(name)), live.get(name), after[name]) for name in after)
    shown = changed_fields(live, after)
    reached = applier.touches(live, after) | applier.reaches(target)
    return tuple(field for field in fields if field.name in shown or field.moved), reached


def _as_texts(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list | dict) else [str(value)]


def approve_sections(
    proposal: Proposal, sections: Collection[str], yes: ApprovalRequest, *, actor: Actor
) -> DecisionResult:
    """Approve only these sections.

    The proposal is edited to contain only them, and other sections of the target do not change.
    """
    offered = read_review_sheet(proposal, actor=actor).offered
    foreign = [name for name in sections if name not in offered]
    if foreign or not sections:
        among = f"It changes {', '.join(offered)}." if offered else "It has no sections to choose from."
        raise Invalid(
            f"Choose at least one of the sections that this proposal changes, or reject it. {among}",
            {name: ["The proposal does not change this."] for name in foreign},
        )
    content = {name: text for name, text in offered.items() if name in sections}
    return approve(proposal, replace(yes, content=content), actor=actor)


_NO_WORDING_YET: Final = "Proposal {number} has no final wording yet. Edit it, or choose another."


def trial_blocker(proposal: Proposal, actor: Actor) -> str:
    """Return why the proposal cannot be tried yet; empty if it can."""
    return _NO_WORDING_YET.format(number=proposal.pk) if read_review_sheet(proposal, actor=actor).would is None else ""
