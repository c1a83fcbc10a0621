"""The simulated month bills as the stand-in does, its bound is one, and its witness tells causes apart."""

import json
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from itertools import pairwise, product
from random import Random

import pytest

from apps.llm.anthropic.sync_client import AnthropicBackend
from apps.llm.cache_blocks import request_blocks, with_marks
from apps.llm.cache_rules import CacheEntry, CacheRules, Prefix, TokenBill, settle_prefixes
from apps.llm.model_backend import CacheLifetime, Usage
from apps.llm.prices import TokenRates, cache_rules_for, price_of
from apps.prompt.prompt_input import SlotOrder
from benchmarks.prompt_cache.billing import bill_all, bound_usd, mark_path, readable_tokens
from benchmarks.prompt_cache.lower_bound import Shares, cheapest
from benchmarks.prompt_cache.miss_causes import Cause, MissCauseRecorder
from benchmarks.prompt_cache.month_simulation import Month, Setting, SimulatedTalk, draw
from benchmarks.prompt_cache.report import Goal
from benchmarks.prompt_cache.request_trie import MODEL, Renderer, TracedCall
from benchmarks.prompt_cache.strategies import ProductPlanner, automatic, no_marks, one_mark
from tests.support.timeouts import PATIENCE_SECONDS

# Tries the benchmark, whose parts of the product have tests of their own.
pytestmark = [pytest.mark.pure, pytest.mark.unmeasured]

SHARES = Shares(read=0.1, write_5m=1.25, write_1h=2.0)
RATES = TokenRates(Decimal(1), Decimal(5), Decimal("0.1"), Decimal("1.25"), Decimal(2))
RULES = CacheRules(date(2026, 10, 24), minimum_prefix_tokens=1)
SMALL = Setting(days=1, tenants=2, conversations_per_day=12.0)
SentRequest = tuple[float, tuple[tuple[str, int], ...]]


@pytest.fixture(scope="module")
def month() -> Month:
    return draw(SMALL)


@pytest.fixture(scope="module")
def calls(month: Month) -> list[TracedCall]:
    return Renderer(month).calls()


def bill_of(usage: Usage) -> TokenBill:
    return TokenBill(
        usage.cache_read_tokens, usage.cache_write_5m_tokens, usage.cache_write_1h_tokens, usage.input_tokens
    )


def advance(base_url: str, seconds: float) -> None:
    body = json.dumps({"advance_seconds": seconds}).encode()
    with urllib.request.urlopen(f"{base_url}/standin/clock", data=body, timeout=PATIENCE_SECONDS):  # noqa: S310
        pass


def separate_talks(month: Month) -> list[SimulatedTalk]:
    """Conversations one after the other, with no pause so near a lifetime's end that seconds would matter."""
    talks: list[SimulatedTalk] = []
    for talk in month.talks:
        pauses = [later.at - turn.ends_at for turn, later in pairwise(talk.turns)]
        is_alone = not talks or talk.turns[0].at > talks[-1].turns[-1].ends_at
        if is_alone and all(min(abs(pause - 300), abs(pause - 3600)) > 30 for pause in pauses):
            talks.append(talk)
    return talks[:4]


@pytest.mark.slow
def test_stand_in_bills_what_the_simulation_bills(base_url: str) -> None:
    month = draw(Setting(days=1, tenants=1, agents_per_tenant=1, conversations_per_day=8.0))
    renderer, price = Renderer(month), price_of(MODEL)
    assert price is not None
    talks = separate_talks(month)
    calls = [call for call in renderer.calls() if call.talk in talks]
    requests = [request for talk in talks for _, request in renderer.requests(talk)]
    assert len(calls) == len(requests) > 20
    planner, rules = ProductPlanner(price.cache_rules, price.rates), price.cache_rules
    backend = AnthropicBackend("simulated", base_url=base_url)
    cached: dict[bytes, CacheEntry] = {}
    before, reads = calls[0].at, 0
    for call, request in zip(calls, requests, strict=True):
        marks = planner(call, cached).marks
        settled = settle_prefixes(mark_path(call.path, marks), cached=cached, rules=rules, now=call.at)
        cached |= settled.entries
        advance(base_url, call.at - before)
        before = call.at
        by_block = [marks.get(index) for index in range(len(call.path))]
        assert bill_of(backend.complete(with_marks(request, by_block)).usage) == settled.bill
        reads += settled.bill.read
    assert reads > 100_000
    backend.close()


def test_simulated_block_is_hashed_as_the_request_that_is_sent(month: Month) -> None:
    renderer = Renderer(month)
    talk = month.talks[0]
    paths = [call.path for call in renderer.calls() if call.talk is talk]
    for path, (_, request) in zip(paths, renderer.requests(talk), strict=True):
        blocks = request_blocks(request)
        assert [(node.tokens, node.kind) for node in path] == [(block.tokens, block.kind) for block in blocks]


