"""What a person can do with a proposal: each button one decision."""

from datetime import timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone

from apps.console.deeds import Button, Values
from apps.console.forms import OptionalReason, PatchDecision, ReasonedDecision, Rejection, Snooze
from apps.console.forms import Yes as YesForm
from apps.governance.actions import (
    UNDO_WITHIN,
    claim_proposal,
    quarantine_proposal,
    reject_proposal,
    release_proposal,
    reopen_proposal,
    request_revision,
    snooze_proposal,
    withdraw_proposal,
)
from apps.governance.actors import Actor
from apps.governance.models import Proposal
from apps.governance.policy import Act
from apps.personas.models import SECTIONS, Persona
from apps.review.decisions import Decided, Yes, approve, rebase, undo
from apps.tenants.terms import review_terms


def _yes(said: Values, content: dict[str, str] | None = None) -> Yes:
    return Yes(
        said["seen_sha256"],
        content,
        said["confirm_findings"],
        said["reason"],
        said["read_at"],
        said.get("persona_version"),
    )


def _patch(proposal: Proposal, actor: Actor, said: Values) -> Decided:
    return approve(proposal, _yes(said, {name: said[name] for name in SECTIONS}), actor=actor)


def _approve(proposal: Proposal, actor: Actor, said: Values) -> Decided:
    return approve(proposal, _yes(said), actor=actor)


def _seen(proposal: Proposal) -> dict[str, Any]:
    return {"seen_sha256": proposal.content_sha256}


def _live_sections(proposal: Proposal) -> dict[str, Any]:
    persona = Persona.objects.get(pk=proposal.target_id)
    live = {name: getattr(persona, name) for name in SECTIONS}
    edited = proposal.edited_content or {}
    return {"persona_version": persona.version, **live, **edited, **_seen(proposal)}


def _outcome(decided: Decided) -> str:
    return decided.sentence


def _reject(proposal: Proposal, actor: Actor, said: Values) -> Proposal:
    return reject_proposal(
        proposal, actor=actor, reason=said["reason"], reason_code=said["reason_code"], read_at=said["read_at"]
    )


def _undo(proposal: Proposal, actor: Actor, said: Values) -> Proposal:
    return undo(proposal, actor=actor, read_at=said["read_at"])


def _rebase(proposal: Proposal, actor: Actor, said: Values) -> Proposal:
    return rebase(proposal, actor=actor, read_at=said["read_at"])


def _reopen(proposal: Proposal, actor: Actor, said: Values) -> Proposal:
    terms = review_terms(actor)
    return reopen_proposal(proposal, actor=actor, reason=said["reason"], terms=terms, read_at=said["read_at"])


def _snooze(proposal: Proposal, actor: Actor, said: Values) -> Proposal:
    until = timezone.now() + timedelta(days=said["days"]) if said["days"] else None
    return snooze_proposal(proposal, actor=actor, until=until, read_at=said["read_at"])


def _claim(proposal: Proposal, actor: Actor, said: Values) -> Proposal:
    return claim_proposal(proposal, actor=actor, read_at=said["read_at"])


def _ask(proposal: Proposal, actor: Actor, said: Values) -> Proposal:
    return request_revision(proposal, actor=actor, words=said["reason"], read_at=said["read_at"])


def _quarantine(proposal: Proposal, actor: Actor, said: Values) -> Proposal:
    return quarantine_proposal(proposal, actor=actor, reason=said["reason"], read_at=said["read_at"])


def _release(proposal: Proposal, actor: Actor, said: Values) -> Proposal:
    return release_proposal(proposal, actor=actor, reason=said["reason"], read_at=said["read_at"])


def _withdraw(proposal: Proposal, actor: Actor, said: Values) -> None:
    withdraw_proposal(proposal, actor=actor, reason=said["reason"])


def _is_open(proposal: Proposal) -> bool:
    return bool(proposal.state == Proposal.State.OPEN)


def _is_patch(proposal: Proposal) -> bool:
    return _is_open(proposal) and proposal.kind == Proposal.Kind.PERSONA_PATCH


