"""Request bodies for decisions on proposals, and the mapping from target states to decisions."""

from rest_framework.exceptions import ValidationError
from rest_framework.serializers import ChoiceField, DateTimeField, DictField

from apps.api.framework.row_actions import check_transition
from apps.api.protocol.request_bodies import (
    OptionalVersionBody,
    ParsedBody,
    RequestBody,
    StrictBooleanField,
    StrictIntegerField,
    StrictTextField,
)
from apps.governance.actors import Actor
from apps.governance.models import Proposal
from apps.governance.proposals.actions import quarantine_proposal, reject_proposal, release_proposal, reopen_proposal
from apps.personas.models import SECTIONS
from apps.review.approval_verdict import ApprovalRequest
from apps.review.decisions import approve, rebase, rebase_cleanly, undo
from apps.tenants.review_settings import review_terms

State = Proposal.State
TARGET_STATES = (State.APPLIED, State.REJECTED, State.QUARANTINED, State.OPEN)
VERSION_HELP = "The proposal's version that was read."
BULK_ACTIONS = (
    *("create", "delete", "approve", "reject", "rebase", "request-revision"),
    *("claim", "snooze", "quarantine", "release", "reopen"),
)


class ProposalTransitionBody(RequestBody):
    """A decision, named by the state to reach. For a persona's free-text patch the resulting sections are sent along.

    `open` reopens a rejected or expired proposal, releases a quarantined one, and undoes one that was just applied.
    """

    to = ChoiceField([state.value for state in TARGET_STATES])
    content = DictField(required=False, help_text="For applied: the text as the reviewer edited it.")
    reviewed_sha256 = StrictTextField(
        required=False, help_text="For applied: the `content_sha256` that was read, beside or instead of `version`."
    )
    identity = StrictTextField(required=False)
    style = StrictTextField(required=False)  # type: ignore[assignment]  # of the same name in DRF: a dict for HTML forms
    avoid = StrictTextField(required=False)
    defaults = StrictTextField(required=False)
    goals = StrictTextField(required=False)
    target_version = StrictIntegerField(
        required=False, help_text="The persona's version that was shown with the proposal."
    )
    version = StrictIntegerField(required=False, help_text="The proposal's version that was read; applied needs it.")
    reason_code = ChoiceField(Proposal.Reason.choices, required=False)
    confirm_findings = StrictBooleanField(required=False)
    reason = StrictTextField(required=False)


class SubmitProposalBody(RequestBody):
    """A change that its author may not make, or wants others to review first."""

    kind = ChoiceField(Proposal.Kind.choices)
    target_id = StrictIntegerField(
        required=False, allow_null=True, help_text="The target row; for rule.lines an agent, or null for all agents."
    )
    content = DictField(required=False)
    rationale = StrictTextField(required=False, max_length=4_000)


class ApprovalBody(RequestBody):
    """An approval of exactly the bytes that were read."""

    reviewed_sha256 = StrictTextField(help_text="The `content_sha256` that was read.")
    content = DictField(required=False, help_text="The text as the reviewer edited it. Left out: unchanged.")
    confirm_findings = StrictBooleanField(
        required=False, help_text="True, with a reason: confirms the scanner's findings."
    )
    target_version = StrictIntegerField(
        required=False, help_text="The target's version that was shown with the proposal."
    )
    version = StrictIntegerField(required=False, help_text=VERSION_HELP)
    reason = StrictTextField(required=False)


class RejectProposalBody(RequestBody):
    """A rejection, with a reason code and an optional explanation."""

    about = RequestBody.about - {"reason"}

    reason_code = ChoiceField(Proposal.Reason.choices)
    reason = StrictTextField(required=False)
    version = StrictIntegerField(required=False, help_text=VERSION_HELP)


class RevisionRequestBody(RequestBody):
    """A request to the agent to revise the proposal."""

    revision_request = StrictTextField()
    version = StrictIntegerField(required=False, help_text=VERSION_HELP)


