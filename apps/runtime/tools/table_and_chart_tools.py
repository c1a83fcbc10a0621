"""The tools to show a table or a chart with a reply. Nothing is drawn here; each channel draws in its own way."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from apps.governance.errors import Invalid
from apps.llm.model_backend import JsonObject
from apps.prompt.builtin_tools import RENDER_CHART, RENDER_TABLE
from apps.prompt.tables_and_charts import (
    CHART_KINDS,
    FIGURE_TOOLS,
    MAX_COLUMNS,
    MAX_ROWS,
    MAX_SERIES,
    Figure,
    InvalidFigure,
    build_figure,
)
from apps.runtime.tools.builtin_tool import BuiltinTool, ToolContext, ToolOffer

FIGURE_SHOWN: Final = "It is part of your reply now. Do not repeat its numbers; say in a sentence what they mean."


def _show_figure(tool: str, context: ToolContext, arguments: JsonObject) -> str:
    try:
        build_figure(tool, arguments)
    except InvalidFigure as flaw:
        raise Invalid(str(flaw), {}) from flaw
    return FIGURE_SHOWN


def figures_of(calls: Iterable[Mapping[str, Any]]) -> list[Figure]:  # Any: a call as the transcript has it
    """The tables and charts of these calls, in order. Those that the present rules would refuse are left out."""
    figures: list[Figure] = []
    for call in calls:
        if call["name"] in FIGURE_TOOLS and not call["is_error"]:
            with suppress(InvalidFigure):
                figures.append(build_figure(call["name"], call["arguments"]))
    return figures


def _may_show(offer: ToolOffer) -> bool:
    return offer.may_show_tables_and_charts


TABLE_AND_CHART_TOOLS: Final = (
    BuiltinTool(
        RENDER_TABLE,
        f"Show a table with your reply, of at most {MAX_COLUMNS} columns and {MAX_ROWS} rows.",
        {
            "title": "What it shows, in a few words.",
            "columns": "The columns' names, as a list.",
            "rows": "The rows, as a list of lists of cells.",
        },
        ("columns", "rows"),
        partial(_show_figure, RENDER_TABLE),
        keeps=False,
        learns=False,
        reads=True,
        offered=_may_show,
    ),
    BuiltinTool(
        RENDER_CHART,
        f"Show a chart with your reply, of at most {MAX_SERIES} series.",
        {
            "title": "What it shows, in a few words.",
            "chart": f"One of: {', '.join(CHART_KINDS)}.",
            "labels": "What stands along it, as a list.",
            "series": "A list of objects with a name and a list of values, one for each label.",
        },
        ("chart", "labels", "series"),
        partial(_show_figure, RENDER_CHART),
        keeps=False,
        learns=False,
        reads=True,
        offered=_may_show,
    ),
)
