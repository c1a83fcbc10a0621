"""Actions on drafts, escalations and send rules. The runtime calls them in the transaction that sends the reply."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.utils import timezone

from apps.desk.models import Draft, Escalation, SendRule
from apps.desk.rules import Grounding, GroundingFact, joined_question
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid, NotVisible, ReviewedContentChanged, refuse_blank
from apps.governance.governed_write import assign_values, governed, governed_create, governed_remove
from apps.governance.models import Taint
from apps.governance.policy.policy_table import Act
from apps.webhooks.outbox import enqueue_delivery
from apps.webhooks.rules import WebhookEvent


def make_draft(
    conversation_id: int,
    *,
    actor: Actor,
    agent_id: int,
    turn_id: int,
    text: str,
    grounding: Grounding,
    facts: Sequence[GroundingFact],
) -> Draft:
    """Create a draft that a person must decide on. An open draft of the same conversation is superseded."""
    draft = Draft(
        tenant_id=actor.tenant_id,
        conversation_id=conversation_id,
        agent_id=agent_id,
        turn_id=turn_id,
        text=text,
        grounding=grounding.value,
        facts=[asdict(fact) for fact in facts],
        taint=Taint.CUSTOMER,
    )
    with acting_as(actor):
        if overtaken := Draft.objects.visible_to(actor).open().of_conversation(conversation_id).first():
            supersede_draft(overtaken, actor=actor)
        governed_create(Act.DRAFT_CREATE, draft, actor=actor, evidence={"turn_id": turn_id})
        enqueue_delivery(WebhookEvent.DRAFT, conversation_id, draft.pk, tenant_id=actor.tenant_id)
    return draft


def supersede_draft(draft: Draft, *, actor: Actor, read_at: int | None = None) -> Draft:
    """Supersede a draft because the conversation moved on without it."""
    with governed(Act.DRAFT_SUPERSEDE, draft, actor=actor, read_at=read_at) as row:
        row.supersede()
        _stamp_decision(row, actor)
    return draft


def send_draft(
    draft: Draft, *, actor: Actor, message_id: int, reviewed_sha256: str, read_at: int | None = None
) -> Draft:
    """Record that the draft was sent exactly as the agent wrote it and the reviewer read it."""
    with governed(Act.DRAFT_SEND, draft, actor=actor, read_at=read_at) as row:
        _refuse_changed_draft(row, reviewed_sha256, actor)
        row.send()
        row.sent_text, row.message_id = row.text, message_id
        _stamp_decision(row, actor)
    return draft


def send_edited_draft(
    draft: Draft, *, actor: Actor, message_id: int, sent_text: str, reviewed_sha256: str, read_at: int | None = None
) -> Draft:
    """Record that a person's text was sent instead of the agent's. Both texts are kept, so that learning can compare them."""
    with governed(Act.DRAFT_SEND_EDITED, draft, actor=actor, read_at=read_at) as row:
        _refuse_changed_draft(row, reviewed_sha256, actor)
        row.send_edited()
        row.sent_text, row.message_id = sent_text, message_id
        _stamp_decision(row, actor)
    return draft


def discard_draft(
    draft: Draft, *, actor: Actor, reason_code: str, reason: str = "", read_at: int | None = None
) -> Draft:
    """Discard a draft, so that nothing is sent. Its reason is stored for learning."""
    if not reason_code:
        raise Invalid("Say what is wrong with the draft.", {"reason_code": ["This may not be blank."]})
    with governed(Act.DRAFT_DISCARD, draft, actor=actor, read_at=read_at, reason=reason) as row:
        row.discard()
        row.reason_code, row.reason = reason_code, reason
        _stamp_decision(row, actor)
    return draft


def open_escalation(
    conversation_id: int,
    *,
    actor: Actor,
    agent_id: int,
    turn_id: int | None,
    reason: Escalation.Reason,
    question: str,
    tool_step_id: int | None = None,
) -> Escalation:
    """Hand a question to a person. If the conversation has an open escalation for the same reason, append the question to it."""
    refuse_blank(question, "Say what a person should answer.", "question")
    with acting_as(actor):
        known = Escalation.objects.visible_to(actor).open().of_conversation(conversation_id).filter(reason=reason)
        row = known.first() or Escalation(
            tenant_id=actor.tenant_id,
            conversation_id=conversation_id,
            agent_id=agent_id,
            turn_id=turn_id,
            tool_step_id=tool_step_id,
            reason=reason,
            opened_by=actor.label,
            taint=Taint.OPERATOR if actor.is_person else Taint.CUSTOMER,
        )
        is_new = row._state.adding
        with governed(Act.ESCALATION_OPEN, row, actor=actor, evidence={"turn_id": turn_id}):
            _refuse_unknown_conversation(row)
            row.question = joined_question(row.question, question)
        _enqueue_escalation_webhook(row, is_new=is_new)
    return row


def answer_escalation(escalation: Escalation, *, actor: Actor, answer: str, read_at: int | None = None) -> Escalation:
    """Record a person's answer to an escalation. In the same transaction, the caller decides how it reaches the customer."""
    refuse_blank(answer, "Write the answer.", "answer")
    with governed(Act.ESCALATION_ANSWER, escalation, actor=actor, read_at=read_at) as row:
        row.settle()
        row.answer = answer
        _stamp_decision(row, actor)
    return escalation