def test_same_setting_gives_the_same_month(calls: Sequence[TracedCall]) -> None:
    again = Renderer(draw(SMALL)).calls()
    assert [call.path[-1].prefix.digest for call in again] == [call.path[-1].prefix.digest for call in calls]


@pytest.mark.slow
@pytest.mark.parametrize("order", list(SlotOrder))
def test_plan_is_billed_as_planned_and_every_miss_has_a_cause(order: SlotOrder) -> None:  # R182, R185
    renderer = Renderer(draw(Setting(days=1, order=order)))
    calls, rules = renderer.calls(), cache_rules_for(MODEL)
    witness = MissCauseRecorder(rules)
    total = bill_all(calls, ProductPlanner(rules, RATES), rules, RATES, witness)
    assert total.surprises == 0
    assert witness.causes[Cause.UNEXPLAINED] == 0
    assert witness.causes[Cause.FIRST_CALL] == len({call.talk.talk_id for call in calls})
    bound = bound_usd(calls, renderer.nodes, RATES)
    one, tail = (bill_all(calls, strategy, rules, RATES).cost_usd for strategy in (one_mark, automatic))
    assert bound <= total.cost_usd <= 1.10 * bound
    assert total.cost_usd < 0.8 * tail < tail < one
    assert total.read >= 0.99 * readable_tokens(calls, rules)


def test_prefix_that_changes_without_an_edit_is_not_explained(calls: Sequence[TracedCall]) -> None:  # R182
    first, second = next(pair for pair in pairwise(calls) if pair[0].talk is pair[1].talk)
    other = next(call for call in calls if call.talk.agent_id != first.talk.agent_id)
    slots = [node for node in other.path if node.label != "messages"]
    stray = TracedCall(
        second.at, second.begins_at, second.talk, second.versions, second.window_start, (*slots, second.path[-1])
    )
    witness = MissCauseRecorder(RULES)
    for call in (first, stray):
        witness.see(call, 0, {})
    assert witness.causes[Cause.UNEXPLAINED] == 1


def miss_causes(
    first: TracedCall,
    second: TracedCall,
    *,
    cached: Mapping[bytes, CacheEntry] | None = None,
    rules: CacheRules = RULES,
) -> set[str]:
    """The causes of the second of two calls of different conversations, of which it read nothing."""
    witness = MissCauseRecorder(rules)
    witness.see(first, 0, {})
    witness.see(second, 0, cached or {})
    return set(witness.causes) - {Cause.FIRST_CALL}


def test_witness_names_each_cause(calls: Sequence[TracedCall]) -> None:
    first = calls[0]
    other = replace(first.talk, talk_id=-1)
    later = replace(first, talk=other, at=first.at + 100, begins_at=first.at + 101)
    tail = first.path[-1].prefix.digest
    assert miss_causes(first, replace(later, at=first.at + 0.01)) == {Cause.PARALLEL}
    assert miss_causes(first, later) == {Cause.NO_MARK}
    assert miss_causes(first, later, cached={tail: CacheEntry(300, first.at + 300)}) == {Cause.LOOK_BACK}
    assert miss_causes(first, later, cached={tail: CacheEntry(300, first.at + 50)}) == {Cause.LIFETIME}
    assert miss_causes(first, replace(later, at=first.at + 3601)) == {Cause.LIFETIME}
    assert miss_causes(first, later, rules=replace(RULES, minimum_prefix_tokens=10**6)) == {Cause.FLOOR}


def test_witness_names_the_edited_slot_and_the_moved_window(calls: Sequence[TracedCall]) -> None:
    first, second = next(pair for pair in pairwise(calls) if pair[0].talk is pair[1].talk)
    place = next(at for at, node in enumerate(second.path) if node.label == "memory")
    cut = replace(second, path=(*second.path[: place + 1], calls[-1].path[-1]), window_start=first.window_start + 50)
    assert Cause.WINDOW in conversation_miss_causes(first, cut)
    assert Cause.UNEXPLAINED in conversation_miss_causes(first, replace(cut, window_start=first.window_start))
    stranger = next(
        node for call in calls for node in call.path if node.label == "memory" and node is not second.path[place]
    )
    versions = {**second.versions, "memory": second.versions["memory"] + 1}
    changed = replace(second, path=(*second.path[:place], stranger), versions=versions)
    assert f"{Cause.EDITED}: memory" in conversation_miss_causes(first, changed)
    assert Cause.UNEXPLAINED in conversation_miss_causes(first, replace(changed, versions=second.versions))


def conversation_miss_causes(first: TracedCall, second: TracedCall) -> set[str]:
    witness = MissCauseRecorder(RULES)
    for call in (first, second):
        witness.see(call, 0, {})
    return set(witness.causes)


