"""What people report of an agent's reply: made once by each, taken back, settled, and read by no agent."""

import json

import pytest

from apps.conversations.actions import send_message
from apps.conversations.models import Conversation, Message
from apps.desk.reports.actions import make_report as file_report
from apps.desk.reports.actions import settle_report, withdraw_report
from apps.desk.reports.models import Report
from apps.desk.reports.rules import CORRECTION_CHARACTERS, EXPLANATION_CHARACTERS
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, IllegalTransition, Invalid, NotPermitted, NotVisible, Stale
from apps.governance.models import ChangeRecord
from apps.learning.reply_reports import report_reply
from tests.support.database.raw_sql_as_role import BROKEN_RULE, NO_RIGHT, StatementOutcome, run_and_undo
from tests.support.drivers.conversation import reply, run_customer_turn, tool
from tests.support.factories.member_talks import make_assistant, make_talk
from tests.support.factories.reports import EXPLANATION, REPLY_TEXT, make_reply, make_report, make_report_of, report_in
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_conversation, make_event, make_persona, make_world

pytestmark = pytest.mark.django_db
SECRET = "zanzibar-report-canary"


@pytest.fixture
def world() -> World:
    return make_world()


def report_records(world: World, report: Report) -> list[ChangeRecord]:
    with acting_as(world.operator):
        rows = ChangeRecord.objects.filter(subject_type="desk.report", subject_id=report.pk)
        return list(rows.select_related("text").order_by("pk"))


def test_a_report_names_the_reply_and_quotes_nothing_of_it(world: World) -> None:
    message = make_reply(world)
    report = make_report_of(world, message, explanation="Refunds take\r\nfourteen days. ")
    assert (report.message_id, report.conversation_id, report.agent_id) == (
        message.pk,
        message.conversation_id,
        world.agent.pk,
    )
    assert (report.explanation, report.author) == ("Refunds take\nfourteen days.", world.operator.label)
    [record] = report_records(world, report)
    assert record.evidence == {"message_id": message.pk}
    assert REPLY_TEXT not in json.dumps(record.text.after)


def test_each_person_reports_a_reply_once_and_again_after_taking_it_back(world: World) -> None:
    message = make_reply(world)
    first = make_report_of(world, message)
    assert make_report_of(world, message, actor=world.admin).author == world.admin.label
    with pytest.raises(Conflict, match="reported this reply already"):
        make_report_of(world, message)
    withdraw_report(first, actor=world.operator)
    assert make_report_of(world, message).status == Report.Status.OPEN


def test_only_its_reporter_takes_a_report_back_and_the_history_keeps_the_words(world: World) -> None:
    report = make_report(world)
    with pytest.raises(NotPermitted, match="Only its author"):
        withdraw_report(report, actor=world.admin)
    with pytest.raises(Stale):
        withdraw_report(report, actor=world.operator, read_at=report.version + 1)
    withdraw_report(report, actor=world.operator, read_at=report.version)
    assert (report.status, report.explanation, report.correction) == (Report.Status.WITHDRAWN, "", "")
    assert report_records(world, report)[1].text.before["explanation"] == EXPLANATION
    with pytest.raises(IllegalTransition):
        settle_report(report, actor=world.operator, outcome="skill")


def test_a_settled_report_says_what_came_of_it_and_is_final(world: World) -> None:
    report = make_report(world)
    with pytest.raises(Invalid) as refused:
        settle_report(report, actor=world.admin, outcome="")
    assert set(refused.value.fields) == {"outcome"}
    settle_report(report, actor=world.admin, outcome="memory", resolution="The refund line is corrected.")
    assert (report.status, report.outcome, report.decided_by) == ("resolved", "memory", world.admin.label)
    with pytest.raises(IllegalTransition):
        withdraw_report(report, actor=world.operator)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("explanation", {"explanation": "x" * (EXPLANATION_CHARACTERS + 1)}),
        ("correction", {"correction": "x" * (CORRECTION_CHARACTERS + 1)}),
        ("explanation", {"explanation": "a\x00b"}),
        ("explanation", {"explanation": " \n", "reason_code": "other"}),
        ("reason_code", {"reason_code": "invented"}),
        ("reason_code", {"reason_code": ""}),
    ],
)
def test_what_cannot_be_kept_is_refused_by_its_field(world: World, field: str, message: dict[str, str]) -> None:
    with pytest.raises(Invalid) as refused:
        make_report_of(world, **message)  # type: ignore[arg-type]  # of words alone
    assert set(refused.value.fields) == {field}


def test_application_and_database_refuse_a_report_off_the_record(world: World) -> None:
    # R178
    event = make_event(world, "Quietly.", off_the_record=True)
    message = make_reply(world, conversation=event.conversation)
    with pytest.raises(Conflict, match="off the record"):
        make_report_of(world, message)
    assert insert_report(world, message, message.conversation).sqlstate == NO_RIGHT


