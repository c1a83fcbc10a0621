"""The passage around the first difference of two texts, as rows of a list show it."""

import pytest

from apps.console.framework.text_diffs import CONTEXT_CHARACTERS, PASSAGE_CHARACTERS, first_difference

pytestmark = [pytest.mark.pure]
LONG = "word " * 60


@pytest.mark.parametrize(
    ("before", "after", "passages"),
    [
        ("One.\nTwo.\nThree.", "One.\n2.\nThree.", ("Two.", "2.")),
        ("One.\nThree.", "One.\nTwo.\nThree.", ("", "Two.")),
        ("One.\nTwo.\nThree.", "One.\nThree.", ("Two.", "")),
        ("One.", "", ("One.", "")),
        ("Same.\nSame.\nSame.", "Same.\nSame.", ("Same.", "")),
        ("", "", ("", "")),
    ],
)
def test_common_lines_are_left_out(before: str, after: str, passages: tuple[str, str]) -> None:
    assert first_difference(before, after) == passages


def test_a_long_line_is_cut_around_its_first_difference() -> None:
    before, after = first_difference(f"{LONG}old end {LONG}", f"{LONG}new end {LONG}")
    assert before.index("old end") == after.index("new end") <= CONTEXT_CHARACTERS + len("…word ")
    assert before.startswith("…word ")
    assert len(before) == PASSAGE_CHARACTERS + len("……")
    assert before.endswith("…")
