"""What a look of the learning costs stands in its journal, by the tenant's price before the published one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.learning.digest.pipeline import digest_agent_lessons
from apps.learning.distillation.models import TierRun
from apps.learning.extraction.models import Extraction
from apps.learning.extraction.pipeline import extract_conversation
from apps.learning.model_spend import LearningBudgetReserved, usage_columns
from apps.llm.model_backend import ModelBackend, ModelReply, ModelRequest, StopReason, Usage
from apps.runtime.models import Spend
from apps.tenants.actions import amend_agent, amend_settings
from apps.tenants.due_work import due_work
from apps.tenants.models import TenantSettings
from tests.learning.extraction.test_extraction import make_resolved_conversation
from tests.support.drivers.conversation import run_turn
from tests.support.factories.endpoints import make_price
from tests.support.factories.lessons import make_lesson
from tests.support.factories.memory_tiers import distil, make_tier
from tests.support.factories.reflections import make_day, run_reflection
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_event, make_world

PUBLISHED = "claude-sonnet-5-5"
USAGE = Usage(1_000_000, 100_000)


@pytest.fixture
def world(db: None) -> World:
    return make_world()


@dataclass
class PricedBackend:
    """The stand-in's words from a model that costs money."""

    behind: ModelBackend
    model: str = PUBLISHED

    def complete(self, request: ModelRequest) -> ModelReply:
        return replace(self.behind.complete(request), model=self.model, is_stand_in=False, usage=USAGE)


def priced_reply(**changed: Any) -> ModelReply:
    return replace(ModelReply("msg", PUBLISHED, StopReason.END_TURN, (), "", (), USAGE, is_stand_in=False), **changed)


def test_a_verdict_says_what_it_cost(world: World, standin: StandIn) -> None:  # R110
    conversation = make_resolved_conversation(world)
    found = extract_conversation(conversation.pk, actor=world.system, backend=PricedBackend(standin.backend))
    assert found is not None
    with acting_as(world.operator):
        kept = Extraction.objects.get(conversation=conversation)
    # Two dollars for a million tokens in and ten for a million out.
    assert (kept.cost_micro_usd, kept.input_tokens, kept.output_tokens) == (3_000_000, 1_000_000, 100_000)


@pytest.mark.parametrize(
    ("reply", "cost"),
    [
        (lambda: None, 0),
        (priced_reply, 3_000_000),
        (lambda: priced_reply(is_stand_in=True), None),
        (lambda: priced_reply(model="somebody-elses"), None),
        (lambda: priced_reply(usage=Usage(0, 0, 1_000_000)), 100_000),
    ],
    ids=["nobody was asked", "published", "the stand-in", "no price is known", "read from the cache"],
)
def test_what_is_not_known_is_not_free(world: World, reply: Callable[[], ModelReply | None], cost: int | None) -> None:
    assert usage_columns(reply(), actor=world.system)["cost_micro_usd"] == cost


def test_the_tenants_own_price_comes_first(world: World) -> None:
    make_price(world, PUBLISHED)
    assert usage_columns(priced_reply(), actor=world.system)["cost_micro_usd"] == 1_500_000
    assert usage_columns(priced_reply(), actor=make_world().system)["cost_micro_usd"] == 3_000_000


def test_the_stand_in_costs_what_the_tenant_itself_says_and_nothing_by_the_list(world: World) -> None:
    assert usage_columns(priced_reply(is_stand_in=True), actor=world.system)["cost_micro_usd"] is None
    make_price(world, f"{PUBLISHED}*")
    assert usage_columns(priced_reply(is_stand_in=True), actor=world.system)["cost_micro_usd"] == 1_500_000
    assert (
        usage_columns(priced_reply(is_stand_in=True, model="somebody-elses"), actor=world.system)["cost_micro_usd"]
        is None
    )


def spend_of(world: World) -> Spend:
    with acting_as(world.operator):
        return Spend.objects.get()


