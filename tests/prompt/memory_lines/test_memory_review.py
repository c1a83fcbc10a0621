"""How a write to memory is taken apart: what stands, what waits, what stays; pure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.prompt.memory_lines.line_diff import distinct_lines, split_lines
from apps.prompt.memory_lines.write_holds import (
    HeldLine,
    MemoryReview,
    find_unsaved_parts,
    merge_lines,
    repeated_lines,
    split_write,
)
from apps.prompt.text_reuse.derived_lines import NO_RECEIVED_TEXTS, ReceivedTexts, RepeatedSource

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

CUSTOMER_WORDS = ReceivedTexts(("Every order over fifty euros ships free.",))
LINE = "Orders over fifty euros ship free."
LINES = st.lists(st.sampled_from(["a", "b", "c", "", " a ", LINE]), max_size=8).map("\n".join)


def test_every_review_says_what_it_means() -> None:
    # Z-19
    assert len({review.sentence for review in MemoryReview}) == 3


def test_lines_end_where_people_see_them_end() -> None:
    assert split_lines("a\r\nb\rc\nd\u2028e") == ["a", "b", "c", "d\u2028e"]
    assert distinct_lines(" a \n\n\tb\t\na") == {"a", "b"}


def test_only_new_lines_are_asked_whose_they_are() -> None:
    # Z-25
    assert repeated_lines(LINE, f"{LINE}\nMine.", CUSTOMER_WORDS) == ()
    assert repeated_lines("", f"Mine.\n\n{LINE}", CUSTOMER_WORDS) == (HeldLine(LINE, RepeatedSource.CUSTOMER),)
    assert [line.text for line in repeated_lines("a", "a\nb\n\nc", ReceivedTexts(is_whole=False))] == ["b", "c"]


def test_a_write_that_repeats_nobody_stands_as_it_is() -> None:
    assert split_write("a\n", "a\r\nb", "a", NO_RECEIVED_TEXTS).text == "a\r\nb"


def test_an_approved_line_stays_behind_what_it_stood_behind() -> None:
    # Z-22
    parts = split_write("a\n\nb\nc\nd", "a\nx\nd", "b\nc\nz", NO_RECEIVED_TEXTS)
    assert (parts.text, parts.drops) == ("a\nb\nc\nx\nd", ("b", "c"))
    assert split_write("b\na", "a", "b", NO_RECEIVED_TEXTS).text == "b\na"
    assert split_write("a\nb", "x", "b", NO_RECEIVED_TEXTS).text == "b\nx"


def test_lines_join_once_and_go_where_asked() -> None:
    # Z-19
    assert merge_lines("a\nb\n\n", ["c", "b", "c", " "], ["a"]) == "b\nc"
    assert merge_lines("a\n\nb", [], ["b"]) == "a\n"
    assert merge_lines("", ["a"]) == "a"


@pytest.mark.parametrize(
    ("sent", "stands", "refused", "message"),
    [
        ("a\nb", "a\nb", frozenset[str](), ""),
        ("a\nb", "a", frozenset[str](), "1 line waits for a person to approve; until then nobody is told: “b”"),
        ("a\nb\nc", "a", {"c"}, "1 line waits"),
        ("b\nc", "", frozenset[str](), "2 lines wait"),
        ("c", "", {"c"}, "A person turned this down before, so it is not saved: “c”"),
        ("b", "a\nb", frozenset[str](), "What you left out or reworded stays until a person agrees: “a”"),
    ],
)
def test_the_agent_is_told_what_became_of_its_lines(
    sent: str, stands: str, refused: frozenset[str], message: str
) -> None:
    # Z-19
    feedback = find_unsaved_parts(sent, stands, refused).notice
    assert message in feedback
    assert bool(feedback) is bool(message)
    assert find_unsaved_parts(sent, stands, refused).is_pending is (bool(message) and "turned this down" not in message)


@given(LINES, LINES, LINES)
def test_no_line_is_lost_and_none_stands_that_waits(before: str, wanted: str, approved: str) -> None:
    # Z-19, Z-22
    parts = split_write(before, wanted, approved, CUSTOMER_WORDS)
    held = {line.text.strip() for line in parts.held}
    assert distinct_lines(before) & distinct_lines(approved) <= distinct_lines(parts.text)
    assert distinct_lines(wanted) <= distinct_lines(parts.text) | held
    assert distinct_lines(parts.text) <= distinct_lines(before) | (distinct_lines(wanted) - held)
    assert set(parts.drops) == (distinct_lines(before) & distinct_lines(approved)) - distinct_lines(wanted)
