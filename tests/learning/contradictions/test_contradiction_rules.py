"""Which pair is which, and what a look makes of what is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.learning.contradictions.rules import (
    ContradictionPair,
    ContradictionSide,
    KnownContradiction,
    compare_scan,
    count_texts_within,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

FIRST_SIDE = ContradictionSide("rule", 1, "rule 1", "Refunds take 3 days")
SECOND_SIDE = ContradictionSide("memory", 2, "the memory", "Refunds take 4 days")
PAIR = ContradictionPair("amount", "3 days", FIRST_SIDE, SECOND_SIDE)
TOOL = ContradictionPair("tool", "issue_refund", FIRST_SIDE, None)


def test_a_pair_is_the_same_whichever_side_comes_first_and_wherever_it_is_called() -> None:
    assert ContradictionPair("amount", "4 days", SECOND_SIDE, FIRST_SIDE).sha256 == PAIR.sha256
    assert (
        ContradictionPair(
            "amount", "", ContradictionSide("rule", 1, "the first rule", FIRST_SIDE.line), SECOND_SIDE
        ).sha256
        == PAIR.sha256
    )
    others = {
        ContradictionPair("date", "3 days", FIRST_SIDE, SECOND_SIDE).sha256,
        ContradictionPair(
            "amount", "3 days", FIRST_SIDE, ContradictionSide("memory", 2, "the memory", "Refunds take 5 days")
        ).sha256,
        ContradictionPair(
            "amount", "3 days", FIRST_SIDE, ContradictionSide("memory", 3, "the memory", SECOND_SIDE.line)
        ).sha256,
        TOOL.sha256,
        ContradictionPair("tool", "charge_card", FIRST_SIDE, None).sha256,
        PAIR.sha256,
    }
    assert len(others) == 6


def test_what_is_found_is_new_or_back_or_known_and_the_rest_is_gone() -> None:
    known = {
        "a": KnownContradiction(1, is_gone=False),
        "b": KnownContradiction(2, is_gone=True),
        PAIR.sha256: KnownContradiction(3, is_gone=False),
    }
    change = compare_scan([PAIR, PAIR, TOOL], known, is_whole=True)
    assert (change.new, change.back, change.gone) == ((TOOL,), (), (1,))
    change = compare_scan([PAIR], {PAIR.sha256: KnownContradiction(3, is_gone=True)}, is_whole=True)
    assert (change.new, change.back, change.gone) == ((), (3,), ())


def test_a_look_that_ended_at_its_limit_takes_nothing_for_gone() -> None:
    assert compare_scan([], {"a": KnownContradiction(1, is_gone=False)}, is_whole=False).gone == ()


@given(st.lists(st.integers(1, 50)), st.integers(0, 200))
def test_as_many_texts_are_read_as_fit(lines: list[int], limit: int) -> None:
    count = count_texts_within(lines, limit)
    assert sum(lines[:count]) <= limit
    assert count == len(lines) or sum(lines[: count + 1]) > limit
