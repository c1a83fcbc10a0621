"""How acts are tried on proposals: as reviewers decide, in any order, on what stands there or on what is gone."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from django.db import connection
from django.utils import timezone

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.governance.policy.policy_table import Act
from apps.governance.proposals.actions import (
    claim_proposal,
    expire_proposal,
    quarantine_proposal,
    reject_proposal,
    release_proposal,
    reopen_proposal,
    request_revision,
    settle_proposal,
    snooze_proposal,
    withdraw_proposal,
)
from apps.review.approval_verdict import ApprovalRequest
from apps.review.decisions import approve, rebase, undo
from apps.skills.models import Skill
from apps.skills.proposals import submit_draft
from tests.random_acts.act_choice import ActChoice, ActRunner
from tests.random_acts.two_tenants import ActingTenant

State = Proposal.State
Kind = Proposal.Kind


def _decide_in_state(state: Proposal.State, act: Callable[..., object], **given: object) -> ActRunner:
    """Mostly on one that waits in this state, sometimes on any at all."""

    def deed(chosen: ActChoice) -> object:
        row = _pick_proposal(chosen, state)
        return act(row, actor=chosen.actor, read_at=chosen.read_at(row), **given)

    return deed


def _pick_proposal(chosen: ActChoice, state: Proposal.State, **equal: object) -> Any:
    wanted = equal if chosen.pick == 7 else {**equal, "state": state}
    return chosen.row(Proposal, **wanted)


def _approve(chosen: ActChoice) -> object:
    row = _pick_proposal(chosen, State.OPEN)
    seen = "0" * 64 if chosen.stale else row.content_sha256
    chosen.is_stale = chosen.stale
    yes = ApprovalRequest(seen, _edited_content(row, chosen), confirm_findings=True, reason="I read it.")
    return approve(row, yes, actor=chosen.actor)


def _edited_content(row: Proposal, chosen: ActChoice) -> dict[str, object] | None:
    """Free text has to be said in fields; of the rest every fourth is approved in other words."""
    if row.kind == Kind.PERSONA_PATCH:
        return None if row.is_edited and chosen.pick % 2 else {"style": chosen.words}
    if chosen.pick % 4 != 3 or row.kind == Kind.SKILL_DEPRECATION:
        return None
    content = dict(row.words)
    if row.kind == Kind.RULE_LINES:
        return {"lines": [chosen.words]}
    return {**content, "body" if "body" in content else next(iter(content)): chosen.words}


def _undo(kind: Proposal.Kind | None) -> ActRunner:
    def deed(chosen: ActChoice) -> object:
        row = _pick_proposal(chosen, State.APPLIED, **({"kind": kind} if kind else {}))
        return undo(row, actor=chosen.actor, read_at=chosen.read_at(row))

    return deed


def _rebase(chosen: ActChoice) -> object:
    row = _pick_proposal(chosen, State.OPEN)
    return rebase(row, actor=chosen.actor, read_at=chosen.read_at(row))


def _withdraw(chosen: ActChoice) -> object:
    withdraw_proposal(_pick_proposal(chosen, State.OPEN), actor=chosen.actor)
    return None


def _expire(chosen: ActChoice) -> object:
    row = _pick_proposal(chosen, State.OPEN)
    if chosen.pick % 2:
        expire_proposals(chosen.there, [row.pk])
    return expire_proposal(row, actor=chosen.actor)


def expire_proposals(side: ActingTenant, proposal_ids: list[int]) -> None:
    """Their time is up: what a month would do, done at once."""
    with acting_as(side.world.system), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE governance_proposal SET expires_at = now() - interval '1 day' WHERE id = ANY(%s)", [proposal_ids]
        )


def _snooze(chosen: ActChoice) -> object:
    row = _pick_proposal(chosen, State.OPEN)
    return snooze_proposal(
        row, actor=chosen.actor, until=timezone.now() + timedelta(days=1), read_at=chosen.read_at(row)
    )


PROPOSALS: Mapping[Act, ActRunner] = {
    Act.PROPOSAL_SUBMIT: lambda chosen: submit_draft(chosen.row(Skill, status=Skill.Status.DRAFT), actor=chosen.actor),
    Act.PROPOSAL_APPROVE: _approve,
    Act.PROPOSAL_APPLY: _decide_in_state(State.OPEN, settle_proposal),
    Act.PROPOSAL_UNDO: _undo(None),
    Act.SKILL_UNDO: _undo(Kind.SKILL_NEW),
    Act.PROPOSAL_REJECT: _decide_in_state(State.OPEN, reject_proposal, reason="Not this way.", reason_code="wrong"),
    Act.PROPOSAL_REOPEN: _decide_in_state(State.REJECTED, reopen_proposal, reason="Once more."),
    Act.PROPOSAL_SNOOZE: _snooze,
    Act.PROPOSAL_CLAIM: _decide_in_state(State.OPEN, claim_proposal),
    Act.PROPOSAL_REQUEST_REVISION: _decide_in_state(State.OPEN, request_revision, words="Shorter, please."),
    Act.PROPOSAL_REBASE: _rebase,
    Act.PROPOSAL_QUARANTINE: _decide_in_state(State.OPEN, quarantine_proposal, reason="Odd."),
    Act.PROPOSAL_RELEASE: _decide_in_state(State.QUARANTINED, release_proposal, reason="It is fine."),
    Act.PROPOSAL_WITHDRAW: _withdraw,
    Act.PROPOSAL_EXPIRE: _expire,
}
