"""Lawful reports of replies, and how each surface performs the acts on them."""

from collections.abc import Callable, Mapping
from typing import Any

from apps.conversations.models import Conversation, Message
from apps.desk.reports.actions import settle_report, withdraw_report
from apps.desk.reports.models import Report
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import Act
from apps.learning.reply_reports import report_reply
from apps.runtime.turns.operator_replies import send_reviewed_draft
from tests.support.drivers.console_client import decision_of
from tests.support.factories.desk import make_waiting_draft
from tests.support.worlds.world import World, make_event

QUESTION = "When is my refund paid?"
REPLY_TEXT = "Your refund is paid within two days."
EXPLANATION = "Refunds take fourteen days."
CORRECTION = "Your refund is paid within fourteen days."


def make_reply(world: World, text: str = REPLY_TEXT, conversation: Conversation | None = None) -> Message:
    """Make a reply of the agent to a customer, approved by a person."""
    draft = make_waiting_draft(world, conversation or make_event(world, QUESTION).conversation, text)
    send_reviewed_draft(draft, actor=world.operator, reviewed_sha256=draft.text_sha256)
    with acting_as(world.operator):
        return Message.objects.select_related("conversation").get(turn_id=draft.turn_id)


def make_report_of(
    world: World,
    reply: Message | None = None,
    *,
    actor: Actor | None = None,
    reason_code: str = "wrong_fact",
    explanation: str = EXPLANATION,
    correction: str = CORRECTION,
) -> Report:
    """Make a person's report, on a reply of its own unless one is named."""
    return report_reply(
        (reply or make_reply(world)).pk,
        actor=actor or world.operator,
        reason_code=reason_code,
        explanation=explanation,
        correction=correction,
    )


def make_report(world: World) -> Report:
    """Make an operator's report that waits."""
    return make_report_of(world)


def report_in(world: World, state: str) -> Report:
    """Return a report in this state."""
    report = make_report(world)
    if state == Report.Status.RESOLVED:
        return settle_report(report, actor=world.operator, outcome=Report.Outcome.SKILL)
    return withdraw_report(report, actor=world.operator) if state == Report.Status.WITHDRAWN else report


REPORT_SUBJECTS: Mapping[Act, Callable[[World], Any]] = {
    Act.REPORT_CREATE: make_reply,
    Act.REPORT_WITHDRAW: make_report,
    Act.REPORT_RESOLVE: make_report,
}
# Each takes the scene, the row and, for actions, the actor.
REPORT_ACTS: Mapping[Act, Callable[[Any, Any, Actor], object]] = {
    Act.REPORT_CREATE: lambda _, row, actor: report_reply(row.pk, actor=actor, reason_code="wrong_tone"),
    Act.REPORT_WITHDRAW: lambda _, row, actor: withdraw_report(row, actor=actor),
    Act.REPORT_RESOLVE: lambda _, row, actor: settle_report(row, actor=actor, outcome="skill", resolution="Corrected."),
}
REPORT_REQUESTS: Mapping[Act, Callable[[Any, Any], tuple[str, str, dict[str, object] | None]]] = {
    Act.REPORT_CREATE: lambda _, row: ("POST", "reports", {"message_id": row.pk, "reason_code": "wrong_tone"}),
    Act.REPORT_WITHDRAW: lambda _, row: ("POST", f"reports/{row.pk}/withdraw", {}),
    Act.REPORT_RESOLVE: lambda _, row: ("POST", f"reports/{row.pk}/resolve", {"outcome": "skill"}),
}
REPORT_FORMS: Mapping[Act, Callable[[Any, Any], tuple[str, dict[str, Any]]]] = {
    Act.REPORT_CREATE: lambda _, row: (
        decision_of(row.conversation, "report"),
        {"read_at": row.conversation.version, "message_id": row.pk, "reason_code": "wrong_tone"},
    ),
    Act.REPORT_WITHDRAW: lambda _, row: (decision_of(row, "withdraw"), {"read_at": row.version}),
    Act.REPORT_RESOLVE: lambda _, row: (decision_of(row, "settle"), {"read_at": row.version, "outcome": "skill"}),
}
