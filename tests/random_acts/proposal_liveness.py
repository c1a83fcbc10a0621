"""Whether a proposal has every way on that its state allows, tried and taken back; and whether any words were lost."""

from collections.abc import Iterator
from typing import Any

from django.db import transaction

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError
from apps.governance.models import ChangeText, Proposal
from apps.governance.proposals.actions import reject_proposal, reopen_proposal
from apps.review.approval_verdict import ApprovalRequest
from apps.review.decisions import approve, rebase
from apps.review.review_sheet import read_review_sheet
from tests.random_acts.crowded_inbox import CrowdedInbox

State = Proposal.State


def stuck_proposals(inbox: CrowdedInbox) -> Iterator[str]:
    """Each proposal that cannot be approved and rejected any more, reopened and rebased first where it has to be."""
    for row in inbox.rows(Proposal):
        if row.state == State.APPLIED:
            # Its change is live; there is nothing left to decide.
            continue
        for name, last in (("approved", _approve_fully), ("rejected", _reject)):
            try:
                with transaction.atomic():
                    last(inbox, _reopen_proposal(inbox, row))
                    transaction.set_rollback(True)
            except GovernanceError as refusal:
                yield f"proposal {row.pk} ({row}, {row.state}) can no longer be {name}: {refusal}"


def stale_proposals(inbox: CrowdedInbox) -> list[Proposal]:
    """The open ones whose target is not what their proposer read."""
    waiting = inbox.rows(Proposal, state=State.OPEN)
    return [row for row in waiting if read_review_sheet(row, actor=inbox.people[0]).needs_rebase]


def lost_requests(inbox: CrowdedInbox) -> Iterator[str]:
    """Each time somebody asked whose words stand in no proposal and no change record, and who was told nothing."""
    with acting_as(inbox.people[0]):
        texts = ChangeText.objects.filter(record__subject_type="governance.proposal").values_list("after", flat=True)
        kept = "\n".join([*map(str, texts), *(f"{row.content} {row.rationale}" for row in inbox.rows(Proposal))])
    for one in inbox.asked:
        if one.mark not in kept and not one.told:
            yield f"what was asked for as number {one.number} ({one.kind}) stands nowhere"


def _reopen_proposal(inbox: CrowdedInbox, row: Proposal) -> Proposal:
    person = inbox.people[0]
    standing: Proposal = inbox.read(row)
    if standing.state in {State.REJECTED, State.EXPIRED}:
        for successor in inbox.rows(Proposal, **_same_target(standing), state=State.OPEN):
            # Asked for again since: there is one at a time, so this one has its turn after that one.
            reject_proposal(successor, actor=person, reason="First the other.")
        reopen_proposal(standing, actor=person, reason="Once more.")
    if read_review_sheet(standing, actor=person).needs_rebase:
        rebase(standing, actor=person)
    return standing


def _same_target(row: Proposal) -> dict[str, object]:
    return {"kind": row.kind, "target_type": row.target_type, "target_id": row.target_id}


def _reject(inbox: CrowdedInbox, row: Proposal) -> None:
    reject_proposal(row, actor=inbox.people[0], reason="No.")


def _approve_fully(inbox: CrowdedInbox, row: Proposal) -> None:
    """As many people as it takes; free text is said in fields first, by somebody who is none of those who agree."""
    content: Any = {"style": "As it was meant."} if row.kind == Proposal.Kind.PERSONA_PATCH else None
    for person in inbox.people[::-1]:
        standing: Proposal = inbox.read(row)
        yes = ApprovalRequest(standing.content_sha256, content, confirm_findings=True, reason="I read it.")
        if approve(standing, yes, actor=person).applied:
            return
        content = None
    raise AssertionError(f"Three people agreed to proposal {row.pk}, and it was not applied.")
