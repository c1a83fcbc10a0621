"""`manage.py mine_skills`: one verdict for each imported conversation, and no draft twice."""

import json
import re
import urllib.request
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from apps.conversations.actions import import_conversation
from apps.conversations.models import Conversation
from apps.conversations.rules import ConversationLine, ToolCall
from apps.governance.database.actor_transaction import acting_as
from apps.learning.extraction.models import Extraction
from apps.skills.models import Skill
from apps.standin.thread_server import run_standin_thread
from tests.commands.test_import_transcripts import REAL
from tests.support.drivers.management_command import CommandOutput, run_command
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def standin(settings: Settings) -> Iterator[str]:
    with run_standin_thread() as url:
        settings.ANTHROPIC_BASE_URL, settings.ANTHROPIC_API_KEY = url, "stand-in"
        yield url


@pytest.fixture
def world() -> World:
    return make_world("acme-mine")


def mine(*options: str) -> CommandOutput:
    return run_command("mine_skills", "--tenant", "acme-mine", "--agent", "support", *options)


def import_one(world: World, name: str, tool: str = "cancel_order", outcome: str = "solved") -> None:
    calls = (
        ToolCall("a", "find_order", {"order_id": "B77"}, "Found."),
        ToolCall("b", tool, {"order_id": "B77"}, "Done."),
    )
    lines = [
        ConversationLine("customer", "I want to cancel my order, please."),
        ConversationLine("agent", "", calls),
        ConversationLine("agent", "It is cancelled."),
        ConversationLine("customer", "Thank you, that is all."),
    ]
    import_conversation(
        world.agent.pk, actor=world.system, transcript_id=name, lines=lines, outcome=Conversation.Outcome(outcome)
    )


def test_good_conversation_becomes_one_draft_and_the_same_one_again_becomes_none(
    world: World, standin: str
) -> None:  # R117
    for name in ("one", "two"):
        import_one(world, name)
    import_one(world, "three", outcome="unsolved")
    seen = mine()
    assert seen.failure == ""
    assert "1  Drafted a skill" in seen.out
    assert "1  Adds to a draft that says the same" in seen.out
    assert "1  Not solved" in seen.out
    assert "stand-in" in seen.out
    with acting_as(world.system):
        [skill] = Skill.objects.visible_to(world.system)
        assert (skill.status, skill.taint) == ("draft", "import")
        assert Extraction.objects.count() == 3


def test_second_run_has_nothing_to_do(world: World, standin: str) -> None:
    import_one(world, "one")
    mine()
    assert mine().out.startswith("Nothing to do")


def test_limit_leaves_the_rest_for_the_next_run(world: World, standin: str) -> None:
    for name in ("one", "two"):
        import_one(world, name)
    mine("--limit", "1")
    with acting_as(world.system):
        assert Extraction.objects.count() == 1
    assert "--limit must be a whole number" in mine("--limit", "0").failure


def test_unreachable_model_is_said_and_the_next_run_finishes(world: World, standin: str) -> None:
    for name in ("one", "two"):
        import_one(world, name)
    _script(standin, [{"fault": "overloaded"}])
    seen = mine()
    assert "could not be called" in seen.failure
    assert "1 of 2 conversations" in seen.failure
    assert mine().failure == ""
    with acting_as(world.system):
        assert Extraction.objects.count() == 2


def test_model_that_stays_away_is_not_asked_for_every_conversation(world: World, settings: Settings) -> None:
    settings.ANTHROPIC_BASE_URL, settings.ANTHROPIC_API_KEY = "http://127.0.0.1:9", "stand-in"
    for number in range(5):
        import_one(world, f"n{number}")
    seen = mine()
    assert "5 of 5 conversations" in seen.failure
    assert seen.err.count("Conversation ") == 3


def test_conversations_of_another_agent_or_tenant_are_left_alone(world: World, standin: str) -> None:
    other = make_world("umbrella-mine")
    import_one(other, "one")
    assert mine().out.startswith("Nothing to do")
    with acting_as(other.system):
        assert not Extraction.objects.exists()


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="The airline transcripts do not lie beside this repository.")
def test_hundred_real_conversations_each_get_a_verdict_and_no_draft_twice(world: World, standin: str) -> None:
    run_command("import_transcripts", str(REAL), "--tenant", "acme-mine", "--agent", "support")
    assert mine().failure == ""
    with acting_as(world.system):
        assert Extraction.objects.count() == 100
        skills = list(Skill.objects.visible_to(world.system))
        found = list(Extraction.objects.all())
        drafted = [each.skill_id or 0 for each in found if each.verdict == "drafted"]
        assert sorted(drafted) == sorted(skill.pk for skill in skills)
        assert 0 < len(skills) < 15
        # Each like one is one more reason for a draft that is there.
        assert {each.skill_id for each in found if each.verdict == "supports"} <= set(drafted)
        assert [each for each in found if each.verdict == "supports"]
        assert not [skill for skill in skills if re.search(r"[a-z]+_[a-z]+_\d{4}|@", skill.body)]


def _script(standin: str, steps: list[object]) -> None:
    request = urllib.request.Request(f"{standin}/standin/script", json.dumps(steps).encode())  # noqa: S310
    with urllib.request.urlopen(request) as answer:  # noqa: S310
        assert answer.status == 200
