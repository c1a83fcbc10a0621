"""Who looks at a resolved conversation: one worker at a time, and after a failure not before the next look is due."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connections
from django.db.models.functions import Now
from pytest_django import Settings

from apps.conversations.models import Conversation
from apps.governance.database.actor_transaction import acting_as
from apps.learning.extraction.extraction_runs import claim_extraction
from apps.learning.extraction.models import Extraction, ExtractionClaim
from apps.learning.extraction.pipeline import attempt_extraction, extract_conversation
from apps.learning.retry_delay import MOST_FAILURES
from apps.llm.model_backend import Overloaded
from apps.tenants.due_work import due_work
from tests.learning.extraction.test_extraction import Verdict, drafts, make_resolved_conversation, run_extraction
from tests.support.drivers.conversation import fault
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_world


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def test_a_failing_model_leaves_the_conversation_for_later(world: World, standin: StandIn) -> None:
    # R117
    conversation = make_resolved_conversation(world)
    standin.play(fault("overloaded"))
    with pytest.raises(Overloaded):
        extract_conversation(conversation.pk, actor=world.system, backend=standin.backend)
    with acting_as(world.operator):
        assert not Extraction.objects.exists()
    assert due_work("extractions") == []
    assert extract_conversation(conversation.pk, actor=world.system, backend=standin.backend) is None
    assert len(standin.requests()) == 1
    make_extraction_due(world)
    assert due_work("extractions") == [(world.tenant.pk, conversation.pk)]
    assert run_extraction(world, conversation, standin).verdict == Verdict.DRAFTED


def make_extraction_due(world: World, failures: int = 1) -> None:
    """As if the wait were over."""
    with acting_as(world.system):
        assert ExtractionClaim.objects.update(next_attempt_at=Now(), failures=failures) == 1


def test_a_person_need_not_wait_for_the_next_look(world: World, standin: StandIn) -> None:
    conversation = make_resolved_conversation(world)
    standin.play(fault("overloaded"))
    with pytest.raises(Overloaded):
        extract_conversation(conversation.pk, actor=world.system, backend=standin.backend)
    found = extract_conversation(conversation.pk, actor=world.system, backend=standin.backend, at_once=True)
    assert found is not None
    assert found.verdict == Verdict.DRAFTED


def test_a_model_that_fails_again_and_again_over_one_conversation_is_asked_no_more(
    world: World, standin: StandIn
) -> None:
    # Nothing to learn is counted, and so is what could not be read.
    conversation = make_resolved_conversation(world)
    standin.play(fault("overloaded"), fault("overloaded"))
    with pytest.raises(Overloaded):
        extract_conversation(conversation.pk, actor=world.system, backend=standin.backend)
    make_extraction_due(world, MOST_FAILURES - 1)
    found = run_extraction(world, conversation, standin)
    assert found.verdict == Verdict.FAILED
    assert f"failed {MOST_FAILURES} times, last with overloaded" in found.reason


def test_what_another_worker_looks_at_is_left_to_it_until_its_time_is_up(world: World, standin: StandIn) -> None:
    conversation = make_resolved_conversation(world)
    assert due_work("extractions") == [(world.tenant.pk, conversation.pk)]
    assert claim_extraction(conversation, actor=world.system, at_once=False) == 0
    assert due_work("extractions") == []
    for at_once in (False, True):
        assert (
            extract_conversation(conversation.pk, actor=world.system, backend=standin.backend, at_once=at_once) is None
        )
    with acting_as(world.system):
        ExtractionClaim.objects.update(lease_until=Now())
    assert run_extraction(world, conversation, standin).verdict == Verdict.DRAFTED


def test_an_attempt_works_for_the_tenant_that_came_with_the_id(
    world: World, standin: StandIn, settings: Settings
) -> None:
    # R116
    settings.ANTHROPIC_BASE_URL = standin.url
    conversation = make_resolved_conversation(world)
    attempt_extraction(make_world().tenant.pk, conversation.pk)
    assert drafts(world) == []
    standin.play(fault("overloaded"))
    attempt_extraction(world.tenant.pk, conversation.pk)
    assert drafts(world) == []
    make_extraction_due(world)
    attempt_extraction(world.tenant.pk, conversation.pk)
    assert [skill.drafted_by for skill in drafts(world)] == ["extractor"]


def extract_together(world: World, conversations: list[Conversation], standin: StandIn) -> list[str]:
    barrier = Barrier(len(conversations))

    def work(conversation: Conversation) -> str:
        barrier.wait()
        try:
            found = extract_conversation(conversation.pk, actor=world.system, backend=standin.backend)
            return found.verdict if found else ""
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(conversations)) as pool:
        return sorted(pool.map(work, conversations))


def test_many_workers_at_once_write_one_verdict_and_one_draft(committing: str, standin: StandIn) -> None:
    # R117
    world = make_world()
    conversation = make_resolved_conversation(world)
    assert set(extract_together(world, [conversation] * 4, standin)) <= {Verdict.DRAFTED, ""}
    assert len(standin.requests()) == 1
    with acting_as(world.operator):
        assert Extraction.objects.count() == 1
    assert len(drafts(world)) == 1


def test_two_conversations_with_one_lesson_at_once_give_one_draft(committing: str, standin: StandIn) -> None:
    # R117
    world = make_world()
    found = extract_together(world, [make_resolved_conversation(world), make_resolved_conversation(world)], standin)
    assert found == [Verdict.DRAFTED, Verdict.SUPPORTS]
    assert len(drafts(world)) == 1
