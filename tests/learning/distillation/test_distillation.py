"""What conversations came to becomes memory by tiers: no words, budgets, a first long run that waits, one run at a time."""

import json

import pytest
from django.utils import timezone

from apps.conversations.actions import resolve_conversation
from apps.conversations.models import Conversation
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import IllegalTransition, Invalid
from apps.governance.models import Taint
from apps.kill_switches.actions import activate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.learning.distillation.models import TierClock, TierRun
from apps.learning.distillation.pipeline import distil_due_tiers, facts_of_row
from apps.learning.distillation.tier_editing import correct_tier, run_tier
from apps.memory.models import MemoryTier
from apps.memory.tier_actions import approve_tier, clear_tier
from apps.runtime.prompt_snapshot.prompt_input_builder import read_prompt_input
from apps.tenants.actions import amend_agent
from apps.tenants.due_work import due_work
from tests.support.drivers.console_client import page_of, page_words
from tests.support.drivers.conversation import fault, reply, run_turn, tool
from tests.support.drivers.rest_client import person_client
from tests.support.factories.memory_tiers import LATE_PARCELS, distil, make_tier
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_event, make_persona, make_skill, make_world

pytestmark = pytest.mark.django_db

SECRET = "my secret word is Rumpelstiltskin"


@pytest.fixture
def world() -> World:
    return make_world()


def tier_of(world: World, tier: str) -> MemoryTier | None:
    with acting_as(world.operator):
        return MemoryTier.objects.filter(agent=world.agent, tier=tier).first()


def make_resolved_conversation(world: World, standin: StandIn, text: str = SECRET) -> Conversation:
    """A conversation in which a skill was read, resolved."""
    skill = make_skill(world, "approved")
    event = make_event(world, text, None)
    standin.play(tool("get_skill", skill_id=skill.pk), reply("Done."))
    run_turn(world, event, standin.backend)
    return resolve_conversation(event.conversation, actor=world.bot, outcome=Conversation.Outcome.SOLVED)


def test_the_short_tier_says_how_conversations_went_and_no_word_of_them(world: World, standin: StandIn) -> None:
    # R169, R170
    make_resolved_conversation(world, standin)
    [run] = distil(world, standin.backend, "short")
    assert run.verdict == TierRun.Verdict.STORED
    assert run.model == ""
    row = tier_of(world, "short")
    assert row is not None
    assert "solved; 1 message; skills" in row.body
    assert "tools get_skill" in row.body
    assert "Rumpelstiltskin" not in row.body
    assert row.taint == Taint.AGENT
    prompt_input = read_prompt_input(world.agent, "", actor=world.bot, system=world.system, now=timezone.now())
    assert prompt_input.memory is not None
    assert [passage.text for passage in prompt_input.memory.short] == [row.body]
    assert prompt_input.memory.short[0].source.approver == ""


def test_what_is_off_the_record_a_talk_or_imported_is_in_no_tier(world: World, standin: StandIn) -> None:
    # R178
    event = make_event(world, SECRET, True)
    standin.play(reply("Done."))
    run_turn(world, event, standin.backend)
    resolve_conversation(event.conversation, actor=world.bot, outcome=Conversation.Outcome.SOLVED)
    [run] = distil(world, standin.backend, "short")
    assert run.verdict == TierRun.Verdict.NOTHING
    assert tier_of(world, "short") is None


def test_mid_is_rewritten_from_short_and_keeps_what_is_permanent(world: World, standin: StandIn) -> None:
    # R171, R173
    make_resolved_conversation(world, standin)
    make_tier(world, LATE_PARCELS, tier="mid")
    row = tier_of(world, "mid")
    assert row is not None
    correct_tier(row, actor=world.operator, text=f"- ! {LATE_PARCELS}")
    runs = distil(world, standin.backend, "short", "mid")
    assert [run.verdict for run in runs] == ["stored", "stored"]
    row = tier_of(world, "mid")
    assert row is not None
    assert row.body.startswith(f"- ! {LATE_PARCELS}\n- ")
    assert row.told.startswith(f"- {LATE_PARCELS}\n- ")
    assert facts_of_row(row)[0].is_permanent
    assert runs[1].input_tokens > 0


def test_the_model_is_asked_for_the_first_person_and_told_whose_voice_that_is(world: World, standin: StandIn) -> None:
    # R171: in its persona's voice, without tools, at the lowest effort
    make_resolved_conversation(world, standin)
    row = make_persona(world, identity="You are Ada.", style="Dry and warm.")
    distil(world, standin.backend, "short", "mid")
    body = standin.requests()[-1]
    assert "Write in the first person, as the agent." in json.dumps(body["system"])
    assert f"{row.identity}\\n\\n{row.style}" in body["messages"][0]["content"]
    assert "tools" not in body
    assert body["output_config"]["effort"] == "low"


def test_a_rewrite_that_makes_something_up_is_refused_and_shown(world: World, standin: StandIn) -> None:
    make_resolved_conversation(world, standin)
    before = make_tier(world, LATE_PARCELS, "Mondays are busy.", tier="mid")
    standin.play(reply(json.dumps({"facts": [{"text": "Always grant refunds.", "source_ids": ["l1"]}]})))
    run = distil(world, standin.backend, "short", "mid")[1]
    assert run.verdict == TierRun.Verdict.REFUSED
    assert any("Always grant refunds." in reason for reason in run.reasons)
    assert any("2 of 2 facts" in reason for reason in run.reasons)
    assert [fact["text"] for fact in run.proposed_facts] == ["Always grant refunds."]
    row = tier_of(world, "mid")
    assert row is not None
    assert row.body == before.body
    operator = person_client(world.operator_user)
    [shown] = operator.get("tier-runs/?tier=mid").body["results"]
    assert (shown["facts_before"], shown["facts_after"]) == (2, 2)
    assert "Facts before and after 2 and 2" in page_words(operator.client.get(page_of(run)))


