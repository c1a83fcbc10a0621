"""Acts on reports: people make them, take back their own, and settle what others made."""

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
    """Say that a reply is wrong. The customer and the agent are told nothing; learning hears of it once it is settled."""
    row = Report(
        tenant_id=actor.tenant_id,
        message_id=message_id,
        conversation_id=conversation_id,
        agent_id=agent_id,
        author=actor.label,
        # Whoever explains what was wrong repeats what a customer wrote.
        taint=Taint.CUSTOMER,
    )
    values = {"explanation": _normalise_line_ends(explanation), "correction": _normalise_line_ends(correction)}
    # The conversation is not named: a report is about it, and nothing that the conversation left behind.
    with governed(Act.REPORT_CREATE, row, actor=actor, evidence={"message_id": message_id}):
        _refuse_unreportable(row)
        assign_values(row, Act.REPORT_CREATE, {"reason_code": reason_code, **values})
        if flaw := missing_explanation(reason_code, explanation):
            raise Invalid(flaw, {"explanation": [flaw]})
    return row


def withdraw_report(report: Report, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Report:
    """Take one's own report back while it waits. That there was one stays to be seen; its words stay in the history alone."""
    with governed(Act.REPORT_WITHDRAW, report, actor=actor, read_at=read_at, reason=reason) as row:
        if row.author != actor.label:
            raise NotPermitted(ONLY_REPORTER_WITHDRAWS)
        row.withdraw()
        row.explanation, row.correction = "", ""
    return report


def settle_report(
    report: Report, *, actor: Actor, outcome: str, resolution: str = "", read_at: int | None = None
) -> Report:
    """Say what has to change, or that nothing was wrong. What it teaches is counted; what is to be changed, people change."""
    if not outcome:
        raise Invalid("Say what came of the report.", {"outcome": ["This may not be blank."]})
    with governed(Act.REPORT_RESOLVE, report, actor=actor, read_at=read_at, reason=resolution) as row:
        row.settle()
        row.outcome, row.resolution = outcome, _normalise_line_ends(resolution)
        row.decided_by, row.decided_at = actor.label, timezone.now()
    return report


def _normalise_line_ends(text: str) -> str:
    """A browser sends other line ends than it was given."""
    return text.replace("\r\n", "\n").strip()


def _refuse_unreportable(row: Report) -> None:
    """What the database hides is not there, rather than wrong."""
    try:
        message = row.message
        thread = message.conversation
    except ObjectDoesNotExist as hidden:
        raise NotVisible("There is no such reply.") from hidden
    if (thread.pk, thread.agent_id) != (row.conversation_id, row.agent_id):
        raise NotVisible("There is no such reply.")
    is_agents = message.is_reply and message.sender == "agent"
    if refusal := reason_unreportable(ReportableReply(is_agents, thread.off_the_record, thread.is_talk)):
        raise Conflict(refusal)
