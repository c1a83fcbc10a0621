"""Acts on proposals; what a proposal changes when applied is its noun's act."""

from django.utils import timezone

from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.governance.door import governed
from apps.governance.models import Governed, Proposal, Taint
from apps.governance.policy import Act
from apps.governance.proposals import ProposedChange


def open_proposal(target: Governed, *, actor: Actor, act: Act, change: ProposedChange) -> Proposal:
    """Put a change before a person. A second proposal of the kind revises the open one and adds its evidence."""
    with acting(actor):
        known = Proposal.objects.visible_to(actor).open().about(target).filter(kind=change.kind).first()
    proposal = known or Proposal(
        tenant_id=target.tenant_id,
        agent_id=change.agent_id,
        target_type=target._meta.label_lower,
        target_id=target.pk,
        kind=change.kind,
    )
    with governed(act, proposal, actor=actor, evidence=change.evidence) as row:
        row.target_label = str(target)[:200]
        row.base_sha256 = change.base_sha256
        row.content = dict(change.content)
        row.rationale = change.rationale
        row.evidence = {**row.evidence, **change.evidence}
        row.support_count = row.support_count + 1 if known else 1
        row.proposed_by = actor.label
        row.taint = row.taint if actor.is_person else Taint.AGENT
    return proposal


def reject_proposal(proposal: Proposal, *, actor: Actor, reason: str, read_at: int | None = None) -> Proposal:
    """Say no. The target stays as it is; the reason stays with the proposal."""
    with governed(Act.PROPOSAL_REJECT, proposal, actor=actor, read_at=read_at, reason=reason) as row:
        row.reject()
        _decide(row, actor, reason)
    return proposal


def settle_proposal(proposal: Proposal, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Proposal:
    """Close a proposal whose change has been made in the same transaction."""
    with governed(Act.PROPOSAL_APPLY, proposal, actor=actor, read_at=read_at, reason=reason) as row:
        row.apply()
        _decide(row, actor, reason)
    return proposal


def _decide(row: Proposal, actor: Actor, reason: str) -> None:
    row.decided_by = actor.label
    row.decided_at = timezone.now()
    row.decision_reason = reason
