"""Lessons out of edited and discarded drafts, answered questions, dead turns and rejected proposals (R138, R151, R152)."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connections

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.governance.proposals.actions import reject_proposal
from apps.learning.lessons.actions import reject_version, withdraw_version
from apps.learning.lessons.lesson_capture import attempt_capture, capture_agent_lessons
from apps.learning.lessons.models import Lesson, LessonCase
from apps.learning.lessons.rules import LessonSource
from apps.llm.model_backend import BadRequest, ModelReply, ModelRequest
from apps.personas.actions import propose_patch
from apps.runtime.models import Turn
from apps.runtime.turns.operator_replies import answer_question, decline_draft, send_reviewed_draft
from apps.tenants.actions import amend_agent
from apps.tenants.due_work import due_work
from tests.support.database.raw_sql_as_role import NO_RIGHT, run_and_undo
from tests.support.drivers.conversation import reply, run_turn, send_customer_message
from tests.support.factories.desk import make_escalation, make_waiting_draft
from tests.support.factories.lessons import (
    DRAFT_TEXT,
    QUESTION,
    SENT_TEXT,
    cases_of,
    lessons_of,
    make_asked_draft,
    make_edited_draft,
    make_lesson,
    make_version,
)
from tests.support.factories.member_talks import make_assistant, make_talk, message_assistant
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_event, make_persona, make_world


@pytest.fixture
def world(db: None) -> World:
    return make_world()


class RefusingModel:
    """A model that takes no request."""

    def complete(self, request: ModelRequest) -> ModelReply:
        del request
        raise BadRequest("Too many tools.")


def capture_lessons(world: World) -> list[tuple[str, str, str, str]]:
    capture_agent_lessons(world.agent.pk, actor=world.system)
    return [(row.source, row.situation, row.problem, row.correction) for row in lessons_of(world)]


def test_an_edited_draft_is_a_lesson_and_the_second_of_a_kind_supports_it(world: World) -> None:
    # R138, R151, R155
    lesson = make_lesson(world)
    assert (lesson.situation, lesson.problem, lesson.correction) == (QUESTION, DRAFT_TEXT, SENT_TEXT)
    assert (lesson.support_count, lesson.confidence, lesson.is_promotable) == (1, 0.3, False)
    again = make_lesson(world)
    assert (again.pk, again.support_count, again.is_promotable) == (lesson.pk, 2, True)
    assert again.confidence == pytest.approx(0.51)
    assert len(cases_of(world)) == 2


def test_what_was_looked_at_once_counts_once_however_often_the_sweep_comes(world: World) -> None:
    make_lesson(world)
    assert due_work("lesson_captures") == []
    assert capture_agent_lessons(world.agent.pk, actor=world.system) == 0
    assert [lesson.support_count for lesson in lessons_of(world)] == [1]


def test_a_lesson_is_captured_even_where_learning_is_off(world: World) -> None:
    # R152
    amend_agent(world.agent, actor=world.admin, has_learning=False)
    make_edited_draft(world)
    assert due_work("lesson_captures") == [(world.tenant.pk, world.agent.pk)]
    attempt_capture(world.tenant.pk, world.agent.pk)
    assert len(lessons_of(world)) == 1


def test_a_discarded_draft_tells_what_was_wrong_with_it(world: World) -> None:
    # R138
    decline_draft(make_asked_draft(world), actor=world.operator, reason_code="wrong_tone", reason="Say sorry first.")
    assert capture_lessons(world) == [("discarded_draft", QUESTION, f"Wrong tone: {DRAFT_TEXT}", "Say sorry first.")]


def test_an_answered_question_is_sure_enough_at_once(world: World) -> None:
    # R138, R155
    thread = make_event(world, "May I send it back?").conversation
    row = make_escalation(world, thread)
    answer_question(row, actor=world.operator, answer="Within 30 days, yes.", word_for_word=False)
    [(source, situation, wrong, instead)] = capture_lessons(world)
    assert (source, situation, instead) == ("answered_escalation", "May I send it back?", "Within 30 days, yes.")
    assert "May a broken parcel be sent back?" in wrong
    assert lessons_of(world)[0].is_promotable


def test_a_turn_that_gave_no_answer_is_a_lesson_if_the_agent_failed(world: World, standin: StandIn) -> None:
    # R138
    standin.play(reply("", stop_reason="refusal"))
    turn = run_turn(world, send_customer_message(world, "Tell me a secret."), standin.backend)
    assert (turn.status, turn.failure_code) == (Turn.Status.FAILED, "refusal")
    [(source, situation, wrong, instead)] = capture_lessons(world)
    assert (source, situation, instead) == ("failed_turn", "Tell me a secret.", "")
    assert wrong == "The agent gave no answer. The model stopped: refusal."


def test_a_turn_that_the_model_or_a_worker_failed_teaches_nothing(world: World) -> None:
    turn = run_turn(world, send_customer_message(world, "Hello?"), RefusingModel())
    assert (turn.status, turn.failure_code) == (Turn.Status.FAILED, "bad_request")
    assert capture_lessons(world) == []
    [case] = cases_of(world)
    assert (case.lesson_id, case.source, case.source_id) == (None, LessonSource.FAILED_TURN, turn.pk)
    assert "not the agent" in case.no_lesson_reason


def test_the_reason_of_a_rejection_is_a_lesson_and_a_bare_no_is_none(world: World) -> None:
    # R138
    persona = make_persona(world)
    bare = propose_patch(persona, actor=world.bot, text="Be loud.")
    reject_proposal(bare, actor=world.operator, reason="", reason_code="wrong_tone")
    proposal = propose_patch(persona, actor=world.bot, text="Promise a refund date.")
    reject_proposal(proposal, actor=world.operator, reason="Only finance knows the date.")
    [(source, situation, _, instead)] = capture_lessons(world)
    assert (source, instead) == ("rejected_proposal", "Only finance knows the date.")
    assert situation.startswith("The agent proposed: Persona patch.")
    with acting_as(world.operator):
        assert Proposal.objects.filter(state="rejected").count() == 2
    assert [case.lesson_id is None for case in cases_of(world)] == [True, False]


def test_why_a_learning_version_was_turned_down_is_a_lesson(world: World) -> None:
    # R138
    bare = make_version(world)
    reject_version(bare, actor=world.operator)
    version = make_version(world)
    reject_version(version, actor=world.operator, reason="Only finance knows the date.")
    gone = make_version(world, "active")
    withdraw_version(gone, actor=world.operator, reason="It was made up.")
    assert due_work("lesson_captures") == [(world.tenant.pk, world.agent.pk)]
    found = {instead: (source, situation, wrong) for source, situation, wrong, instead in capture_lessons(world)}
    assert {source for source, _, _ in found.values()} == {"rejected_version"}
    assert set(found) == {"Only finance knows the date.", "It was made up."}
    assert found["Only finance knows the date."][2] == f"It would learn: {version.change_summary}"
    assert gone.change_summary not in found["It was made up."][2]
    assert due_work("lesson_captures") == []


def test_words_that_only_differ_in_spaces_and_capitals_teach_nothing(world: World) -> None:
    make_edited_draft(world, sent="it is  on its way.")
    assert capture_lessons(world) == []
    assert "the same" in cases_of(world)[0].no_lesson_reason


def test_nothing_is_captured_off_the_record(world: World) -> None:
    # R178
    event = make_event(world, off_the_record=True)
    draft = make_waiting_draft(world, event.conversation)
    send_reviewed_draft(draft, actor=world.operator, reviewed_sha256=draft.text_sha256, text=SENT_TEXT)
    assert due_work("lesson_captures") == []
    assert capture_lessons(world) == []
    assert cases_of(world) == []


def test_nothing_is_captured_of_what_members_talk_about_with_an_assistant(world: World, standin: StandIn) -> None:
    # R129
    aide = make_assistant(world)
    standin.play(reply("", stop_reason="refusal"))
    turn = run_turn(aide, message_assistant(make_talk(aide), "Tell me a secret.", aide.operator), standin.backend)
    assert turn.status == Turn.Status.FAILED
    assert due_work("lesson_captures") == []
    assert capture_agent_lessons(aide.agent.pk, actor=aide.system) == 0


def test_nobodys_name_address_or_number_is_kept(world: World) -> None:
    # R115
    make_edited_draft(
        world,
        "I am Mia Lindqvist, mia@lindqvist.example. Where is order W2378156?",
        "Order W2378156 is on its way, Mia.",
        "Dear Mia, order W2378156 arrives at 12 Harbour Street tomorrow. Call +34 612 345 678 with questions.",
        sender_name="Mia Lindqvist",
        channel="sms",
        end_user_key="sms:+34612345678",
    )
    [parts] = capture_lessons(world)
    kept = " ".join(parts)
    for private in ("Mia", "Lindqvist", "W2378156", "Harbour Street", "612 345 678", "@"):
        assert private not in kept
    assert "[name]" in kept
    assert "[id]" in kept


def test_two_customers_with_one_problem_make_one_lesson(world: World) -> None:
    # R151
    for number in ("W2378156", "W9911223"):
        make_edited_draft(world, f"Where is {number}?", f"{number} is on its way.", f"{number} comes tomorrow.")
    capture_agent_lessons(world.agent.pk, actor=world.system)
    [lesson] = lessons_of(world)
    assert lesson.support_count == 2


def test_workers_at_once_count_each_case_once(committing: str) -> None:
    # R151
    world = make_world()
    for _ in range(3):
        make_edited_draft(world)
    barrier = Barrier(3)

    def work(_: int) -> int:
        barrier.wait()
        try:
            return capture_agent_lessons(world.agent.pk, actor=world.system)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(3) as pool:
        assert sum(pool.map(work, range(3))) == 3
    assert [lesson.support_count for lesson in lessons_of(world)] == [3]


def test_no_agent_sees_a_lesson_and_nobody_rewrites_one(world: World) -> None:
    # R151
    make_lesson(world)
    for table in ("learning_lesson", "learning_lessoncase"):
        assert run_and_undo(world.bot, f"SELECT 1 FROM {table}").sqlstate == NO_RIGHT  # noqa: S608  # names above
        assert run_and_undo(world.operator, f"SELECT 1 FROM {table}").rows == 1  # noqa: S608
    for statement in (
        "UPDATE learning_lesson SET correction = 'Obey.'",
        "UPDATE learning_lessoncase SET no_lesson_reason = 'x'",
        "DELETE FROM learning_lesson",
    ):
        for actor in (world.operator, world.system, world.bot):
            assert not run_and_undo(actor, statement).passed, statement
    with acting_as(world.operator):
        assert (Lesson.objects.count(), LessonCase.objects.count()) == (1, 1)
