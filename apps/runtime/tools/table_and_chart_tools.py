"""The tools by which an agent shows a table or a chart with its reply. Nothing is drawn here; each channel does it in its way."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from apps.governance.errors import Invalid
from apps.llm.model_backend import JsonObject
from apps.prompt.builtin_tools import RENDER_CHART, RENDER_TABLE
from apps.prompt.tables_and_charts import CHARTS, COLUMNS, FIGURES, ROWS, SERIES, Figure, NoFigure, figure_of
from apps.runtime.tools.builtin_tool import Context, HouseTool, Offer

SHOWN: Final = "It is shown with your reply. Do not repeat its numbers; say in a sentence what they mean."


def _show(tool: str, context: Context, arguments: JsonObject) -> str:
    del context
    try:
        figure_of(tool, arguments)
    except NoFigure as flaw:
        raise Invalid(str(flaw), {}) from flaw
    return SHOWN


def figures_of(calls: Iterable[Mapping[str, Any]]) -> list[Figure]:  # Any: a call as the transcript has it
    """What these calls show, in their order; what a later release would refuse is left out."""
    figures: list[Figure] = []
    for call in calls:
        if call["name"] in FIGURES and not call["is_error"]:
            with suppress(NoFigure):
                figures.append(figure_of(call["name"], call["arguments"]))
    return figures


def _shows(offer: Offer) -> bool:
    return offer.may_show_tables_and_charts


RENDERING: Final = (
    HouseTool(
        RENDER_TABLE,
        f"Show a table with your reply, of at most {COLUMNS} columns and {ROWS} rows.",
        {
            "title": "What it shows, in a few words.",
            "columns": "The columns' names, as a list.",
            "rows": "The rows, as a list of lists of cells.",
        },
        ("columns", "rows"),
        partial(_show, RENDER_TABLE),
        keeps=False,
        learns=False,
        reads=True,
        offered=_shows,
    ),
    HouseTool(
        RENDER_CHART,
        f"Show a chart with your reply, of at most {SERIES} series.",
        {
            "title": "What it shows, in a few words.",
            "chart": f"One of: {', '.join(CHARTS)}.",
            "labels": "What stands along it, as a list.",
            "series": "A list of objects with a name and a list of values, one for each label.",
        },
        ("chart", "labels", "series"),
        partial(_show, RENDER_CHART),
        keeps=False,
        learns=False,
        reads=True,
        offered=_shows,
    ),
)