def budget_of_a_day(world: World, micro_usd: int | None) -> None:
    with acting_as(world.admin):
        settings = TenantSettings.objects.visible_to(world.admin).get()
    amend_settings(settings, actor=world.admin, day_budget_micro_usd=micro_usd)


@pytest.mark.slow
def test_every_kind_of_look_is_counted_in_the_day_beside_turns(world: World, standin: StandIn) -> None:
    paid = PricedBackend(standin.backend)
    extract_conversation(make_resolved_conversation(world).pk, actor=world.system, backend=paid)
    make_lesson(world)
    make_lesson(world)
    digest_agent_lessons(world.agent.pk, actor=world.system, backend=paid)
    make_tier(world, tier="short")
    distil(world, paid, "mid")
    make_day(world, 3)
    run_reflection(world, paid)
    spend = spend_of(world)
    assert (spend.learning_calls, spend.learning_cost_micro_usd, spend.learning_unpriced_calls) == (4, 12_000_000, 0)
    assert (spend.learning_input_tokens, spend.learning_output_tokens) == (4_000_000, 400_000)
    assert (spend.calls, spend.cost_micro_usd, spend.all_calls, spend.all_cost_micro_usd) == (0, 0, 4, 12_000_000)


def test_what_has_no_price_is_counted_as_such(world: World, standin: StandIn) -> None:
    extract_conversation(make_resolved_conversation(world).pk, actor=world.system, backend=standin.backend)
    spend = spend_of(world)
    assert (spend.learning_calls, spend.learning_unpriced_calls, spend.learning_cost_micro_usd) == (1, 1, 0)


def test_learning_leaves_the_last_fifth_of_a_day_to_customers(world: World, standin: StandIn) -> None:
    # R166
    paid = PricedBackend(standin.backend)
    extract_conversation(make_resolved_conversation(world).pk, actor=world.system, backend=paid)
    waiting = make_resolved_conversation(world)
    due = (world.tenant.pk, waiting.pk)
    assert due in due_work("extractions")
    budget_of_a_day(world, 3_750_000)
    assert due not in due_work("extractions")
    with pytest.raises(LearningBudgetReserved):
        extract_conversation(waiting.pk, actor=world.system, backend=paid)
    assert spend_of(world).learning_calls == 1
    budget_of_a_day(world, 3_750_002)
    assert extract_conversation(waiting.pk, actor=world.system, backend=paid, at_once=True) is not None


def test_one_tenants_spent_day_holds_back_no_other(world: World, standin: StandIn) -> None:
    extract_conversation(
        make_resolved_conversation(world).pk, actor=world.system, backend=PricedBackend(standin.backend)
    )
    budget_of_a_day(world, 1)
    other = make_world()
    theirs = make_resolved_conversation(other)
    assert (other.tenant.pk, theirs.pk) in due_work("extractions")
    assert extract_conversation(theirs.pk, actor=other.system, backend=standin.backend) is not None


def test_a_day_and_a_tier_wait_without_a_verdict(world: World, standin: StandIn) -> None:
    make_day(world, 3)
    make_tier(world, tier="short")
    budget_of_a_day(world, 1)
    with pytest.raises(LearningBudgetReserved):
        run_reflection(world, standin.backend)
    assert not distil(world, standin.backend, "mid")
    with acting_as(world.operator):
        assert not TierRun.objects.exists()
    assert not standin.requests()
    assert (world.tenant.pk, world.agent.pk) not in due_work("reflections")


def test_a_turn_waits_for_a_day_that_learning_spent(world: World, standin: StandIn) -> None:
    extract_conversation(
        make_resolved_conversation(world).pk, actor=world.system, backend=PricedBackend(standin.backend)
    )
    budget_of_a_day(world, 3_000_000)
    amend_agent(world.agent, actor=world.admin, model=PUBLISHED)
    turn = run_turn(world, make_event(world, "Hello", None), standin.backend)
    assert turn.failure_code == "day_budget_spent"
