"""What a person sends to decide on a proposal, and how the names of states to reach become decisions."""

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
from apps.review.decisions import approve, undo
from apps.tenants.review_settings import review_terms

State = Proposal.State
TARGET_STATES = (State.APPLIED, State.REJECTED, State.QUARANTINED, State.OPEN)
VERSION_HELP = "The proposal's version that was read."
BULK_ACTIONS = (
    *("create", "delete", "approve", "reject", "request-revision"),
    *("claim", "snooze", "quarantine", "release", "reopen"),
)


class ProposalTransitionBody(RequestBody):
    """What a person decided, by the state to reach. A persona's patch is free text: what it comes to is sent along.

    `open` takes up again what was rejected or expired, releases what is held, and undoes what one applied a moment ago.
    """

    to = ChoiceField([state.value for state in TARGET_STATES])
    content = DictField(required=False, help_text="For applied: the words as the reviewer changed them.")
    reviewed_sha256 = StrictTextField(
        required=False, help_text="For applied: the `content_sha256` that was read, beside or instead of `version`."
    )
    identity = StrictTextField(required=False)
    style = StrictTextField(required=False)  # type: ignore[assignment]  # of the same name in DRF: a dict for HTML forms
    avoid = StrictTextField(required=False)
    defaults = StrictTextField(required=False)
    goals = StrictTextField(required=False)
    target_version = StrictIntegerField(
        required=False, help_text="The persona's version that stood beside the proposal."
    )
    version = StrictIntegerField(required=False, help_text="The proposal's version that was read; applied needs it.")
    reason_code = ChoiceField(Proposal.Reason.choices, required=False)
    confirm_findings = StrictBooleanField(required=False)
    reason = StrictTextField(required=False)


class SubmitProposalBody(RequestBody):
    """A change that its author may not make, or wants others to look at first."""

    kind = ChoiceField(Proposal.Kind.choices)
    target_id = StrictIntegerField(
        required=False, allow_null=True, help_text="What it is about; for rule.lines an agent, or null for everybody."
    )
    content = DictField(required=False)
    rationale = StrictTextField(required=False, max_length=4_000)


class ApprovalBody(RequestBody):
    """A yes to exactly the bytes that were read."""

    reviewed_sha256 = StrictTextField(help_text="The `content_sha256` that was read.")
    content = DictField(required=False, help_text="The words as the reviewer changed them; left out, they stay.")
    confirm_findings = StrictBooleanField(
        required=False, help_text="True, with a reason: what the scanner points at may stand."
    )
    target_version = StrictIntegerField(
        required=False, help_text="The target's version that stood beside the proposal."
    )
    version = StrictIntegerField(required=False, help_text=VERSION_HELP)
    reason = StrictTextField(required=False)


class RejectProposalBody(RequestBody):
    """A no, and why in a word; other words are welcome."""

    about = RequestBody.about - {"reason"}

    reason_code = ChoiceField(Proposal.Reason.choices)
    reason = StrictTextField(required=False)
    version = StrictIntegerField(required=False, help_text=VERSION_HELP)


class RevisionRequestBody(RequestBody):
    """What the agent should say otherwise."""

    revision_request = StrictTextField()
    version = StrictIntegerField(required=False, help_text=VERSION_HELP)


class SnoozeBody(RequestBody):
    """Until when it is put off."""

    until = DateTimeField(allow_null=True)
    version = StrictIntegerField(required=False, help_text=VERSION_HELP)


class RebaseProposalBody(OptionalVersionBody):
    """The words over what is live now; left out, they stay."""

    content = DictField(required=False)


def approval_request(sent: ParsedBody) -> ApprovalRequest:
    """The body as a reviewer's yes."""
    values = sent.values
    return ApprovalRequest(
        values["reviewed_sha256"],
        values.get("content"),
        values.get("confirm_findings", False),
        values.get("reason", ""),
        sent.read_at,
        values.get("target_version"),
    )


def transition_proposal(proposal: Proposal, sent: ParsedBody, *, actor: Actor) -> bool:
    """Carry out what a person decided; whether it is done, or others have to agree."""
    check_transition(proposal, "state", sent.values["to"])
    to, reason = sent.values["to"], sent.reason
    if to == State.APPLIED:
        return approve(proposal, _transition_approval(proposal, sent), actor=actor).applied
    if to == State.OPEN:
        _reopen(proposal, sent, reason, actor)
    elif not reason.strip():
        raise ValidationError({"reason": ["Say why; the reason stays with the proposal."]})
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
        release_proposal(proposal, actor=actor, reason=reason, read_at=sent.read_at)
    else:
        reopen_proposal(proposal, actor=actor, reason=reason, terms=review_terms(actor), read_at=sent.read_at)


def _transition_approval(proposal: Proposal, sent: ParsedBody) -> ApprovalRequest:
    seen = sent.values.get("reviewed_sha256")
    if sent.read_at is None and seen is None:
        raise ValidationError({"version": ["Say which text you read: send the version of the proposal you decide on."]})
    sections = sent.only(*SECTIONS)
    target_version = sent.values.get("target_version")
    if proposal.kind not in {Proposal.Kind.PERSONA_PATCH, Proposal.Kind.PERSONA_FIELDS}:
        _refuse_persona_sections(sent)
    confirmed, reason = sent.values.get("confirm_findings", False), sent.reason
    content = sent.values.get("content", sections or None)
    # The version that was read stands for the bytes; it is compared once more under the lock.
    return ApprovalRequest(seen or proposal.content_sha256, content, confirmed, reason, sent.read_at, target_version)


def _refuse_persona_sections(sent: ParsedBody) -> None:
    if foreign := sent.only(*SECTIONS):
        raise ValidationError(
            {name: ["This belongs to a persona; this proposal is about something else."] for name in foreign}
        )