@pytest.mark.parametrize(("reached", "at_least", "met"), [(1.1, False, True), (1.11, False, False), (1.2, True, True)])
def test_goal_that_is_missed_says_so(reached: float, at_least: bool, met: bool) -> None:
    goal = Goal("cost", reached, 1.1, at_least=at_least)
    assert goal.is_met is met
    assert ("MISSED" in str(goal)) is not met


def test_uncached_month_costs_every_token(calls: Sequence[TracedCall]) -> None:
    total = bill_all(calls, no_marks, RULES, RATES)
    tokens = sum(call.path[-1].prefix.tokens for call in calls)
    assert total.tokens == tokens
    assert total.cost_usd == pytest.approx(tokens / 1e6)


@pytest.mark.parametrize(
    ("uses", "cost"),
    [
        ((0,), 1.0),
        ((0, 299), 1.25 + 0.1),
        ((0, 300), 2.0),  # an hour's write and a read cost 2.1; twice uncached is cheaper
        ((0, 300, 600), 2.0 + 0.2),
        ((0, 299, 3898), 1.25 + 0.2),  # the read keeps it for an hour
        ((0, 400, 600), 2.0 + 0.2),
        ((0, 100, 3700), 1.25 + 0.1 + 1.0),
    ],
)
def test_clairvoyant_pays_the_least_for_a_prefix(uses: tuple[float, ...], cost: float) -> None:
    assert cheapest(uses, SHARES) == pytest.approx(min(cost, len(uses)))


def allowed_marks(count: int) -> Iterator[tuple[CacheLifetime | None, ...]]:
    lifetimes: tuple[CacheLifetime | None, ...] = (None, "5m", "1h")
    for marks in product(lifetimes, repeat=count):
        kinds = [mark for mark in marks if mark]
        if kinds == sorted(kinds):
            yield marks


def lowest_cost(sent: Sequence[SentRequest], cached: Mapping[bytes, CacheEntry]) -> float:
    """What the cheapest of all ways to mark these requests costs, each way tried."""
    if not sent:
        return 0.0
    (now, blocks), *rest = sent
    outcomes: dict[tuple[tuple[bytes, CacheEntry], ...], float] = {}
    for marks in allowed_marks(len(blocks)):
        settled = settle_prefixes(list(mark_prefixes(blocks, marks)), cached=cached, rules=RULES, now=now)
        bill = settled.bill
        cost = 0.1 * bill.read + 1.25 * bill.written_5m + 2.0 * bill.written_1h + bill.uncached
        left = {**cached, **settled.entries}
        key = tuple(
            sorted((digest, entry) for digest, entry in left.items() if entry.expires_at > next_request_at(rest))
        )
        outcomes[key] = min(cost, outcomes.get(key, cost))
    return min(cost + lowest_cost(rest, dict(key)) for key, cost in outcomes.items())


def next_request_at(rest: Sequence[SentRequest]) -> float:
    return rest[0][0] if rest else float("inf")


def mark_prefixes(blocks: Sequence[tuple[str, int]], marks: Sequence[CacheLifetime | None]) -> Iterator[Prefix]:
    digest, tokens = b"", 0
    for position, ((name, size), mark) in enumerate(zip(blocks, marks, strict=True)):
        digest, tokens = digest + name.encode(), tokens + size
        yield Prefix(digest, tokens, position, mark)


def lower_bound(sent: Sequence[SentRequest]) -> float:
    uses: dict[tuple[bytes, int], list[float]] = {}
    for now, blocks in sent:
        for prefix, (_, size) in zip(mark_prefixes(blocks, [None] * len(blocks)), blocks, strict=True):
            uses.setdefault((prefix.digest, size), []).append(now)
    return sum(size * cheapest(at, SHARES) for (_, size), at in uses.items())


def small_conversation(rng: Random, *, sizes: Sequence[int]) -> list[SentRequest]:
    """Four requests of a conversation that grows by at most one block each, and sometimes begins anew."""
    now, sent, blocks = 0.0, [], [("system", 1000)]
    for number in range(4):
        blocks = [*blocks, (str(number), rng.choice(sizes))] if len(blocks) < 4 else [*blocks[:-1], (f"{number}!", 5)]
        blocks = blocks[:1] + blocks[-1:] if rng.random() < 0.2 else blocks
        sent.append((now, tuple(blocks)))
        now += rng.choice((60, 200, 400, 1500, 4000))
    return sent


@pytest.mark.parametrize("seed", range(12))
def test_no_way_of_marking_beats_the_bound(seed: int) -> None:
    sent = small_conversation(Random(seed), sizes=(5, 80, 600))
    assert lower_bound(sent) <= lowest_cost(sent, {}) + 1e-6


@pytest.mark.parametrize("seed", range(12))
def test_bound_is_near_what_can_be_reached_where_new_blocks_are_short(seed: int) -> None:
    sent = small_conversation(Random(seed), sizes=(2, 5))
    assert lowest_cost(sent, {}) <= 1.03 * lower_bound(sent)
