"""How a write to memory is taken apart: what stands, what waits, what stays; pure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.prompt.memory_lines.line_diff import known, lines_of
from apps.prompt.memory_lines.write_holds import HeldLine, MemoryReview, answer, joined_lines, parted, repeated
from apps.prompt.text_reuse.derived_lines import NOTHING_HEARD, Heard, Whose

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

SAID = Heard(("Every order over fifty euros ships free.",))
LINE = "Orders over fifty euros ship free."
LINES = st.lists(st.sampled_from(["a", "b", "c", "", " a ", LINE]), max_size=8).map("\n".join)


def test_every_review_says_what_it_means() -> None:
    # Z-19
    assert len({review.sentence for review in MemoryReview}) == 3


def test_lines_end_where_people_see_them_end() -> None:
    assert lines_of("a\r\nb\rc\nd\u2028e") == ["a", "b", "c", "d\u2028e"]
    assert known(" a \n\n\tb\t\na") == {"a", "b"}


def test_only_new_lines_are_asked_whose_they_are() -> None:
    # Z-25
    assert repeated(LINE, f"{LINE}\nMine.", SAID) == ()
    assert repeated("", f"Mine.\n\n{LINE}", SAID) == (HeldLine(LINE, Whose.CUSTOMER),)
    assert [line.text for line in repeated("a", "a\nb\n\nc", Heard(is_whole=False))] == ["b", "c"]


def test_a_write_that_repeats_nobody_stands_as_it_is() -> None:
    assert parted("a\n", "a\r\nb", "a", NOTHING_HEARD).text == "a\r\nb"


def test_an_approved_line_stays_behind_what_it_stood_behind() -> None:
    # Z-22
    parts = parted("a\n\nb\nc\nd", "a\nx\nd", "b\nc\nz", NOTHING_HEARD)
    assert (parts.text, parts.drops) == ("a\nb\nc\nx\nd", ("b", "c"))
    assert parted("b\na", "a", "b", NOTHING_HEARD).text == "b\na"
    assert parted("a\nb", "x", "b", NOTHING_HEARD).text == "b\nx"


def test_lines_join_once_and_go_where_asked() -> None:
    # Z-19
    assert joined_lines("a\nb\n\n", ["c", "b", "c", " "], ["a"]) == "b\nc"
    assert joined_lines("a\n\nb", [], ["b"]) == "a\n"
    assert joined_lines("", ["a"]) == "a"


@pytest.mark.parametrize(
    ("sent", "stands", "refused", "said"),
    [
        ("a\nb", "a\nb", frozenset[str](), ""),
        ("a\nb", "a", frozenset[str](), "1 line waits for a person to approve; until then nobody is told: “b”"),
        ("a\nb\nc", "a", {"c"}, "1 line waits"),
        ("b\nc", "", frozenset[str](), "2 lines wait"),
        ("c", "", {"c"}, "A person turned this down before, so it is not saved: “c”"),
        ("b", "a\nb", frozenset[str](), "What you left out or reworded stays until a person agrees: “a”"),
    ],
)
def test_the_agent_is_told_what_became_of_its_lines(sent: str, stands: str, refused: frozenset[str], said: str) -> None:
    # Z-19
    told = answer(sent, stands, refused)
    assert said in told
    assert bool(told) is bool(said)


@given(LINES, LINES, LINES)
def test_no_line_is_lost_and_none_stands_that_waits(before: str, wanted: str, approved: str) -> None:
    # Z-19, Z-22
    parts = parted(before, wanted, approved, SAID)
    held = {line.text.strip() for line in parts.held}
    assert known(before) & known(approved) <= known(parts.text)
    assert known(wanted) <= known(parts.text) | held
    assert known(parts.text) <= known(before) | (known(wanted) - held)
    assert set(parts.drops) == (known(before) & known(approved)) - known(wanted)
