"""Buttons of a proposal page: the function each one calls, when the page shows it, and the page after the decision.

Each button is one decision.
"""

from datetime import timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.console.framework.forms import DecisionForm, OptionalReasonForm, ReasonedDecisionForm
from apps.console.framework.page_actions import Button, Values
from apps.console.framework.row_titles import title_of
from apps.console.review.comments import CommentForm, comments_of, comments_url
from apps.console.review.decision_forms import (
    SECTION_PREFIX,
    EditedApprovalForm,
    ProposalApprovalForm,
    RebaseForm,
    RejectionForm,
    SectionApprovalForm,
    SnoozeForm,
    words_as_fields,
)
from apps.console.review.inbox_filters import next_waiting_proposal
from apps.console.review.proposal_page import cached_sheet
from apps.console.review.proposal_wording import may_agree
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import current_actor
from apps.governance.errors import MissingActor
from apps.governance.models import Proposal
from apps.governance.policy.policy_table import Act
from apps.governance.proposals.actions import (
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
from apps.review import decisions
from apps.review.appliers.registry import applier_of
from apps.review.approval_verdict import ApprovalRequest
from apps.review.comment_actions import add_comment
from apps.review.decisions import DecisionResult, rebase, undo
from apps.review.review_sheet import approve_sections
from apps.tenants.review_settings import review_terms


def approve(proposal: Proposal, *, actor: Actor, **values: Any) -> DecisionResult:
    typed = values.get("typed", {})
    # Texts that came back as they were shown are no edit.
    content = values["content"] if typed and typed != words_as_fields(proposal.words) else None
    return decisions.approve(proposal, _approval_request(values, content), actor=actor)


def take_sections(proposal: Proposal, *, actor: Actor, **values: Any) -> DecisionResult:
    return approve_sections(proposal, values["sections"], _approval_request(values), actor=actor)


def _approval_request(values: Values, content: Values | None = None) -> ApprovalRequest:
    return ApprovalRequest(
        values["reviewed_sha256"],
        content,
        values.get("confirm_findings", False),
        values["reason"],
        values["read_at"],
        values.get("target_version"),
    )


def _reader() -> Actor:
    actor = current_actor()
    if actor is None:
        raise MissingActor("Only a signed-in person can decide on a proposal.")
    return actor


def approval_initial(proposal: Proposal) -> dict[str, Any]:
    findings = cached_sheet(proposal, _reader()).findings
    return {"reviewed_sha256": proposal.content_sha256, "findings": findings}


def edit_initial(proposal: Proposal) -> dict[str, Any]:
    sheet = cached_sheet(proposal, _reader())
    live = sheet.applier.live(sheet.target) if sheet.needs_edited_content and sheet.target is not None else {}
    words = live or proposal.words
    version = sheet.target.version if live and sheet.target is not None else None
    return {"target_version": version, **approval_initial(proposal), **words_as_fields(words)}


def sections_initial(proposal: Proposal) -> dict[str, Any]:
    offered = cached_sheet(proposal, _reader()).offered
    # An earlier reviewer may have taken some sections already; a later one does not have to untick the others.
    taken = {SECTION_PREFIX + name: True for name in offered if proposal.is_edited and name in proposal.words}
    return {**approval_initial(proposal), "offered": " ".join(offered), **taken}


def rebase_initial(proposal: Proposal) -> dict[str, Any]:
    return words_as_fields(cached_sheet(proposal, _reader()).merged_words or proposal.words)


def _link_to_proposal(sentence: str, proposal: Proposal) -> SafeString:
    page = reverse("admin:governance_proposal_change", args=[proposal.pk])
    return format_html('{} <a href="{}">{}</a>', sentence, page, title_of(proposal))


def outcome_message(decided: DecisionResult) -> SafeString:
    undo_it = " You can undo it for a minute." if decided.applied and _can_undo(decided.proposal) else ""
    return _link_to_proposal(f"{decided.sentence}{undo_it}", decided.proposal)


def _can_undo(proposal: Proposal) -> bool:
    return applier_of(proposal).undo is not None


def rebase_on_live(proposal: Proposal, *, actor: Actor, read_at: int, **values: Any) -> Proposal:
    is_edited = values["typed"] and values["typed"] != words_as_fields(proposal.words)
    return rebase(proposal, actor=actor, content=values["content"] if is_edited else None, read_at=read_at)


def reopen(proposal: Proposal, *, actor: Actor, reason: str, read_at: int) -> Proposal:
    terms = review_terms(actor)
    return reopen_proposal(proposal, actor=actor, reason=reason, terms=terms, read_at=read_at)


def release(proposal: Proposal, *, actor: Actor, reason: str, read_at: int) -> Proposal:
    terms = review_terms(actor)
    return release_proposal(proposal, actor=actor, reason=reason, terms=terms, read_at=read_at)


def snooze(proposal: Proposal, *, actor: Actor, days: int, read_at: int) -> Proposal:
    until = timezone.now() + timedelta(days=days)
    return snooze_proposal(proposal, actor=actor, until=until, read_at=read_at)


def wake(proposal: Proposal, *, actor: Actor, read_at: int) -> Proposal:
    return snooze_proposal(proposal, actor=actor, until=None, read_at=read_at)


def ask_for_revision(proposal: Proposal, *, actor: Actor, reason: str, read_at: int) -> Proposal:
    return request_revision(proposal, actor=actor, words=reason, read_at=read_at)


def is_open(proposal: Proposal) -> bool:
    return proposal.is_open


def _is_decidable(proposal: Proposal) -> bool:
    sheet = cached_sheet(proposal, _reader())
    return is_open(proposal) and sheet.target is not None and not sheet.needs_rebase


def is_approvable(proposal: Proposal) -> bool:
    sheet = cached_sheet(proposal, _reader())
    return _is_decidable(proposal) and not sheet.needs_edited_content and may_agree(sheet, _reader().user_id)


def is_editable(proposal: Proposal) -> bool:
    return (
        _is_decidable(proposal) and not cached_sheet(proposal, _reader()).needs_edited_content and bool(proposal.words)
    )


def is_divisible(proposal: Proposal) -> bool:
    return is_editable(proposal) and len(cached_sheet(proposal, _reader()).offered) > 1


def is_free_text(proposal: Proposal) -> bool:
    return _is_decidable(proposal) and cached_sheet(proposal, _reader()).needs_edited_content


def is_outdated(proposal: Proposal) -> bool:
    return is_open(proposal) and cached_sheet(proposal, _reader()).needs_rebase


def is_snoozed(proposal: Proposal) -> bool:
    until = proposal.snoozed_until
    return is_open(proposal) and until is not None and until > timezone.now()


def is_in_queue(proposal: Proposal) -> bool:
    return is_open(proposal) and not is_snoozed(proposal)


def is_unclaimed(proposal: Proposal) -> bool:
    mine = proposal.claimed_by_id == _reader().user_id and proposal.claim_stands(timezone.now())
    return is_open(proposal) and not mine


def is_unanswered(proposal: Any) -> bool:
    return is_open(proposal) and not proposal.approval_count and not comments_of(proposal, _reader(), proposal.people)


def is_undoable(proposal: Proposal) -> bool:
    if proposal.state != Proposal.State.APPLIED or proposal.decided_at is None:
        return False
    mine = proposal.decided_by_id == _reader().user_id
    return mine and _can_undo(proposal) and timezone.now() - proposal.decided_at < UNDO_WITHIN


def is_closed(proposal: Proposal) -> bool:
    return proposal.current_state in {Proposal.State.REJECTED, Proposal.State.EXPIRED}


def is_quarantined(proposal: Proposal) -> bool:
    return bool(proposal.state == Proposal.State.QUARANTINED)


def next_proposal_url(proposal: Proposal) -> str:
    """Return the next proposal that waits for this reader, or the inbox if there is none."""
    following = next_waiting_proposal(proposal, _reader())
    if following is None:
        return reverse("admin:governance_proposal_changelist")
    return reverse("admin:governance_proposal_change", args=[following.pk])


def linked_sentence(sentence: str) -> Any:
    return lambda proposal: _link_to_proposal(sentence, proposal)


BUTTONS = (
    Button(
        "approve",
        "Approve",
        Act.PROPOSAL_APPROVE,
        approve,
        done=outcome_message,
        consequence="What is proposed takes effect, signed by you, once everybody has agreed whom its risk asks for.",
        form=ProposalApprovalForm,
        initial=approval_initial,
        when=is_approvable,
        tone="primary",
        folded=False,
        leads_to=next_proposal_url,
    ),
    Button(
        "apply",
        "Approve these words",
        Act.PROPOSAL_APPROVE,
        approve,
        done=outcome_message,
        consequence="The proposal is free text: write what it comes to. What stands in these fields becomes live for the next"
        " session; sessions already open keep theirs.",
        form=EditedApprovalForm,
        initial=edit_initial,
        when=is_free_text,
        tone="primary",
        folded=False,
        leads_to=next_proposal_url,
    ),
    Button(
        "edit",
        "Edit, then approve",
        Act.PROPOSAL_APPROVE,
        approve,
        done=outcome_message,
        consequence="Your words become live in place of the proposed ones; both are kept. At high risk an edit needs other"
        " reviewers than whoever made it.",
        form=EditedApprovalForm,
        initial=edit_initial,
        when=is_editable,
        leads_to=next_proposal_url,
    ),
    Button(
        "take",
        "Apply to sections",
        Act.PROPOSAL_APPROVE,
        take_sections,
        done=outcome_message,
        consequence="Only the sections you tick become live, in the proposed words; the others stay as they are. That is an edit"
        " like any other: at high risk others have to approve it.",
        form=SectionApprovalForm,
        initial=sections_initial,
        when=is_divisible,
        leads_to=next_proposal_url,
    ),
    Button(
        "rebase",
        "Rebase",
        Act.PROPOSAL_REBASE,
        rebase_on_live,
        done="Bound to what is live now. Read it once more and decide.",
        consequence="Binds the proposal to what is live now, in the words of these fields. Earlier approvals no longer count.",
        form=RebaseForm,
        initial=rebase_initial,
        when=is_outdated,
        tone="primary",
        folded=False,
    ),
    Button(
        "undo",
        "Undo",
        Act.PROPOSAL_UNDO,
        undo,
        done="Undone. The version before is live again, and the proposal waits.",
        consequence="Within a minute of your approval: what was live before is live again.",
        when=is_undoable,
        folded=False,
    ),
    Button(
        "reject",
        "Reject",
        Act.PROPOSAL_REJECT,
        reject_proposal,
        done=linked_sentence("Rejected. What is live stays as it is."),
        consequence="What is live stays as it is. The agent is told the reason.",
        form=RejectionForm,
        when=is_open,
        tone="danger",
        leads_to=next_proposal_url,
    ),
    Button(
        "ask",
        "Ask for another version",
        Act.PROPOSAL_REQUEST_REVISION,
        ask_for_revision,
        done=linked_sentence("Sent. The agent reads it with its proposal."),
        consequence="The agent reads your words with its proposal and may revise it.",
        form=ReasonedDecisionForm,
        when=is_open,
        leads_to=next_proposal_url,
    ),
    Button(
        "snooze",
        "Later",
        Act.PROPOSAL_SNOOZE,
        snooze,
        done=linked_sentence("Put off. It comes back by itself."),
        consequence="It leaves the queue and comes back by itself.",
        form=SnoozeForm,
        when=is_in_queue,
        leads_to=next_proposal_url,
    ),
    Button(
        "wake",
        "Bring back now",
        Act.PROPOSAL_SNOOZE,
        wake,
        done="Back in the queue.",
        form=DecisionForm,
        when=is_snoozed,
    ),
    Button(
        "claim",
        "I am looking at it",
        Act.PROPOSAL_CLAIM,
        claim_proposal,
        done="Others see for half an hour that you are looking at it.",
        consequence="Others see it for half an hour. It keeps nobody from deciding.",
        when=is_unclaimed,
    ),
    Button(
        "quarantine",
        "Quarantine",
        Act.PROPOSAL_QUARANTINE,
        quarantine_proposal,
        done=linked_sentence("In quarantine. Nobody decides on it until it is released."),
        consequence="Nobody decides on it, and its agent cannot revise it, until somebody releases it.",
        form=ReasonedDecisionForm,
        when=is_open,
        tone="danger",
        leads_to=next_proposal_url,
    ),
    Button(
        "release",
        "Release",
        Act.PROPOSAL_RELEASE,
        release,
        done="Released. It waits for a decision again.",
        consequence="It waits for a decision again.",
        form=ReasonedDecisionForm,
        when=is_quarantined,
    ),
    Button(
        "reopen",
        "Reopen",
        Act.PROPOSAL_REOPEN,
        reopen,
        done="Reopened. It waits for a decision again.",
        consequence="It waits for a decision again. Earlier approvals do not count.",
        form=OptionalReasonForm,
        when=is_closed,
    ),
    Button(
        "withdraw",
        "Remove",
        Act.PROPOSAL_WITHDRAW,
        withdraw_proposal,
        takes_read_at=False,
        done="Removed. Its words stay in the history of changes.",
        consequence="Without an answer to the agent. The words stay in the history of changes.",
        form=OptionalReasonForm,
        when=is_unanswered,
        leads_to=next_proposal_url,
    ),
    Button(
        "comment",
        "Comment",
        Act.COMMENT_ADD,
        add_comment,
        takes_read_at=False,
        done="Comment added. Everybody who may decide reads it here.",
        consequence="For the people who decide. No agent reads it, and nothing of the proposal changes.",
        form=CommentForm,
        leads_to=comments_url,
        on_others=True,
        beside=True,
    ),
)