def dismiss_escalation(
    escalation: Escalation, *, actor: Actor, reason: str = "", read_at: int | None = None
) -> Escalation:
    """Close an escalation that needs no answer. Nobody is notified."""
    with governed(Act.ESCALATION_DISMISS, escalation, actor=actor, read_at=read_at, reason=reason) as row:
        row.dismiss()
        row.dismissal_reason = reason
        _stamp_decision(row, actor)
    return escalation


def write_send_rule(
    rule: SendRule, *, actor: Actor, values: Mapping[str, Any], read_at: int | None = None, reason: str = ""
) -> SendRule:
    """Create or change a send rule. It applies to turns that have not ended yet."""
    with governed(Act.SEND_RULE_WRITE, rule, actor=actor, read_at=read_at, reason=reason) as row:
        assign_values(row, Act.SEND_RULE_WRITE, values)
    return rule


def lift_send_rule(rule: SendRule, *, actor: Actor, read_at: int | None = None, reason: str = "") -> SendRule:
    """Remove a send rule. The agent's own send mode applies again."""
    governed_remove(Act.SEND_RULE_LIFT, rule, actor=actor, read_at=read_at, reason=reason)
    return rule


def _enqueue_escalation_webhook(escalation: Escalation, *, is_new: bool) -> None:
    """Enqueue the webhook for a new escalation only, not when a later question is appended to it."""
    if is_new:
        enqueue_delivery(
            WebhookEvent.ESCALATION, escalation.conversation_id, escalation.pk, tenant_id=escalation.tenant_id
        )


def _refuse_unknown_conversation(row: Escalation) -> None:
    """Raise `NotVisible` instead of `Invalid` for a conversation that row security hides."""
    try:
        row.conversation.pk  # noqa: B018  # looked up with the actor's rights
    except ObjectDoesNotExist as hidden:
        raise NotVisible("There is no such conversation.") from hidden


def _stamp_decision(row: Draft | Escalation, actor: Actor) -> None:
    row.decided_by, row.decided_at = actor.label, timezone.now()


def _refuse_changed_draft(draft: Draft, reviewed_sha256: str, actor: Actor) -> None:
    """Refuse to send a draft that was superseded or differs from the text that the reviewer read.

    The refusal shows the current draft.
    """
    if draft.status == Draft.Status.SUPERSEDED:
        newer = Draft.objects.visible_to(actor).open().of_conversation(draft.conversation_id).first()
        stands = (
            f"Draft {newer.pk} replaces it. Read and decide on that one." if newer else "No draft waits there any more."
        )
        standing = {"draft_id": newer.pk, "text": newer.text} if newer else None
        raise ReviewedContentChanged(
            f"The conversation went on, and this draft was superseded. {stands}",
            draft.version,
            newer.text_sha256 if newer else "",
            standing,
        )
    if draft.text_sha256 != reviewed_sha256:
        raise ReviewedContentChanged(
            "This draft has another text than the one you read. Read it again and decide on its current text.",
            draft.version,
            draft.text_sha256,
            {"draft_id": draft.pk, "text": draft.text},
        )