def _is_ready(proposal: Proposal) -> bool:
    return _is_open(proposal) and proposal.kind != Proposal.Kind.PERSONA_PATCH


def _is_applied(proposal: Proposal) -> bool:
    if proposal.state != Proposal.State.APPLIED or proposal.decided_at is None:
        return False
    return timezone.now() - proposal.decided_at < UNDO_WITHIN


def _is_closed(proposal: Proposal) -> bool:
    return proposal.state in {Proposal.State.REJECTED, Proposal.State.EXPIRED}


def _is_held(proposal: Proposal) -> bool:
    return bool(proposal.state == Proposal.State.QUARANTINED)


def _queue(proposal: Proposal) -> str:
    del proposal
    return reverse("admin:governance_proposal_changelist")


BUTTONS = (
    Button(
        "apply",
        "Approve",
        Act.PROPOSAL_APPROVE,
        _patch,
        done=_outcome,
        consequence="The sections as they stand in these fields become live for the next session of agent {agent};"
        " sessions already open keep theirs.",
        form=PatchDecision,
        initial=_live_sections,
        when=_is_patch,
        tone="primary",
        folded=False,
    ),
    Button(
        "approve",
        "Approve",
        Act.PROPOSAL_APPROVE,
        _approve,
        done=_outcome,
        consequence="What you read becomes live for the next session, signed by you; sessions already open keep theirs.",
        form=YesForm,
        initial=_seen,
        when=_is_ready,
        tone="primary",
        folded=False,
    ),
    Button(
        "reject",
        "Reject",
        Act.PROPOSAL_REJECT,
        _reject,
        done="Rejected. What is live stays as it is.",
        consequence="What is live stays as it is. The agent is told the reason.",
        form=Rejection,
        when=_is_open,
        tone="danger",
    ),
    Button(
        "undo",
        "Undo",
        Act.PROPOSAL_UNDO,
        _undo,
        done="Undone. What was live before is live again, and the proposal waits.",
        consequence="Within a minute of your approval: what was live before is live again.",
        when=_is_applied,
    ),
    Button(
        "claim",
        "I am looking at it",
        Act.PROPOSAL_CLAIM,
        _claim,
        done="Others see for half an hour that you are looking at it.",
        consequence="Others see it for half an hour. It keeps nobody from deciding.",
        when=_is_open,
    ),
    Button(
        "snooze",
        "Later",
        Act.PROPOSAL_SNOOZE,
        _snooze,
        done="Put off. It comes back by itself.",
        form=Snooze,
        when=_is_open,
    ),
    Button(
        "ask",
        "Ask for another version",
        Act.PROPOSAL_REQUEST_REVISION,
        _ask,
        done="Asked. The agent reads it with its proposal.",
        consequence="The agent reads your words with its proposal and may revise it.",
        form=ReasonedDecision,
        when=_is_open,
    ),
    Button(
        "rebase",
        "Rebase",
        Act.PROPOSAL_REBASE,
        _rebase,
        done="Bound to what is live now. Read it once more and decide.",
        consequence="Binds the proposal to what is live now. Earlier approvals no longer count.",
        when=_is_open,
    ),
    Button(
        "quarantine",
        "Quarantine",
        Act.PROPOSAL_QUARANTINE,
        _quarantine,
        done="Held apart. Nobody decides on it until it is released.",
        form=ReasonedDecision,
        when=_is_open,
        tone="danger",
    ),
    Button(
        "release",
        "Release",
        Act.PROPOSAL_RELEASE,
        _release,
        done="Released. It waits for a decision again.",
        form=ReasonedDecision,
        when=_is_held,
    ),
    Button(
        "reopen",
        "Reopen",
        Act.PROPOSAL_REOPEN,
        _reopen,
        done="Reopened. It waits for a decision again.",
        form=OptionalReason,
        when=_is_closed,
    ),
    Button(
        "withdraw",
        "Remove",
        Act.PROPOSAL_WITHDRAW,
        _withdraw,
        done="Removed. Its words stay in the history of changes.",
        consequence="Without an answer to the agent. The words stay in the history of changes.",
        form=OptionalReason,
        when=_is_open,
        leads_to=_queue,
    ),
)
