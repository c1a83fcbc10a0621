"""The acts on what waits for a person, as the matrix performs them by their actions."""

from collections.abc import Callable, Mapping
from typing import Any

from apps.conversations.actions import hand_back_conversation, send_message, take_over_conversation
from apps.conversations.admission_control import CustomerProof, prove_conversation
from apps.conversations.models import Conversation, Message
from apps.conversations.off_the_record_erasure import erase_conversation_text
from apps.conversations.quarantine import quarantine_conversation, release_conversation
from apps.conversations.ratings import rate_conversation
from apps.desk.actions import (
    answer_escalation,
    discard_draft,
    dismiss_escalation,
    lift_send_rule,
    make_draft,
    open_escalation,
    send_draft,
    send_edited_draft,
    supersede_draft,
    write_send_rule,
)
from apps.desk.models import Draft, Escalation
from apps.desk.rules import Grounding
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import Act
from apps.runtime.limits.turn_budgets import TurnMoney
from apps.runtime.tools.delegation_tools import ask_agent
from apps.runtime.turns.run_now import run_turn_now
from apps.runtime.turns.waiting_messages import conversation_length
from tests.support.drivers.console_client import decision_of, page_of
from tests.support.worlds.lawful_acts import Scene


def sent_values(scene: Scene, draft: Draft) -> dict[str, Any]:  # Any: the values an act is called with
    """Bound to the words of the draft, and as a message that stands in the transcript."""
    with acting_as(scene.world.operator):
        message = Message.objects.filter(conversation=draft.conversation_id).last()
    return {"message_id": message.pk if message else 0, "reviewed_sha256": draft.text_sha256}


DESK: Mapping[Act, Callable[[Scene, Any, Actor], object]] = {
    Act.CONVERSATION_TAKE_OVER: lambda _, row, actor: take_over_conversation(row, actor=actor),
    Act.CONVERSATION_HAND_BACK: lambda _, row, actor: hand_back_conversation(row, actor=actor),
    Act.CONVERSATION_RATE: lambda _, row, actor: rate_conversation(row, actor=actor, score=4, comment="Quick."),
    Act.CONVERSATION_ERASE: lambda _, row, actor: erase_conversation_text(row, actor=actor),
    Act.CONVERSATION_PROVE: lambda _, row, actor: prove_conversation(row, actor=actor, proof=CustomerProof(1)),
    Act.CONVERSATION_DELEGATE: lambda _, row, actor: ask_agent(
        row, actor=actor, agent_key="billing", task="What is owed?", turn_id=1, money=TurnMoney()
    ),
    Act.TURN_RUN: lambda _, row, actor: run_turn_now(row, actor=actor),
    Act.CONVERSATION_QUARANTINE: lambda _, row, actor: quarantine_conversation(row, actor=actor, reason="Odd."),
    Act.CONVERSATION_RELEASE: lambda _, row, actor: release_conversation(row, actor=actor, reason="Read."),
    Act.MESSAGE_SEND: lambda _, row, actor: send_message(
        row, actor=actor, sender=Message.Sender.OPERATOR, text="Hello!", wire={}
    ),
    Act.DRAFT_CREATE: lambda _, row, actor: make_draft(
        row.pk,
        actor=actor,
        agent_id=row.agent_id,
        turn_id=1,
        text="Hello!",
        grounding=Grounding.NONE,
        facts=[],
    ),
    Act.DRAFT_SUPERSEDE: lambda _, row, actor: supersede_draft(row, actor=actor),
    Act.DRAFT_SEND: lambda scene, row, actor: send_draft(row, actor=actor, **sent_values(scene, row)),
    Act.DRAFT_SEND_EDITED: lambda scene, row, actor: send_edited_draft(
        row, actor=actor, sent_text="Mine.", **sent_values(scene, row)
    ),
    Act.DRAFT_DISCARD: lambda _, row, actor: discard_draft(row, actor=actor, reason_code="wrong"),
    Act.ESCALATION_OPEN: lambda _, row, actor: open_escalation(
        row.conversation_id,
        actor=actor,
        agent_id=row.agent_id,
        turn_id=None,
        reason=Escalation.Reason.MISSING_KNOWLEDGE,
        question="And who pays?",
    ),
    Act.ESCALATION_ANSWER: lambda _, row, actor: answer_escalation(row, actor=actor, answer="Yes."),
    Act.ESCALATION_DISMISS: lambda _, row, actor: dismiss_escalation(row, actor=actor, reason="Settled."),
    Act.SEND_RULE_WRITE: lambda _, row, actor: write_send_rule(row, actor=actor, values={"send_mode": "observe"}),
    Act.SEND_RULE_LIFT: lambda _, row, actor: lift_send_rule(row, actor=actor),
}


