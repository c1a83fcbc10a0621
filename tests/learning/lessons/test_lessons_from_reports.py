"""What a report of a reply teaches: a case once it is settled, and a mark for whoever looks for runbooks until then."""

import json

import pytest

from apps.conversations.actions import resolve_conversation
from apps.conversations.models import Conversation, Message
from apps.desk.reports.actions import settle_report, withdraw_report
from apps.desk.reports.models import Report
from apps.governance.database.actor_transaction import acting_as
from apps.learning.conversation_transcript import transcript
from apps.learning.extraction.models import Extraction
from apps.learning.extraction.pipeline import extract_conversation, transcript_lines
from apps.learning.lessons.lesson_capture import capture_agent_lessons
from apps.learning.lessons.models import LessonCase
from apps.learning.transcript_masking import mask_transcript
from apps.runtime.turns.operator_replies import send_reviewed_draft
from apps.text_analysis.pii.known_values import KnownValues
from apps.text_analysis.pii.masking import PiiMasker
from tests.support.factories.desk import make_waiting_draft
from tests.support.factories.lessons import cases_of, lessons_of
from tests.support.factories.reports import CORRECTION, EXPLANATION, REPLY_TEXT, make_reply, make_report, make_report_of
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_conversation, make_event, make_world

pytestmark = pytest.mark.django_db
SECRET = "zanzibar-report-canary"


@pytest.fixture
def world() -> World:
    return make_world()


def capture_report_case(world: World, report: Report) -> LessonCase:
    capture_agent_lessons(world.agent.pk, actor=world.system)
    return next(each for each in cases_of(world) if (each.source, each.source_id) == ("reported_reply", report.pk))


def test_a_settled_report_teaches_what_should_have_been_said(world: World) -> None:
    report = make_report(world)
    capture_agent_lessons(world.agent.pk, actor=world.system)
    assert cases_of(world) == []
    settle_report(report, actor=world.operator, outcome="lesson")
    assert capture_report_case(world, report).conversation_id == report.conversation_id
    [lesson] = lessons_of(world)
    assert lesson.situation == "When is my refund paid?"
    assert lesson.problem == f"A fact is wrong. {EXPLANATION} The reply was: {REPLY_TEXT}"
    assert (lesson.correction, lesson.source, lesson.is_promotable) == (CORRECTION, "reported_reply", True)
    assert capture_agent_lessons(world.agent.pk, actor=world.system) == 0


def test_without_a_correction_the_explanation_is_what_to_do(world: World) -> None:
    report = make_report_of(world, correction="")
    settle_report(report, actor=world.operator, outcome="skill")
    capture_report_case(world, report)
    [taught] = lessons_of(world)
    assert (taught.problem, taught.correction) == (f"A fact is wrong: {REPLY_TEXT}", EXPLANATION)


def test_what_identifies_the_customer_is_masked_before_anything_is_kept(world: World) -> None:
    # R151
    event = make_event(world, "I am jo@example.com, when is it paid?")
    message = make_reply(world, "Paid to jo@example.com in two days.", event.conversation)
    report = make_report_of(world, message, correction="Write to jo@example.com that it takes fourteen days.")
    settle_report(report, actor=world.operator, outcome="lesson")
    capture_report_case(world, report)
    [taught] = lessons_of(world)
    assert "jo@example.com" not in taught.situation + taught.problem + taught.correction


@pytest.mark.parametrize(
    ("outcome", "explanation", "because"),
    [("nothing_wrong", EXPLANATION, "found the reply correct"), ("skill", "", "Nobody explained")],
)
def test_a_report_that_was_wrong_or_says_nothing_teaches_nothing(
    world: World, outcome: str, explanation: str, because: str
) -> None:
    report = make_report_of(world, explanation=explanation, correction="")
    settle_report(report, actor=world.operator, outcome=outcome)
    assert because in capture_report_case(world, report).no_lesson_reason


def test_two_reports_of_one_reply_count_once(world: World) -> None:
    message = make_reply(world)
    first, second = (
        make_report_of(world, message),
        make_report_of(world, message, actor=world.admin, correction="Later."),
    )
    for report in (first, second):
        settle_report(report, actor=world.admin, outcome="lesson")
    assert capture_report_case(world, first).lesson_id is not None
    assert "Another report of the same reply" in capture_report_case(world, second).no_lesson_reason


def test_what_a_person_had_reworded_is_no_lesson_about_the_agent(world: World) -> None:
    draft = make_waiting_draft(world, make_event(world, "When?").conversation)
    send_reviewed_draft(
        draft, actor=world.operator, reviewed_sha256=draft.text_sha256, text="Within two days, promised."
    )
    with acting_as(world.operator):
        message = Message.objects.get(turn_id=draft.turn_id)
    report = make_report_of(world, message, actor=world.admin)
    settle_report(report, actor=world.admin, outcome="lesson")
    assert "written the reply in their own words" in capture_report_case(world, report).no_lesson_reason


def extract_reported_conversation(world: World, standin: StandIn, outcome: str = "") -> tuple[Extraction, str]:
    """What extraction made of a conversation with a reported reply, and what its model read."""
    thread = make_conversation(world)
    report = make_report_of(world, make_reply(world, conversation=thread), explanation=f"{SECRET} {EXPLANATION}")
    if outcome == "withdrawn":
        withdraw_report(report, actor=world.operator)
    elif outcome:
        settle_report(report, actor=world.operator, outcome=outcome)
    resolve_conversation(thread, actor=world.bot, outcome=Conversation.Outcome.SOLVED)
    found = extract_conversation(thread.pk, actor=world.system, backend=standin.backend)
    assert found is not None
    return found, json.dumps(standin.requests()[-1]["messages"], ensure_ascii=False)


@pytest.mark.parametrize("outcome", ["", "skill"])
def test_extraction_learns_in_fixed_words_that_a_reply_is_wrong(world: World, standin: StandIn, outcome: str) -> None:
    found, read = extract_reported_conversation(world, standin, outcome)
    assert read.count("reported") == 1
    assert "A fact is wrong" in read
    assert SECRET not in read
    assert CORRECTION not in read
    assert found.verdict == Extraction.Verdict.NOTHING


@pytest.mark.parametrize("outcome", ["withdrawn", "nothing_wrong"])
def test_a_reply_that_was_right_after_all_is_not_marked(world: World, standin: StandIn, outcome: str) -> None:
    found, read = extract_reported_conversation(world, standin, outcome)
    assert "reported" not in read
    assert found.verdict == Extraction.Verdict.DRAFTED


def test_what_a_reflection_reads_keeps_the_mark_when_it_is_masked(world: World) -> None:
    message = make_reply(world, "Write to jo@example.com.")
    make_report_of(world, message)
    make_report_of(world, message, actor=world.admin, reason_code="private_data", correction="")
    with acting_as(world.system):
        lines = transcript(message.conversation)
    [line] = [
        each for each in transcript_lines(mask_transcript(lines, PiiMasker.against(KnownValues()))) if each.reported
    ]
    assert line.reported == "A fact is wrong; Shows private data"
    assert "jo@example.com" not in line.text
