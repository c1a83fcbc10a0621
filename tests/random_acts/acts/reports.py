"""How acts are tried on reports."""

from collections.abc import Mapping

from apps.conversations.actions import send_message
from apps.conversations.models import Conversation, Message
from apps.desk.reports.actions import make_report, settle_report, withdraw_report
from apps.desk.reports.models import Report
from apps.governance.errors import GovernanceError
from apps.governance.policy.policy_table import Act
from tests.random_acts.act_choice import ActChoice, ActRunner, amend_row
from tests.random_acts.two_tenants import NoRowForAct


def _report(chosen: ActChoice) -> object:
    """On what an agent over there has just said, where it can say anything."""
    thread = chosen.row(Conversation, status=Conversation.Status.OPEN)
    theirs = chosen.there.world.operator
    try:
        message = send_message(thread, actor=theirs, sender=Message.Sender.AGENT, text=chosen.words, wire={})
    except GovernanceError as refusal:
        raise NoRowForAct("reply") from refusal
    return make_report(
        message.pk,
        actor=chosen.actor,
        conversation_id=thread.pk,
        agent_id=thread.agent_id,
        reason_code=Report.Reason.values[chosen.pick % len(Report.Reason)],
        explanation=chosen.words,
    )


def _settle(chosen: ActChoice) -> object:
    row, outcome = chosen.row(Report), Report.Outcome.values[chosen.pick % len(Report.Outcome)]
    values = {"outcome": outcome, "resolution": chosen.words}
    return settle_report(row, actor=chosen.actor, read_at=chosen.read_at(row), **values)


REPORTS: Mapping[Act, ActRunner] = {
    Act.REPORT_CREATE: _report,
    Act.REPORT_WITHDRAW: amend_row(Report, withdraw_report),
    Act.REPORT_RESOLVE: _settle,
}