def length_of(scene: Scene, row: Conversation) -> int:
    """How much was said, as a person read it."""
    with acting_as(scene.world.operator):
        return conversation_length(row)


DESK_REQUESTS: Mapping[Act, Callable[[Scene, Any], tuple[str, str, dict[str, object] | None]]] = {
    Act.CONVERSATION_TAKE_OVER: lambda _, row: ("POST", f"conversations/{row.pk}/take-over", {}),
    Act.CONVERSATION_RATE: lambda _, row: ("POST", f"conversations/{row.pk}/rating", {"score": 4}),
    Act.CONVERSATION_HAND_BACK: lambda _, row: ("POST", f"conversations/{row.pk}/hand-back", {}),
    Act.TURN_RUN: lambda _, row: ("POST", f"conversations/{row.pk}/run-now", {}),
    Act.CONVERSATION_QUARANTINE: lambda _, row: ("POST", f"conversations/{row.pk}/quarantine", {"reason": "Odd."}),
    Act.CONVERSATION_RELEASE: lambda _, row: ("POST", f"conversations/{row.pk}/release", {"reason": "Read."}),
    Act.MESSAGE_SEND: lambda scene, row: (
        "POST",
        f"conversations/{row.pk}/messages",
        {"text": "Hello!", "seen_length": length_of(scene, row)},
    ),
    Act.DRAFT_SEND: lambda _, row: ("POST", f"drafts/{row.pk}/send", {"reviewed_sha256": row.text_sha256}),
    Act.DRAFT_SEND_EDITED: lambda _, row: (
        "POST",
        f"drafts/{row.pk}/send-edited",
        {"reviewed_sha256": row.text_sha256, "sent_text": "Mine."},
    ),
    Act.DRAFT_DISCARD: lambda _, row: ("POST", f"drafts/{row.pk}/discard", {"reason_code": "wrong"}),
    Act.ESCALATION_OPEN: lambda _, row: (
        "POST",
        "escalations",
        {"conversation_id": row.conversation_id, "reason": "missing_knowledge", "question": "And who pays?"},
    ),
    Act.ESCALATION_ANSWER: lambda _, row: ("POST", f"escalations/{row.pk}/answer", {"answer": "Yes."}),
    Act.ESCALATION_DISMISS: lambda _, row: ("POST", f"escalations/{row.pk}/dismiss", {"reason": "Settled."}),
    Act.SEND_RULE_WRITE: lambda _, row: ("PATCH", f"send-rules/{row.pk}", {"send_mode": "observe"}),
    Act.SEND_RULE_LIFT: lambda _, row: ("DELETE", f"send-rules/{row.pk}", None),
}


def button_form(button: str, **typed: str) -> Callable[[Scene, Any], tuple[str, dict[str, Any]]]:
    return lambda _, row: (decision_of(row, button), typed)


def send_form(button: str, **typed: str) -> Callable[[Scene, Any], tuple[str, dict[str, Any]]]:
    return lambda _, row: (decision_of(row, button), {"reviewed_sha256": row.text_sha256, **typed})


DESK_FORMS: Mapping[Act, Callable[[Scene, Any], tuple[str, dict[str, Any]]]] = {
    Act.CONVERSATION_TAKE_OVER: button_form("take_over"),
    Act.CONVERSATION_HAND_BACK: button_form("hand_back"),
    Act.TURN_RUN: button_form("run_now"),
    Act.CONVERSATION_QUARANTINE: button_form("quarantine", reason="Odd."),
    Act.CONVERSATION_RELEASE: button_form("release", reason="Read."),
    Act.MESSAGE_SEND: lambda scene, row: (
        decision_of(row, "write"),
        {"text": "Hello!", "seen_length": length_of(scene, row)},
    ),
    Act.DRAFT_SEND: send_form("send"),
    Act.DRAFT_SEND_EDITED: send_form("edit", sent_text="Mine."),
    Act.DRAFT_DISCARD: button_form("discard", reason_code="wrong"),
    Act.ESCALATION_ANSWER: button_form("answer", answer="Yes."),
    Act.ESCALATION_DISMISS: button_form("dismiss"),
    Act.SEND_RULE_WRITE: lambda _, row: (page_of(row), {"send_mode": "observe"}),
    Act.SEND_RULE_LIFT: button_form("lift"),
}