def test_what_members_talk_about_is_not_reported(world: World) -> None:
    talk = make_talk(make_assistant(world))
    with acting_as(world.system):
        message = Message.objects.create(
            tenant=world.tenant, conversation=talk, position=90, sender="agent", text="Hi.", is_reply=True
        )
    with pytest.raises((Conflict, NotVisible)):
        make_report_of(world, message)
    assert insert_report(world, message, talk).sqlstate == NO_RIGHT


def insert_report(world: World, message: Message, thread: Conversation) -> StatementOutcome:
    """An attempt on a report past the application."""
    return run_and_undo(
        world.operator,
        "INSERT INTO desk_report (tenant_id, conversation_id, agent_id, message_id, reason_code, explanation, correction,"
        " status, author, outcome, resolution, decided_by, version, taint, created_at, updated_at) VALUES (%s, %s, %s, %s,"
        " 'wrong_tone', '', '', 'open', 'operator:1', '', '', '', 1, 'operator', now(), now())",
        [world.tenant.pk, thread.pk, thread.agent_id, message.pk],
    )


@pytest.mark.parametrize("sender", ["customer", "operator", "agent"])
def test_only_what_an_agent_said_to_its_customer_is_reported(world: World, sender: str) -> None:
    thread = make_conversation(world)
    with acting_as(world.operator):
        others = thread.messages.filter(sender=sender, is_reply=False).last()
    message = others or send_operator_message(world, thread)
    with pytest.raises(Conflict, match="Only an agent's replies"):
        make_report_of(world, message)
    assert insert_report(world, message, thread).sqlstate == NO_RIGHT
    proper = make_reply(world)
    assert insert_report(world, proper, thread).sqlstate == NO_RIGHT
    assert insert_report(world, proper, proper.conversation).sqlstate == ""


def send_operator_message(world: World, thread: Conversation) -> Message:
    return send_message(thread, actor=world.operator, sender=Message.Sender.OPERATOR, text="Hello.", wire={})


def test_of_another_conversation_or_tenant_there_is_no_reply(world: World) -> None:
    message, other_message = make_reply(world), make_reply(make_world("other"))
    with pytest.raises(NotVisible):
        make_report_of(world, other_message)
    with pytest.raises(NotVisible):
        file_report(
            message.pk,
            actor=world.operator,
            conversation_id=make_conversation(world).pk,
            agent_id=world.agent.pk,
            reason_code="wrong_tone",
        )
    with pytest.raises(NotVisible):
        report_reply(0, actor=world.operator, reason_code="wrong_tone")


def test_the_database_lets_nobody_reword_a_report(world: World) -> None:
    report = make_report(world)
    reworded = "UPDATE desk_report SET explanation = %s WHERE id = %s"
    for words in ("Otherwise.", ""):
        assert run_and_undo(world.operator, reworded, [words, report.pk]).sqlstate == BROKEN_RULE
    for statement in ("UPDATE desk_report SET author = 'operator:1'", "DELETE FROM desk_report"):
        assert run_and_undo(world.operator, statement).sqlstate == NO_RIGHT
    settle_report(report, actor=world.operator, outcome="skill")
    otherwise = run_and_undo(world.operator, "UPDATE desk_report SET outcome = 'nothing_wrong'")
    assert otherwise.sqlstate == BROKEN_RULE


def test_agents_read_no_report_and_workers_write_none(world: World) -> None:
    message = make_reply(world)
    make_report_of(world, message)
    assert run_and_undo(world.bot, "SELECT explanation FROM desk_report").sqlstate == NO_RIGHT
    assert run_and_undo(world.system, "UPDATE desk_report SET outcome = 'skill'").sqlstate == NO_RIGHT
    with pytest.raises(NotPermitted):
        make_report_of(world, message, actor=world.bot)


def test_no_prompt_and_no_answer_of_a_tool_carries_a_report(world: World, standin: StandIn) -> None:
    make_persona(world)
    standin.play(reply("Two days."), tool("list_skills"), reply("Done."))
    turn = run_customer_turn(world, "When is it paid?", standin)
    assert turn.reply is not None
    message = turn.reply
    make_report_of(world, message, explanation=f"Say {SECRET} to nobody.", correction=f"{SECRET}: fourteen days.")
    run_customer_turn(world, "Hello again", standin)
    assert SECRET not in json.dumps(standin.requests())


@pytest.mark.parametrize("state", ["open", "resolved", "withdrawn"])
def test_each_state_is_reached_by_its_act(world: World, state: str) -> None:
    assert report_in(world, state).status == state
