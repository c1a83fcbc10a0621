"""A conversation in quarantine is no material for drafts, reviews, lessons, digests, tiers and examples, until its release."""

import json

import pytest

from apps.conversations.actions import resolve_conversation
from apps.conversations.models import Conversation
from apps.conversations.quarantine import quarantine_conversation, release_conversation
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, IllegalTransition, Invalid, NotPermitted
from apps.governance.models import ChangeRecord
from apps.learning.digest.pipeline import digest_agent_lessons
from apps.learning.distillation.session_log import read_session_log
from apps.learning.extraction.models import Extraction
from apps.learning.extraction.pipeline import extract_conversation
from apps.learning.lessons.lesson_capture import capture_agent_lessons
from apps.learning.lessons.rules import LessonSource
from apps.learning.lineage import quarantine_descendants
from apps.learning.reflection.models import Reflection
from apps.learning.reflection.pipeline import reflect_on_latest_day
from apps.llm.model_backend import ModelReply, ModelRequest
from apps.skills.models import Skill
from apps.tenants.due_work import due_work
from tests.support.database.raw_sql_as_role import BROKEN_RULE, run_and_undo
from tests.support.drivers.conversation import run_customer_turn
from tests.support.factories.lessons import (
    SENT_TEXT,
    cases_of,
    enable_examples,
    lessons_of,
    make_answer_lesson,
    make_edited_draft,
    make_example,
    make_lesson,
    make_recurring_edit,
)
from tests.support.factories.member_talks import make_assistant, make_talk
from tests.support.factories.reflections import evening, make_day, run_reflection
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_conversation, make_world

pytestmark = pytest.mark.django_db
EXAMPLES = "Drafts of yours that an operator corrected"


@pytest.fixture
def world() -> World:
    return make_world()


def quarantine(world: World, conversation_id: int | None) -> Conversation:
    assert conversation_id is not None
    with acting_as(world.operator):
        conversation = Conversation.objects.visible_to(world.operator).get(pk=conversation_id)
    return quarantine_conversation(conversation, actor=world.operator, reason="Planted.")


def make_resolved(world: World) -> Conversation:
    return resolve_conversation(make_conversation(world), actor=world.bot, outcome=Conversation.Outcome.SOLVED)


def drafts(world: World) -> list[Skill]:
    with acting_as(world.operator):
        return list(Skill.objects.visible_to(world.operator).drafts())


def last_user_turn(standin: StandIn) -> str:
    return json.dumps(standin.requests()[-1]["messages"][-1])


class QuarantineDuringCall:
    """A model during whose call a person puts the conversation in quarantine."""

    def __init__(self, world: World, conversation: Conversation, standin: StandIn) -> None:
        self.world, self.conversation, self.standin = world, conversation, standin

    def complete(self, request: ModelRequest) -> ModelReply:
        quarantine(self.world, self.conversation.pk)
        return self.standin.backend.complete(request)


def test_nothing_is_extracted_until_the_conversation_is_released(world: World, standin: StandIn) -> None:
    conversation = quarantine(world, make_resolved(world).pk)
    assert (world.tenant.pk, conversation.pk) not in due_work("extractions")
    assert extract_conversation(conversation.pk, actor=world.system, backend=standin.backend) is None
    assert standin.requests() == []
    release_conversation(conversation, actor=world.operator, reason="It was genuine.")
    assert (world.tenant.pk, conversation.pk) in due_work("extractions")
    found = extract_conversation(conversation.pk, actor=world.system, backend=standin.backend)
    assert found is not None
    assert found.verdict == Extraction.Verdict.DRAFTED


def test_quarantine_during_the_call_of_an_extraction_keeps_its_draft_out(world: World, standin: StandIn) -> None:
    conversation = make_resolved(world)
    model = QuarantineDuringCall(world, conversation, standin)
    assert extract_conversation(conversation.pk, actor=world.system, backend=model) is None
    assert len(standin.requests()) == 1
    assert drafts(world) == []
    with acting_as(world.operator):
        assert not Extraction.objects.filter(conversation=conversation).exists()


def test_a_daily_review_leaves_it_out(world: World, standin: StandIn) -> None:
    read = make_day(world, 3)
    quarantine(world, read[0].pk)
    found = run_reflection(world, standin.backend)
    assert found.conversation_ids == [row.pk for row in read[1:]]


def test_quarantine_during_the_call_of_a_daily_review_keeps_its_drafts_out(world: World, standin: StandIn) -> None:
    read = make_day(world, 3)
    model = QuarantineDuringCall(world, read[0], standin)
    assert reflect_on_latest_day(world.agent.pk, actor=world.system, backend=model, now=evening()) is None
    assert drafts(world) == []
    with acting_as(world.operator):
        assert Reflection.objects.get().verdict == "waiting"


def test_its_corrections_become_no_lesson_until_its_release(world: World) -> None:
    draft = make_edited_draft(world)
    conversation = quarantine(world, draft.conversation_id)
    assert (world.tenant.pk, world.agent.pk) not in due_work("lesson_captures")
    capture_agent_lessons(world.agent.pk, actor=world.system)
    assert cases_of(world) == []
    release_conversation(conversation, actor=world.operator, reason="Genuine.")
    assert (world.tenant.pk, world.agent.pk) in due_work("lesson_captures")
    capture_agent_lessons(world.agent.pk, actor=world.system)
    assert len(cases_of(world)) == 1


