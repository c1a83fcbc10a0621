"""What came, what went, and what came in the place of what, between two states of a text."""

import pytest

from apps.prompt.memory_lines.line_diff import Moved, line_sha256, moved

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("", "", Moved((), ())),
        ("A\n\n B ", "B\nA", Moved((), ())),
        ("", "A\nA\nB", Moved(("A", "B"), ())),
        ("A\nB\nC", "A\nX\nC", Moved(("X",), ("B",), (("B", "X"),))),
        ("A\nB\nC\nD", "A\nX\nY\nD", Moved(("X", "Y"), ("B", "C"), (("B", "X"), ("C", "Y")))),
        ("A\nB\nC", "A\nX\nY\nC", Moved(("X", "Y"), ("B",))),
        ("A\nB\nC", "A\nC\nB2", Moved(("B2",), ("B",))),
        ("A\nB", "X\nB", Moved(("X",), ("A",), (("A", "X"),))),
    ],
)
def test_lines_that_take_the_place_of_others_are_paired(before: str, after: str, told: Moved) -> None:
    assert moved(before, after) == told


@pytest.mark.parametrize(
    ("after", "instead", "told"),
    [
        ("X\nC\nY", {"A": "X"}, Moved(("X", "Y"), ("A", "B"), (("A", "X"),))),
        ("C\nX", {"A": "X", "B": "X"}, Moved(("X",), ("A", "B"), (("A", "X"), ("B", "X")))),
        ("X\nB\nC", {}, Moved(("X",), ("A",))),
        ("A\nB\nC\nX", {"A": "X", "B": "C"}, Moved(("X",), ())),
    ],
)
def test_where_its_writer_said_what_came_in_the_place_of_what_that_counts(
    after: str, instead: dict[str, str], told: Moved
) -> None:
    assert moved("A\nB\nC", after, instead) == told


def test_a_line_has_one_name_whatever_stands_around_it() -> None:
    assert line_sha256(" A.\t") == line_sha256("A.") != line_sha256("a.")
