"""Actions on reports. People create reports, withdraw their own, and settle any."""

from django.core.exceptions import ObjectDoesNotExist
from django.utils import timezone

from apps.desk.reports.models import Report
from apps.desk.reports.rules import ONLY_REPORTER_WITHDRAWS, ReportableReply, missing_explanation, reason_unreportable
from apps.governance.actors import Actor
from apps.governance.errors import Conflict, Invalid, NotPermitted, NotVisible
from apps.governance.governed_write import assign_values, governed
from apps.governance.models import Taint
from apps.governance.policy.policy_table import Act


def make_report(
    message_id: int,
    *,
    actor: Actor,
    conversation_id: int,
    agent_id: int,
    reason_code: str,
    explanation: str = "",
    correction: str = "",
) -> Report:
    """Report a reply as wrong. Neither the customer nor the agent is notified; learning reads the report once it is settled."""
    row = Report(
        tenant_id=actor.tenant_id,
        message_id=message_id,
        conversation_id=conversation_id,
        agent_id=agent_id,
        author=actor.label,
        # An explanation of a wrong reply may quote the customer.
        taint=Taint.CUSTOMER,
    )
    values = {"explanation": _normalise_line_ends(explanation), "correction": _normalise_line_ends(correction)}
    # The change record does not name the conversation as its source: a report is about a conversation, not derived from it.
    with governed(Act.REPORT_CREATE, row, actor=actor, evidence={"message_id": message_id}):
        _refuse_unreportable(row)
        assign_values(row, Act.REPORT_CREATE, {"reason_code": reason_code, **values})
        if flaw := missing_explanation(reason_code, explanation):
            raise Invalid(flaw, {"explanation": [flaw]})
    return row


def withdraw_report(report: Report, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Report:
    """Withdraw one's own report while it is open. The report stays visible; its text is kept only in the change history."""
    with governed(Act.REPORT_WITHDRAW, report, actor=actor, read_at=read_at, reason=reason) as row:
        if row.author != actor.label:
            raise NotPermitted(ONLY_REPORTER_WITHDRAWS)
        row.withdraw()
        row.explanation, row.correction = "", ""
    return report


def settle_report(
    report: Report, *, actor: Actor, outcome: str, resolution: str = "", read_at: int | None = None
) -> Report:
    """Settle a report: record what has to change, or that nothing was wrong. Learning counts it; people make the change."""
    if not outcome:
        raise Invalid("Choose the outcome of the report.", {"outcome": ["This may not be blank."]})
    with governed(Act.REPORT_RESOLVE, report, actor=actor, read_at=read_at, reason=resolution) as row:
        row.settle()
        row.outcome, row.resolution = outcome, _normalise_line_ends(resolution)
        row.decided_by, row.decided_at = actor.label, timezone.now()
    return report


def _normalise_line_ends(text: str) -> str:
    """Normalise line ends to LF, because browsers send CRLF."""
    return text.replace("\r\n", "\n").strip()


def _refuse_unreportable(row: Report) -> None:
    """Refuse a message that may not be reported, with `NotVisible` if row security hides it."""
    try:
        message = row.message
        thread = message.conversation
    except ObjectDoesNotExist as hidden:
        raise NotVisible("There is no such reply.") from hidden
    if (thread.pk, thread.agent_id) != (row.conversation_id, row.agent_id):
        raise NotVisible("There is no such reply.")
    # A delay notice has no turn: it is the sentence of the agent's settings.
    is_agents = message.is_reply and message.sender == "agent" and message.turn_id is not None
    if refusal := reason_unreportable(ReportableReply(is_agents, thread.off_the_record, thread.is_talk)):
        raise Conflict(refusal)
