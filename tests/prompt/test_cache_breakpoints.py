"""The plan of the cache marks: worked examples, and what holds for any request."""

from dataclasses import replace
from datetime import date
from decimal import Decimal
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.llm.cache_rules import CacheEntry, CacheRules, Prefix, TokenBill, settle_prefixes
from apps.llm.prices import TokenRates
from apps.prompt.cache.breakpoints import (
    BreakpointPlan,
    ExpectedBill,
    Lifetime,
    PlannedBlock,
    PrefixScope,
    Reuse,
    ReuseExpectation,
    Shortfall,
    plan_marks,
    reuse_at_rate,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

RULES = CacheRules(date(2026, 10, 24), minimum_prefix_tokens=512)
RATES = TokenRates(Decimal(5), Decimal(25), Decimal("0.5"), Decimal("6.25"), Decimal(10))
CONVERSATION_REUSE = Reuse(soon=0.8, later=0.1)
BUSY_TENANT = ReuseExpectation(
    CONVERSATION_REUSE, customer=Reuse(0.0, 0.02), agent=reuse_at_rate(3), workspace=reuse_at_rate(30)
)
QUIET_TENANT = ReuseExpectation(
    CONVERSATION_REUSE, customer=Reuse(0.0, 0.0), agent=reuse_at_rate(0.05), workspace=reuse_at_rate(30)
)

TOOLS = PlannedBlock("tools", 2500, PrefixScope.WORKSPACE, "tool")
CONTRACT = PlannedBlock("contract", 900, PrefixScope.WORKSPACE)
PERSONA = PlannedBlock("persona", 350, PrefixScope.AGENT)
MEMORY = PlannedBlock("memory", 1500, PrefixScope.AGENT)
PROFILE = PlannedBlock("profile", 180, PrefixScope.CUSTOMER)
QUESTION = PlannedBlock("question", 150, PrefixScope.CONVERSATION)
SYSTEM = (TOOLS, CONTRACT, PERSONA, MEMORY, PROFILE)


def make_plan(
    *pieces: PlannedBlock, expectation: ReuseExpectation = BUSY_TENANT, rules: CacheRules = RULES
) -> BreakpointPlan:
    return plan_marks(pieces, rules=rules, rates=RATES, expectation=expectation)


def mark_as_cached(*pieces: PlannedBlock, lifetime: Lifetime = "5m") -> tuple[PlannedBlock, ...]:
    """The pieces, with what ends here cached."""
    return (*pieces[:-1], replace(pieces[-1], held=lifetime))


def conversation_piece(label: str, tokens: int, kind: str = "text") -> PlannedBlock:
    return PlannedBlock(label, tokens, PrefixScope.CONVERSATION, kind)


def test_first_call_of_a_busy_agent_keeps_what_others_will_read_for_an_hour() -> None:  # R183
    plan = make_plan(*SYSTEM, QUESTION)
    assert plan.marks == (None, "1h", None, "1h", "5m", "5m")
    # 5250 tokens at two prices, 330 at one and a quarter.
    assert plan.expected == ExpectedBill(0, 330, 5250, 0, Decimal(5250 * 10) + Decimal(330) * Decimal("6.25"))


def test_quiet_agents_slots_are_kept_for_five_minutes_and_the_workspaces_for_an_hour() -> None:
    assert make_plan(*SYSTEM, QUESTION, expectation=QUIET_TENANT).marks == (None, "1h", None, "5m", "5m", "5m")


def test_next_agent_of_the_workspace_reads_tools_and_contract() -> None:
    warm = (TOOLS, replace(CONTRACT, held="1h"), PERSONA, MEMORY, PROFILE, QUESTION)
    assert make_plan(*warm, expectation=QUIET_TENANT).expected.read == 3400


def test_hour_mark_on_a_short_new_block_keeps_the_whole_conversation() -> None:
    grown = mark_as_cached(
        *SYSTEM, QUESTION, conversation_piece("calls", 30, "tool_use"), conversation_piece("found", 4000, "tool_result")
    )
    plan = make_plan(
        *grown, conversation_piece("calls", 40, "tool_use"), conversation_piece("found", 900, "tool_result")
    )
    assert plan.marks == (None, "1h", None, "1h", None, None, None, None, "1h", "5m")
    assert plan.expected == ExpectedBill(9610, 900, 40, 0, Decimal(4805 + 400 + 5625))


def test_anchor_is_kept_while_a_new_one_is_not_worth_its_price() -> None:
    grown = mark_as_cached(
        *mark_as_cached(*SYSTEM, QUESTION, lifetime="1h"),
        conversation_piece("reply", 40),
        conversation_piece("question", 40),
    )
    plan = make_plan(*grown, conversation_piece("reply", 400), conversation_piece("question", 300))
    assert plan.marks == (None, "1h", None, "1h", None, "1h", None, None, None, "5m")


def test_thinking_cannot_carry_the_mark() -> None:
    warm = mark_as_cached(*SYSTEM, conversation_piece("question", 9000))
    plan = make_plan(
        *warm,
        conversation_piece("thought", 10, "thinking"),
        conversation_piece("calls", 30, "tool_use"),
        conversation_piece("found", 500, "tool_result"),
    )
    assert plan.marks[-3:] == (None, "1h", "5m")


def test_mark_stands_at_the_end_of_a_run_of_calls() -> None:
    warm = mark_as_cached(*SYSTEM, conversation_piece("question", 9000))
    plan = make_plan(
        *warm, *[conversation_piece("call", 10, "tool_use")] * 3, *[conversation_piece("found", 200, "tool_result")] * 2
    )
    assert plan.marks[-5:] == (None, None, "1h", None, "5m")


@pytest.mark.parametrize(("blocks", "mark"), [(19, None), (20, "5m")])
def test_turn_longer_than_the_look_back_gets_a_mark_where_the_last_one_ended(
    blocks: int, mark: Lifetime | None
) -> None:
    still = replace(QUIET_TENANT, conversation=Reuse(0.9, 0.0))
    grown = mark_as_cached(TOOLS, CONTRACT, PERSONA, MEMORY, PROFILE, QUESTION)
    plan = make_plan(*grown, *(conversation_piece("attachment", 50) for _ in range(blocks)), expectation=still)
    assert (plan.marks[5], plan.expected.read) == (mark, 5580)
    # Where it is needed it stands instead of the one behind the profile.
    assert (plan.marks[4] is None) == (mark is not None)


def test_call_that_nobody_will_repeat_still_reads_and_writes_nothing() -> None:
    alone = ReuseExpectation(*[Reuse(0.0, 0.0)] * 4)
    assert make_plan(*SYSTEM, QUESTION, expectation=alone).marks == (None,) * 6
    plan = make_plan(*mark_as_cached(*SYSTEM), QUESTION, expectation=alone)
    assert plan.expected == ExpectedBill(5430, 0, 0, 150, Decimal(2715 + 750))


def test_slow_conversation_is_kept_for_an_hour() -> None:
    slow = replace(QUIET_TENANT, conversation=Reuse(soon=0.05, later=0.9))
    assert make_plan(*SYSTEM, QUESTION, expectation=slow).expected.written_1h == 5580


def test_prefix_under_the_floor_is_not_marked_and_said_to_be_short() -> None:  # R184
    rules = replace(RULES, minimum_prefix_tokens=4096)
    plan = make_plan(*SYSTEM, QUESTION, rules=rules)
    assert plan.shortfalls == (Shortfall("contract", 3400, 696),)
    assert plan.marks[:2] == (None, None)
    short = make_plan(PERSONA, QUESTION)
    assert short.marks == (None, None)
    assert short.shortfalls == (Shortfall("persona", 350, 162), Shortfall("question", 500, 12))
    assert short.expected == ExpectedBill(0, 0, 0, 500, Decimal(2500))


def test_short_block_behind_a_warm_prefix_may_wait_for_the_floor() -> None:
    low = replace(RULES, minimum_prefix_tokens=1)
    assert make_plan(*mark_as_cached(PERSONA), expectation=QUIET_TENANT, rules=low).expected.read == 350


def test_mean_rate_of_arrivals_says_how_likely_one_is() -> None:
    reuse = reuse_at_rate(12)
    # One in five minutes is expected: none comes in 1/e of all cases, and hardly ever none in an hour.
    assert reuse.soon == pytest.approx(1 - 0.36788, abs=1e-5)
    assert reuse.soon + reuse.later == pytest.approx(1, abs=1e-5)
    assert Reuse(0.5, 0.25).later_before_never == pytest.approx(1.0)


shares = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(lambda pair: Reuse(pair[0], (1 - pair[0]) * pair[1]))
expectations = st.builds(ReuseExpectation, shares, shares, shares, shares)
shared_pieces = st.tuples(
    st.integers(1, 3000),
    st.sampled_from([PrefixScope.WORKSPACE, PrefixScope.AGENT, PrefixScope.CUSTOMER]),
    st.just("text"),
)
spoken = st.tuples(
    st.integers(1, 800),
    st.just(PrefixScope.CONVERSATION),
    st.sampled_from(["text", "tool_use", "tool_result", "thinking"]),
)


lifetimes: st.SearchStrategy[Lifetime | None] = st.sampled_from([None, None, None, "5m", "1h"])


@st.composite
def requests(draw: st.DrawFn) -> tuple[PlannedBlock, ...]:
    """A request as it may stand before a call: any prefix over the floor may be cached."""
    front = sorted(draw(st.lists(shared_pieces, max_size=6)), key=lambda block: block[1])
    blocks = [
        *front,
        *draw(st.lists(spoken, max_size=40)),
        (draw(st.integers(1, 800)), PrefixScope.CONVERSATION, "text"),
    ]
    pieces = []
    for end, (tokens, reach, kind) in zip(accumulate(block[0] for block in blocks), blocks, strict=True):
        known = draw(lifetimes) if end >= 512 else None
        pieces.append(PlannedBlock("", tokens, reach, kind, None if kind == "thinking" else known))
    return tuple(pieces)


@given(requests(), expectations)
def test_marks_of_any_plan_are_lawful(pieces: tuple[PlannedBlock, ...], expectation: ReuseExpectation) -> None:  # R183
    marks = plan_marks(pieces, rules=RULES, rates=RATES, expectation=expectation).marks
    kinds = [mark for mark in marks if mark]
    assert len(kinds) <= 4
    assert kinds == sorted(kinds)  # "1h" stands before "5m"
    assert not any(mark and piece.kind == "thinking" for mark, piece in zip(marks, pieces, strict=True))


@given(requests(), expectations)
def test_bill_is_what_the_plan_expects(pieces: tuple[PlannedBlock, ...], expectation: ReuseExpectation) -> None:  # R185
    plan = plan_marks(pieces, rules=RULES, rates=RATES, expectation=expectation)
    along, cached = [], {}
    position, tokens, previous = -1, 0, ""
    for index, (piece, mark) in enumerate(zip(pieces, plan.marks, strict=True)):
        position += not (piece.kind == previous and piece.kind in RULES.run_kinds)
        tokens, previous, digest = tokens + piece.tokens, piece.kind, index.to_bytes(4)
        along.append(Prefix(digest, tokens, position, mark))
        if piece.held:
            cached[digest] = CacheEntry(300 if piece.held == "5m" else 3600, 100.0)
    bill = settle_prefixes(along, cached=cached, rules=RULES, now=0.0).bill
    expected = plan.expected
    assert bill == TokenBill(expected.read, expected.written_5m, expected.written_1h, expected.uncached)
    assert expected.cost_micro_usd == (
        bill.read * RATES.cache_read
        + bill.written_5m * RATES.cache_write_5m
        + bill.written_1h * RATES.cache_write_1h
        + bill.uncached * RATES.input
    )
