"""What a look of the learning costs stands in its journal, by the tenant's price before the published one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from apps.governance.acting import acting
from apps.learning.extraction import extract
from apps.learning.models import Extraction
from apps.learning.used import used
from apps.llm.backend import Backend, Reply, Request, StopReason, Usage
from tests.actions.test_extraction import resolved
from tests.factories import World, make_world
from tests.standing_in import StandIn
from tests.thinking import make_price

PUBLISHED = "claude-sonnet-5-5"
USAGE = Usage(1_000_000, 100_000)


@pytest.fixture
def world(db: None) -> World:
    return make_world()


@dataclass
class Paid:
    """The stand-in's words from a model that costs money."""

    behind: Backend
    model: str = PUBLISHED

    def complete(self, request: Request) -> Reply:
        return replace(self.behind.complete(request), model=self.model, stand_in=False, usage=USAGE)


def said(**changed: Any) -> Reply:
    return replace(Reply("msg", PUBLISHED, StopReason.END_TURN, (), "", (), USAGE, stand_in=False), **changed)


def test_a_verdict_says_what_it_cost(world: World, standin: StandIn) -> None:  # R110
    conversation = resolved(world)
    found = extract(conversation.pk, actor=world.system, backend=Paid(standin.backend))
    assert found is not None
    with acting(world.operator):
        kept = Extraction.objects.get(conversation=conversation)
    # Two dollars for a million tokens in and ten for a million out.
    assert (kept.cost_micro_usd, kept.input_tokens, kept.output_tokens) == (3_000_000, 1_000_000, 100_000)


@pytest.mark.parametrize(
    ("reply", "cost"),
    [
        (lambda: None, 0),
        (said, 3_000_000),
        (lambda: said(stand_in=True), None),
        (lambda: said(model="somebody-elses"), None),
        (lambda: said(usage=Usage(0, 0, 1_000_000)), 100_000),
    ],
    ids=["nobody was asked", "published", "the stand-in", "no price is known", "read from the cache"],
)
def test_what_is_not_known_is_not_free(world: World, reply: Callable[[], Reply | None], cost: int | None) -> None:
    assert used(reply(), actor=world.system)["cost_micro_usd"] == cost


def test_the_tenants_own_price_comes_first(world: World) -> None:
    make_price(world, PUBLISHED)
    assert used(said(), actor=world.system)["cost_micro_usd"] == 1_500_000
    assert used(said(), actor=make_world().system)["cost_micro_usd"] == 3_000_000