class SnoozeBody(RequestBody):
    """The time until which the proposal is snoozed."""

    until = DateTimeField(allow_null=True)
    version = StrictIntegerField(required=False, help_text=VERSION_HELP)


class RebaseProposalBody(OptionalVersionBody):
    """A new text over the live content. Left out: the proposal's text stays."""

    content = DictField(required=False)
    merge = StrictBooleanField(
        required=False,
        help_text="True, without `content`: merge the proposal's text with the live text; 409 if both changed the same place.",
    )


def approval_request(sent: ParsedBody) -> ApprovalRequest:
    """Return the approval request that the body describes."""
    values = sent.values
    return ApprovalRequest(
        values["reviewed_sha256"],
        values.get("content"),
        values.get("confirm_findings", False),
        values.get("reason", ""),
        sent.read_at,
        values.get("target_version"),
    )


def rebase_as_sent(proposal: Proposal, sent: ParsedBody, *, actor: Actor) -> Proposal:
    """Rebase a proposal with the text of the body, with its own, or merged with the live text."""
    content = sent.values.get("content")
    if not sent.values.get("merge", False):
        return rebase(proposal, actor=actor, content=content, read_at=sent.read_at)
    if content is not None:
        raise ValidationError({"merge": ["Send either `content` or `merge`."]})
    return rebase_cleanly(proposal, actor=actor, read_at=sent.read_at)


def transition_proposal(proposal: Proposal, sent: ParsedBody, *, actor: Actor) -> bool:
    """Perform a decision. Return true if it took effect, false if other reviewers must agree first."""
    to, reason = sent.values["to"], sent.reason
    # A proposal whose time has run out can be reopened before the hourly sweep, too.
    if not (to == State.OPEN and proposal.current_state == State.EXPIRED):
        check_transition(proposal, "state", to)
    if to == State.APPLIED:
        return approve(proposal, _transition_approval(proposal, sent), actor=actor).applied
    if to == State.OPEN:
        _reopen(proposal, sent, reason, actor)
    elif not reason.strip():
        raise ValidationError({"reason": ["Send a reason. It stays with the proposal."]})
    elif to == State.QUARANTINED:
        quarantine_proposal(proposal, actor=actor, reason=reason, read_at=sent.read_at)
    else:
        code = sent.values.get("reason_code", "")
        reject_proposal(proposal, actor=actor, reason=reason, reason_code=code, read_at=sent.read_at)
    return True


def _reopen(proposal: Proposal, sent: ParsedBody, reason: str, actor: Actor) -> None:
    if proposal.state == State.APPLIED:
        undo(proposal, actor=actor, read_at=sent.read_at)
    elif proposal.state == State.QUARANTINED:
        release_proposal(proposal, actor=actor, reason=reason, terms=review_terms(actor), read_at=sent.read_at)
    else:
        reopen_proposal(proposal, actor=actor, reason=reason, terms=review_terms(actor), read_at=sent.read_at)


def _transition_approval(proposal: Proposal, sent: ParsedBody) -> ApprovalRequest:
    seen = sent.values.get("reviewed_sha256")
    if sent.read_at is None and seen is None:
        raise ValidationError({"version": ["Send the version of the proposal that you read and decide on."]})
    sections = sent.only(*SECTIONS)
    target_version = sent.values.get("target_version")
    if proposal.kind not in {Proposal.Kind.PERSONA_PATCH, Proposal.Kind.PERSONA_FIELDS}:
        _refuse_persona_sections(sent)
    confirmed, reason = sent.values.get("confirm_findings", False), sent.reason
    content = sent.values.get("content", sections or None)
    # The version that was read identifies the bytes. It is compared again under the lock.
    return ApprovalRequest(seen or proposal.content_sha256, content, confirmed, reason, sent.read_at, target_version)


def _refuse_persona_sections(sent: ParsedBody) -> None:
    if foreign := sent.only(*SECTIONS):
        raise ValidationError(
            {
                name: ["This field is for proposals about a persona. This proposal is about another kind of row."]
                for name in foreign
            }
        )