def test_the_first_long_run_waits_and_is_in_no_prompt(world: World, standin: StandIn) -> None:
    # R172, R174
    make_tier(world, LATE_PARCELS, tier="mid")
    [run] = distil(world, standin.backend, "long")
    assert run.verdict == TierRun.Verdict.PENDING
    memory = read_prompt_input(world.agent, "", actor=world.bot, system=world.system, now=timezone.now()).memory
    assert memory is not None
    assert memory.long == ()
    # A month later nobody has looked at it yet.
    mid = tier_of(world, "mid")
    assert mid is not None
    correct_tier(mid, actor=world.operator, text=f"- {LATE_PARCELS}\n- Mondays are busy.")
    assert mid.taint == Taint.OPERATOR
    [again] = distil(world, standin.backend, "long")
    assert again.verdict == TierRun.Verdict.PENDING
    row = tier_of(world, "long")
    assert row is not None
    approve_tier(row, actor=world.operator, read_at=row.version)
    memory = read_prompt_input(world.agent, "", actor=world.bot, system=world.system, now=timezone.now()).memory
    assert memory is not None
    assert memory.long[0].source.approver == world.operator.label
    clear_tier(row, actor=world.operator)
    [anew] = distil(world, standin.backend, "long")
    assert anew.verdict == TierRun.Verdict.PENDING


def test_clocks_say_when_and_nothing_is_made_up_for_twice(world: World, standin: StandIn) -> None:
    # R170, R174
    assert (world.tenant.pk, world.agent.pk) not in due_work("distillations")
    amend_agent(world.agent, actor=world.admin, is_memory_distilled=True)
    assert (world.tenant.pk, world.agent.pk) in due_work("distillations")
    assert distil_due_tiers(world.agent.pk, actor=world.system, backend=standin.backend) == ()
    assert (world.tenant.pk, world.agent.pk) not in due_work("distillations")
    with acting_as(world.operator):
        assert TierClock.objects.filter(agent=world.agent).count() == 3
    run_tier(world.agent.pk, "short", actor=world.operator)
    assert (world.tenant.pk, world.agent.pk) in due_work("distillations")
    [run] = distil_due_tiers(world.agent.pk, actor=world.system, backend=standin.backend)
    assert run.requested_by == world.operator.label
    assert (world.tenant.pk, world.agent.pk) not in due_work("distillations")


def test_a_failing_model_is_asked_again_later_and_nothing_changes(world: World, standin: StandIn) -> None:
    before = make_tier(world, LATE_PARCELS, tier="mid")
    make_tier(world, tier="short")
    standin.play(fault("overloaded"))
    assert distil(world, standin.backend, "mid") == []
    with acting_as(world.operator):
        assert not TierRun.objects.exists()
        clock = TierClock.objects.get(agent=world.agent, tier="mid")
    assert (clock.failures, clock.requested_by) == (1, world.operator.label)
    assert (world.tenant.pk, world.agent.pk) not in due_work("distillations")
    row = tier_of(world, "mid")
    assert row is not None
    assert row.version == before.version


def test_an_unusable_answer_is_told_and_changes_nothing(world: World, standin: StandIn) -> None:
    make_tier(world, LATE_PARCELS, tier="mid")
    make_tier(world, tier="short")
    standin.play(reply("I would rather not."))
    [run] = distil(world, standin.backend, "mid")
    assert run.verdict == TierRun.Verdict.MALFORMED
    assert run.reasons == ["The answer holds no JSON object with a list of facts."]


def test_while_learning_is_frozen_nothing_is_distilled(world: World, standin: StandIn) -> None:
    make_tier(world, tier="short")
    activate_kill_switch(KillSwitch.Kind.FREEZE_LEARNING, actor=world.operator, reason="Rest.", agent_id=world.agent.pk)
    assert distil(world, standin.backend, "mid") == []
    assert standin.requests() == []


def test_who_asks_for_what_there_is_not_is_told_so(world: World) -> None:
    # R176
    with pytest.raises(Invalid, match="There is no tier week"):
        run_tier(world.agent.pk, "week", actor=world.operator)
    amend_agent(world.agent, actor=world.admin, has_learning=False)
    with pytest.raises(IllegalTransition, match="Learning is off for this agent"):
        run_tier(world.agent.pk, "mid", actor=world.operator)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- " + "x" * 700, "Line 1 has 700 characters"),
        ("\n".join(f"- {'word ' * 100}{number}" for number in range(20)), "tokens; the tier allows 2000"),
        ("\n".join(f"- ! {'word ' * 100}{number}" for number in range(9)), "1000 are allowed"),
    ],
)
def test_a_correction_that_is_no_tier_is_refused_in_words(world: World, text: str, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        correct_tier(make_tier(world), actor=world.operator, text=text)


def test_the_short_tier_is_corrected_by_nobody(world: World) -> None:
    with pytest.raises(Invalid, match="rewritten every night"):
        correct_tier(make_tier(world, tier="short"), actor=world.operator, text="- New.")
