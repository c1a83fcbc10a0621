"""Two changes of one text become one text by lines, and what both changed is left to a person."""

import pytest

from apps.text_analysis.three_way_merge import merge_texts

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

BASE = "one\ntwo\nthree\nfour\nfive"


@pytest.mark.parametrize(
    ("ours", "theirs", "merged"),
    [
        (BASE, BASE, BASE),
        (BASE, "one\ntwo", "one\ntwo"),
        ("ONE\ntwo\nthree\nfour\nfive", "one\ntwo\nthree\nfour\nFIVE", "ONE\ntwo\nthree\nfour\nFIVE"),
        ("one\nthree\nfour\nfive", "one\ntwo\nthree\nfour\nfive\nsix", "one\nthree\nfour\nfive\nsix"),
        ("zero\none\ntwo\nthree\nfour\nfive", "one\ntwo\nfour\nfive", "zero\none\ntwo\nfour\nfive"),
        ("one\nTWO\nthree\nfour\nfive", "one\nTWO\nthree\nfour\nFIVE", "one\nTWO\nthree\nfour\nFIVE"),
    ],
)
def test_edits_of_different_places_are_all_kept(ours: str, theirs: str, merged: str) -> None:
    assert merge_texts(BASE, ours, theirs) == merged
    assert merge_texts(BASE, theirs, ours) == merged


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("one\n2\nthree\nfour\nfive", "one\nII\nthree\nfour\nfive"),
        ("one\n2\nthree\nfour\nfive", "one\nthree\nfour\nfive"),
        (BASE + "\nsix", BASE + "\nseven"),
        ("one\n2\nthree\nfour\nfive", "one\ntwo\n3\nfour\nfive"),
        ("", "one\ntwo\nthree\nfour\nFIVE"),
    ],
)
def test_edits_of_the_same_place_are_no_merge(ours: str, theirs: str) -> None:
    assert merge_texts(BASE, ours, theirs) is None
    assert merge_texts(BASE, theirs, ours) is None


def test_line_endings_and_the_end_of_the_text_are_kept() -> None:
    assert merge_texts("a\r\nb\r\nc\n", "A\r\nb\r\nc\n", "a\r\nb\r\nc\nd\n") == "A\r\nb\r\nc\nd\n"
