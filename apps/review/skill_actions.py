"""Decisions on a skill's draft from the skill's own page. Each one decides on the proposal that holds the draft (R093, R107)."""

from apps.governance.actors import Actor
from apps.governance.errors import Conflict, IllegalTransition, Stale
from apps.governance.governed_write import lock_row, refuse_stale
from apps.governance.models import Proposal
from apps.governance.policy.policy_table import Act
from apps.governance.proposals.actions import reject_proposal
from apps.review.approval_verdict import ApprovalRequest
from apps.review.decisions import Decision, DecisionResult, decision_transaction
from apps.skills.models import Skill
from apps.skills.proposals import refuse_edited_proposal, refuse_quarantined, submission_of, submit_draft


def approve_skill(
    skill: Skill,
    *,
    actor: Actor,
    reviewed_sha256: str,
    read_at: int | None = None,
    reason: str = "",
    confirm_findings: bool = False,
) -> DecisionResult:
    """Approve a draft as the reviewer read it. It reaches customers once the required number of reviewers have approved.

    Open sessions keep the skill index that they started with.
    """
    with decision_transaction(Act.SKILL_APPROVE, skill, actor=actor):
        lock_row(skill, read_at)
        _refuse_unreviewed(skill, reviewed_sha256)
        proposal = _open_submission(skill, actor) or submit_draft(skill, actor=actor)
        refuse_edited_proposal(proposal, skill)
        request = ApprovalRequest(proposal.content_sha256, confirm_findings=confirm_findings, reason=reason)
        return Decision(actor, proposal, skill).approve(request)


def reject_draft(skill: Skill, *, actor: Actor, reason: str, reason_code: str, read_at: int | None = None) -> Proposal:
    """Reject a draft, as the inbox does. Its author can read the reason with the proposal, and may write another draft."""
    with decision_transaction(Act.PROPOSAL_REJECT, skill, actor=actor):
        refuse_stale(skill, read_at)
        waiting = _open_submission(skill, actor)
        if waiting is None:
            raise Conflict("This draft no longer waits for a review. Discard it, or approve it as it is.")
        return reject_proposal(waiting, actor=actor, reason=reason, reason_code=reason_code)


def _open_submission(skill: Skill, actor: Actor) -> Proposal | None:
    proposal = submission_of(skill, actor)
    return proposal if proposal is not None and proposal.is_open else None


def _refuse_unreviewed(skill: Skill, reviewed_sha256: str) -> None:
    refuse_quarantined(skill)
    if skill.content_sha256 != reviewed_sha256:
        raise Stale("The skill changed since you read it. Read it again before you decide.", skill.version)
    if skill.status != Skill.Status.DRAFT:
        raise IllegalTransition(f"Cannot approve a skill that is {skill.status}.")
