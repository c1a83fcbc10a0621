"""What a person sends to decide on a proposal, and how the names of states to reach become decisions."""

from rest_framework.exceptions import ValidationError
from rest_framework.serializers import ChoiceField, DateTimeField, DictField

from apps.api.framework.row_actions import refuse_unreachable
from apps.api.protocol.request_bodies import AsRead, Body, Number, Sent, Text, YesNo
from apps.governance.actors import Actor
from apps.governance.models import Proposal
from apps.governance.proposals.actions import quarantine_proposal, reject_proposal, release_proposal, reopen_proposal
from apps.personas.models import SECTIONS
from apps.review.decisions import Yes, approve, undo
from apps.tenants.review_terms import review_terms

State = Proposal.State
REACHED = (State.APPLIED, State.REJECTED, State.QUARANTINED, State.OPEN)
READ = "The proposal's version that was read."
IN_BULK = (
    *("create", "delete", "approve", "reject", "request-revision"),
    *("claim", "snooze", "quarantine", "release", "reopen"),
)


class ProposalMove(Body):
    """What a person decided, by the state to reach. A persona's patch is free text: what it comes to is sent along.

    `open` takes up again what was rejected or expired, releases what is held, and undoes what one applied a moment ago.
    """

    to = ChoiceField([state.value for state in REACHED])
    content = DictField(required=False, help_text="For applied: the words as the reviewer changed them.")
    reviewed_sha256 = Text(
        required=False, help_text="For applied: the `content_sha256` that was read, beside or instead of `version`."
    )
    identity = Text(required=False)
    style = Text(required=False)  # type: ignore[assignment]  # of the same name in DRF: a dict for HTML forms
    avoid = Text(required=False)
    defaults = Text(required=False)
    goals = Text(required=False)
    target_version = Number(required=False, help_text="The persona's version that stood beside the proposal.")
    version = Number(required=False, help_text="The proposal's version that was read; applied needs it.")
    reason_code = ChoiceField(Proposal.Reason.choices, required=False)
    confirm_findings = YesNo(required=False)
    reason = Text(required=False)


class NewProposal(Body):
    """A change that its author may not make, or wants others to look at first."""

    kind = ChoiceField(Proposal.Kind.choices)
    target_id = Number(
        required=False, allow_null=True, help_text="What it is about; for rule.lines an agent, or null for everybody."
    )
    content = DictField(required=False)
    rationale = Text(required=False, max_length=4_000)


class YesBody(Body):
    """A yes to exactly the bytes that were read."""

    reviewed_sha256 = Text(help_text="The `content_sha256` that was read.")
    content = DictField(required=False, help_text="The words as the reviewer changed them; left out, they stay.")
    confirm_findings = YesNo(required=False, help_text="True, with a reason: what the scanner points at may stand.")
    target_version = Number(required=False, help_text="The target's version that stood beside the proposal.")
    version = Number(required=False, help_text=READ)
    reason = Text(required=False)


class Rejection(Body):
    """A no, and why in a word; other words are welcome."""

    about = Body.about - {"reason"}

    reason_code = ChoiceField(Proposal.Reason.choices)
    reason = Text(required=False)
    version = Number(required=False, help_text=READ)


class Asked(Body):
    """What the agent should say otherwise."""

    revision_request = Text()
    version = Number(required=False, help_text=READ)


class Moment(Body):
    """Until when it is put off."""

    until = DateTimeField(allow_null=True)
    version = Number(required=False, help_text=READ)


class Rebasing(AsRead):
    """The words over what is live now; left out, they stay."""

    content = DictField(required=False)


def yes_of(sent: Sent) -> Yes:
    """The body as a reviewer's yes."""
    values = sent.values
    return Yes(
        values["reviewed_sha256"],
        values.get("content"),
        values.get("confirm_findings", False),
        values.get("reason", ""),
        sent.read_at,
        values.get("target_version"),
    )


def decide(proposal: Proposal, sent: Sent, *, actor: Actor) -> bool:
    """Carry out what a person decided; whether it is done, or others have to agree."""
    refuse_unreachable(proposal, "state", sent.values["to"])
    to, reason = sent.values["to"], sent.reason
    if to == State.APPLIED:
        return approve(proposal, _yes(proposal, sent), actor=actor).applied
    if to == State.OPEN:
        _open_again(proposal, sent, reason, actor)
    elif not reason.strip():
        raise ValidationError({"reason": ["Say why; the reason stays with the proposal."]})
    elif to == State.QUARANTINED:
        quarantine_proposal(proposal, actor=actor, reason=reason, read_at=sent.read_at)
    else:
        code = sent.values.get("reason_code", "")
        reject_proposal(proposal, actor=actor, reason=reason, reason_code=code, read_at=sent.read_at)
    return True


def _open_again(proposal: Proposal, sent: Sent, reason: str, actor: Actor) -> None:
    if proposal.state == State.APPLIED:
        undo(proposal, actor=actor, read_at=sent.read_at)
    elif proposal.state == State.QUARANTINED:
        release_proposal(proposal, actor=actor, reason=reason, read_at=sent.read_at)
    else:
        reopen_proposal(proposal, actor=actor, reason=reason, terms=review_terms(actor), read_at=sent.read_at)


def _yes(proposal: Proposal, sent: Sent) -> Yes:
    seen = sent.values.get("reviewed_sha256")
    if sent.read_at is None and seen is None:
        raise ValidationError({"version": ["Say which text you read: send the version of the proposal you decide on."]})
    sections = sent.only(*SECTIONS)
    target_version = sent.values.get("target_version")
    if proposal.kind not in {Proposal.Kind.PERSONA_PATCH, Proposal.Kind.PERSONA_FIELDS}:
        _refuse_foreign(sent)
    confirmed, reason = sent.values.get("confirm_findings", False), sent.reason
    content = sent.values.get("content", sections or None)
    # The version that was read stands for the bytes; it is compared once more under the lock.
    return Yes(seen or proposal.content_sha256, content, confirmed, reason, sent.read_at, target_version)


def _refuse_foreign(sent: Sent) -> None:
    if foreign := sent.only(*SECTIONS):
        raise ValidationError(
            {name: ["This belongs to a persona; this proposal is about something else."] for name in foreign}
        )