def test_a_digest_reads_no_lesson_whose_words_come_from_it(world: World, standin: StandIn) -> None:
    make_lesson(world, cases=2)
    first, second = cases_of(world)
    quarantine(world, second.conversation_id)
    assert (world.tenant.pk, world.agent.pk) in due_work("digests"), "its words are those of the first conversation"
    quarantine(world, first.conversation_id)
    assert (world.tenant.pk, world.agent.pk) not in due_work("digests")
    assert digest_agent_lessons(world.agent.pk, actor=world.system, backend=standin.backend) is None
    make_answer_lesson(world)
    [answered] = [each for each in lessons_of(world) if each.source == LessonSource.ANSWERED_ESCALATION]
    found = digest_agent_lessons(world.agent.pk, actor=world.system, backend=standin.backend)
    assert found is not None
    assert found.lesson_ids == [answered.pk]


def test_the_log_that_tiers_are_distilled_from_has_no_line_of_it(world: World) -> None:
    kept, planted = make_resolved(world), make_resolved(world)
    assert len(read_session_log(world.agent.pk, actor=world.system)) == 2
    quarantine(world, planted.pk)
    [line] = read_session_log(world.agent.pk, actor=world.system)
    assert line.at == kept.resolved_at


def test_its_corrected_drafts_are_no_examples_for_the_customer(world: World, standin: StandIn) -> None:
    draft = make_edited_draft(world)
    run_customer_turn(world, "Hello", standin, customer="http:abc123", thread="one")
    assert EXAMPLES in last_user_turn(standin)
    quarantine(world, draft.conversation_id)
    run_customer_turn(world, "Hello", standin, customer="http:abc123", thread="two")
    assert EXAMPLES not in last_user_turn(standin)


def test_an_example_of_the_bank_from_it_reaches_no_turn(world: World, standin: StandIn) -> None:
    enable_examples(world)
    example = make_example(world, correction=f"{SENT_TEXT} As always.")
    run_customer_turn(world, "Hello", standin, customer="http:other", thread="one")
    assert "As always." in last_user_turn(standin)
    case = next(each for each in cases_of(world) if each.lesson_id == example.lesson_id)
    conversation = quarantine(world, case.conversation_id)
    run_customer_turn(world, "Hello", standin, customer="http:other", thread="two")
    assert "As always." not in last_user_turn(standin)
    release_conversation(conversation, actor=world.operator, reason="Genuine.")
    run_customer_turn(world, "Hello", standin, customer="http:other", thread="three")
    assert "As always." in last_user_turn(standin)


def test_its_edits_support_no_recurring_edit(world: World) -> None:
    make_lesson(world)
    for case in cases_of(world):
        quarantine(world, case.conversation_id)
    cluster = make_recurring_edit(world)
    with acting_as(world.operator):
        members = set(cluster.members.values_list("case_id", flat=True))
    quarantined = {case.pk for case in cases_of(world)[:1]}
    assert not members & quarantined
    assert len(lessons_of(world)) > 0


def test_all_of_it_is_put_in_quarantine_with_its_source(world: World) -> None:
    conversation = make_resolved(world)
    quarantine_descendants(conversation, actor=world.operator, reason="Planted.")
    with acting_as(world.operator):
        stored = Conversation.objects.visible_to(world.operator).get(pk=conversation.pk)
        assert ChangeRecord.objects.filter(act="conversation.quarantine", subject_id=conversation.pk).count() == 1
    assert (stored.is_quarantined, stored.quarantine_reason) == (True, "Planted.")
    quarantine_descendants(conversation, actor=world.operator, reason="Again.")


def test_only_a_person_says_so_once_with_a_reason(world: World) -> None:
    conversation = make_conversation(world)
    with pytest.raises(Invalid, match="Give a reason"):
        quarantine_conversation(conversation, actor=world.operator, reason=" ")
    for actor in (world.bot, world.system):
        with pytest.raises(NotPermitted):
            quarantine_conversation(conversation, actor=actor, reason="Planted.")
    with pytest.raises(Conflict, match="not in quarantine"):
        release_conversation(conversation, actor=world.operator, reason="Genuine.")
    quarantine_conversation(conversation, actor=world.operator, reason="Planted.")
    with pytest.raises(Conflict, match="in quarantine already: Planted"):
        quarantine_conversation(conversation, actor=world.operator, reason="Again.")


def test_talks_of_members_are_no_material_anyway(world: World) -> None:
    talk = make_talk(make_assistant(world))
    with pytest.raises(IllegalTransition, match="Nothing is learned from it"):
        quarantine_conversation(talk, actor=world.operator, reason="Odd.")


def test_no_conversation_is_in_quarantine_without_person_and_reason(world: World) -> None:
    conversation = make_conversation(world)
    half = "UPDATE conversations_conversation SET quarantined_at = now() WHERE id = %s"
    assert run_and_undo(world.operator, half, [conversation.pk]).sqlstate == BROKEN_RULE
