"""Which pair is which, and what a look makes of what is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.learning.contradictions.rules import Known, Pair, Side, settled, within

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

ONE = Side("rule", 1, "rule 1", "Refunds take 3 days")
OTHER = Side("memory", 2, "the memory", "Refunds take 4 days")
PAIR = Pair("amount", "3 days", ONE, OTHER)
TOOL = Pair("tool", "issue_refund", ONE, None)


def test_a_pair_is_the_same_whichever_side_comes_first_and_wherever_it_is_called() -> None:
    assert Pair("amount", "4 days", OTHER, ONE).sha256 == PAIR.sha256
    assert Pair("amount", "", Side("rule", 1, "the first rule", ONE.line), OTHER).sha256 == PAIR.sha256
    others = {
        Pair("date", "3 days", ONE, OTHER).sha256,
        Pair("amount", "3 days", ONE, Side("memory", 2, "the memory", "Refunds take 5 days")).sha256,
        Pair("amount", "3 days", ONE, Side("memory", 3, "the memory", OTHER.line)).sha256,
        TOOL.sha256,
        Pair("tool", "charge_card", ONE, None).sha256,
        PAIR.sha256,
    }
    assert len(others) == 6


def test_what_is_found_is_new_or_back_or_known_and_the_rest_is_gone() -> None:
    known = {"a": Known(1, is_gone=False), "b": Known(2, is_gone=True), PAIR.sha256: Known(3, is_gone=False)}
    change = settled([PAIR, PAIR, TOOL], known, is_whole=True)
    assert (change.new, change.back, change.gone) == ((TOOL,), (), (1,))
    change = settled([PAIR], {PAIR.sha256: Known(3, is_gone=True)}, is_whole=True)
    assert (change.new, change.back, change.gone) == ((), (3,), ())


def test_a_look_that_ended_at_its_limit_takes_nothing_for_gone() -> None:
    assert settled([], {"a": Known(1, is_gone=False)}, is_whole=False).gone == ()


@given(st.lists(st.integers(1, 50)), st.integers(0, 200))
def test_as_many_texts_are_read_as_fit(lines: list[int], limit: int) -> None:
    count = within(lines, limit)
    assert sum(lines[:count]) <= limit
    assert count == len(lines) or sum(lines[: count + 1]) > limit
