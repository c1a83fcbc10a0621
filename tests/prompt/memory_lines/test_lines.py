"""What a line is."""

import pytest

from apps.prompt.memory_lines.line_diff import distinct_lines, split_lines

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


def test_lines_end_where_people_see_them_end() -> None:
    assert split_lines("a\r\nb\rc\nd\u2028e") == ["a", "b", "c", "d\u2028e"]
    assert distinct_lines(" a \n\n\tb\t\na") == {"a", "b"}
