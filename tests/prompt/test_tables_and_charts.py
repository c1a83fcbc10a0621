"""Tables and charts as an agent may show them."""

from typing import Any

import pytest

from apps.prompt.builtin_tools import RENDER_CHART, RENDER_TABLE
from apps.prompt.tables_and_charts import CELL_CHARACTERS, COLUMNS, POINTS, ROWS, SERIES, NoFigure, figure_of

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


def chart(**values: Any) -> dict[str, Any]:
    one = {"name": "Orders", "values": [1, 2.5]}
    return {"title": "Orders", "chart": "bar", "labels": ["May", "June"], "series": [one]} | values


def test_a_table_is_cells_as_text_and_words_for_channels_that_draw_nothing() -> None:
    given = {"title": "Orders", "columns": ["Number", "State"], "rows": [[7, "sent\u200b\n"], [8, None]]}
    assert figure_of(RENDER_TABLE, given) == {
        "kind": "table",
        "title": "Orders",
        "columns": ["Number", "State"],
        "rows": [["7", "sent"], ["8", ""]],
        "text": "Orders\nNumber | State\n7 | sent\n8 | ",
    }


def test_a_chart_is_labels_and_numbers_and_words_besides() -> None:
    figure = figure_of(RENDER_CHART, chart())
    assert figure["series"] == [{"name": "Orders", "values": [1, 2.5]}]
    assert figure["text"] == "Orders\n | Orders\nMay | 1\nJune | 2.5"
    assert str(figure_of(RENDER_CHART, chart(title=""))["text"]).startswith(" | Orders")


WRONG: list[tuple[str, str, dict[str, Any]]] = [
    (RENDER_TABLE, "columns", {"rows": [[1]]}),
    (RENDER_TABLE, "columns", {"columns": ["a"] * (COLUMNS + 1), "rows": [[1]]}),
    (RENDER_TABLE, "rows", {"columns": ["a"], "rows": [[1]] * (ROWS + 1)}),
    (RENDER_TABLE, "rows", {"columns": ["a"], "rows": []}),
    (RENDER_TABLE, "one for each column", {"columns": ["a"], "rows": [[1, 2]]}),
    (RENDER_TABLE, "one for each column", {"columns": ["a"], "rows": ["b"]}),
    (RENDER_TABLE, "a text or a number", {"columns": ["a"], "rows": [[{"b": 1}]]}),
    (RENDER_TABLE, "Shorten", {"columns": ["a"], "rows": [["x" * (CELL_CHARACTERS + 1)]]}),
    (RENDER_TABLE, "longer than", {"columns": ["a"] * COLUMNS, "rows": [["x" * CELL_CHARACTERS] * COLUMNS] * ROWS}),
    (RENDER_CHART, "no such chart", chart(chart="radar")),
    (RENDER_CHART, "labels", chart(labels=["x"] * (POINTS + 1))),
    (RENDER_CHART, "series", chart(series=[{"name": "a", "values": [1, 2]}] * (SERIES + 1))),
    (RENDER_CHART, "one for each label", chart(series=[{"name": "a", "values": [1]}])),
    (RENDER_CHART, "one for each label", chart(series=["a"])),
    (RENDER_CHART, "plain numbers", chart(series=[{"name": "a", "values": [1, "2"]}])),
    (RENDER_CHART, "plain numbers", chart(series=[{"name": "a", "values": [1, True]}])),
    (RENDER_CHART, "plain numbers", chart(series=[{"name": "a", "values": [1, float("inf")]}])),
    (RENDER_CHART, "plain numbers", chart(series=[{"name": "a", "values": [1, 10**16]}])),
    (RENDER_CHART, "one series", chart(chart="pie", series=[{"name": "a", "values": [1, 2]}] * 2)),
]


@pytest.mark.parametrize(("tool", "why", "given"), WRONG)
def test_what_cannot_be_drawn_is_refused_with_what_to_change(tool: str, why: str, given: dict[str, Any]) -> None:
    with pytest.raises(NoFigure, match=why):
        figure_of(tool, given)
