"""Tables and charts as an agent may show them."""

from typing import Any

import pytest

from apps.prompt.builtin_tools import RENDER_CHART, RENDER_TABLE
from apps.prompt.tables_and_charts import (
    CELL_CHARACTERS,
    MAX_COLUMNS,
    MAX_POINTS,
    MAX_ROWS,
    MAX_SERIES,
    InvalidFigure,
    build_figure,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


def chart(**values: Any) -> dict[str, Any]:
    one = {"name": "Orders", "values": [1, 2.5]}
    return {"title": "Orders", "chart": "bar", "labels": ["May", "June"], "series": [one]} | values


def test_a_table_is_cells_as_text_and_words_for_channels_that_draw_nothing() -> None:
    given = {"title": "Orders", "columns": ["Number", "State"], "rows": [[7, "sent\u200b\n"], [8, None]]}
    assert build_figure(RENDER_TABLE, given) == {
        "kind": "table",
        "title": "Orders",
        "columns": ["Number", "State"],
        "rows": [["7", "sent"], ["8", ""]],
        "text": "Orders\nNumber | State\n7 | sent\n8 | ",
    }


def test_a_chart_is_labels_and_numbers_and_words_besides() -> None:
    figure = build_figure(RENDER_CHART, chart())
    assert figure["series"] == [{"name": "Orders", "values": [1, 2.5]}]
    assert figure["text"] == "Orders\n | Orders\nMay | 1\nJune | 2.5"
    assert str(build_figure(RENDER_CHART, chart(title=""))["text"]).startswith(" | Orders")


INVALID_ARGUMENTS: list[tuple[str, str, dict[str, Any]]] = [
    (RENDER_TABLE, "columns", {"rows": [[1]]}),
    (RENDER_TABLE, "columns", {"columns": ["a"] * (MAX_COLUMNS + 1), "rows": [[1]]}),
    (RENDER_TABLE, "rows", {"columns": ["a"], "rows": [[1]] * (MAX_ROWS + 1)}),
    (RENDER_TABLE, "rows", {"columns": ["a"], "rows": []}),
    (RENDER_TABLE, "one for each column", {"columns": ["a"], "rows": [[1, 2]]}),
    (RENDER_TABLE, "one for each column", {"columns": ["a"], "rows": ["b"]}),
    (RENDER_TABLE, "a text or a number", {"columns": ["a"], "rows": [[{"b": 1}]]}),
    (RENDER_TABLE, "Shorten", {"columns": ["a"], "rows": [["x" * (CELL_CHARACTERS + 1)]]}),
    (
        RENDER_TABLE,
        "longer than",
        {"columns": ["a"] * MAX_COLUMNS, "rows": [["x" * CELL_CHARACTERS] * MAX_COLUMNS] * MAX_ROWS},
    ),
    (RENDER_CHART, "no such chart", chart(chart="radar")),
    (RENDER_CHART, "labels", chart(labels=["x"] * (MAX_POINTS + 1))),
    (RENDER_CHART, "series", chart(series=[{"name": "a", "values": [1, 2]}] * (MAX_SERIES + 1))),
    (RENDER_CHART, "one for each label", chart(series=[{"name": "a", "values": [1]}])),
    (RENDER_CHART, "one for each label", chart(series=["a"])),
    (RENDER_CHART, "plain numbers", chart(series=[{"name": "a", "values": [1, "2"]}])),
    (RENDER_CHART, "plain numbers", chart(series=[{"name": "a", "values": [1, True]}])),
    (RENDER_CHART, "plain numbers", chart(series=[{"name": "a", "values": [1, float("inf")]}])),
    (RENDER_CHART, "plain numbers", chart(series=[{"name": "a", "values": [1, 10**16]}])),
    (RENDER_CHART, "one series", chart(chart="pie", series=[{"name": "a", "values": [1, 2]}] * 2)),
]


@pytest.mark.parametrize(("tool", "why", "given"), INVALID_ARGUMENTS)
def test_what_cannot_be_drawn_is_refused_with_what_to_change(tool: str, why: str, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidFigure, match=why):
        build_figure(tool, given)
