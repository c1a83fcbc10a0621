"""What came, what went, and what came in the place of what, between two states of a text."""

import pytest

from apps.prompt.memory_lines.line_diff import LineDiff, diff_lines, line_sha256

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "", LineDiff((), ())),
        ("A\n\n B ", "B\nA", LineDiff((), ())),
        ("", "A\nA\nB", LineDiff(("A", "B"), ())),
        ("A\nB\nC", "A\nX\nC", LineDiff(("X",), ("B",), (("B", "X"),))),
        ("A\nB\nC\nD", "A\nX\nY\nD", LineDiff(("X", "Y"), ("B", "C"), (("B", "X"), ("C", "Y")))),
        ("A\nB\nC", "A\nX\nY\nC", LineDiff(("X", "Y"), ("B",))),
        ("A\nB\nC", "A\nC\nB2", LineDiff(("B2",), ("B",))),
        ("A\nB", "X\nB", LineDiff(("X",), ("A",), (("A", "X"),))),
    ],
)
def test_lines_that_take_the_place_of_others_are_paired(before: str, after: str, expected: LineDiff) -> None:
    assert diff_lines(before, after) == expected


@pytest.mark.parametrize(
    ("after", "instead", "expected"),
    [
        ("X\nC\nY", {"A": "X"}, LineDiff(("X", "Y"), ("A", "B"), (("A", "X"),))),
        ("C\nX", {"A": "X", "B": "X"}, LineDiff(("X",), ("A", "B"), (("A", "X"), ("B", "X")))),
        ("X\nB\nC", {}, LineDiff(("X",), ("A",))),
        ("A\nB\nC\nX", {"A": "X", "B": "C"}, LineDiff(("X",), ())),
    ],
)
def test_where_its_writer_said_what_came_in_the_place_of_what_that_counts(
    after: str, instead: dict[str, str], expected: LineDiff
) -> None:
    assert diff_lines("A\nB\nC", after, instead) == expected


def test_a_line_has_one_name_whatever_stands_around_it() -> None:
    assert line_sha256(" A.\t") == line_sha256("A.") != line_sha256("a.")
