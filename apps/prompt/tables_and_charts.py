"""Tables and charts that an agent sends with its reply: validated, and in a form that every channel can draw; pure."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Final, TypeAlias

from apps.prompt.builtin_tools import RENDER_CHART, RENDER_TABLE
from apps.prompt.sanitizer.clean import sanitize

MAX_COLUMNS: Final = 8
MAX_ROWS: Final = 50
MAX_SERIES: Final = 5
MAX_POINTS: Final = 50
CELL_CHARACTERS: Final = 200
FIGURE_CHARACTERS: Final = 12_000
CHART_KINDS: Final = ("bar", "line", "pie")
FIGURE_TOOLS: Final = frozenset({RENDER_TABLE, RENDER_CHART})

Cell: TypeAlias = str | int | float | bool | None
Figure: TypeAlias = dict[str, object]


class InvalidFigure(Exception):
    """The arguments are not a valid table or chart; the message says what to change."""


def build_figure(tool: str, given: Mapping[str, object]) -> Figure:
    """Return the figure of a tool call, with a text version for channels that cannot draw figures."""
    figure = _table(given) if tool == RENDER_TABLE else _chart(given)
    if sum(len(str(value)) for value in figure.values()) > FIGURE_CHARACTERS:
        raise InvalidFigure(f"This is longer than {FIGURE_CHARACTERS} characters. Show less of it.")
    return figure


def _table(given: Mapping[str, object]) -> Figure:
    columns = [_cell_text(each) for each in _bounded_list(given, "columns", MAX_COLUMNS)]
    rows = [_row(row, len(columns)) for row in _bounded_list(given, "rows", MAX_ROWS)]
    title = _cell_text(given.get("title", ""))
    return {
        "kind": "table",
        "title": title,
        "columns": columns,
        "rows": rows,
        "text": _text_version(title, [columns, *rows]),
    }


def _row(row: object, width: int) -> list[str]:
    if not isinstance(row, list) or len(row) != width:
        raise InvalidFigure(f"Each row is a list of {width} cells, one for each column.")
    return [_cell_text(cell) for cell in row]


def _chart(given: Mapping[str, object]) -> Figure:
    chart, labels = given.get("chart"), [_cell_text(each) for each in _bounded_list(given, "labels", MAX_POINTS)]
    if chart not in CHART_KINDS:
        raise InvalidFigure(f"There is no such chart. There are: {', '.join(CHART_KINDS)}.")
    series = [_series(each, len(labels)) for each in _bounded_list(given, "series", MAX_SERIES)]
    if chart == "pie" and len(series) != 1:
        raise InvalidFigure("A pie shows one series.")
    title, names = _cell_text(given.get("title", "")), [name for name, _ in series]
    points = [[label, *(str(values[at]) for _, values in series)] for at, label in enumerate(labels)]
    return {
        "kind": "chart",
        "title": title,
        "chart": chart,
        "labels": labels,
        "series": [{"name": name, "values": values} for name, values in series],
        "text": _text_version(title, [["", *names], *points]),
    }


def _series(given: object, length: int) -> tuple[str, list[int | float]]:
    series = given if isinstance(given, dict) else {}
    values = series.get("values")
    if not isinstance(values, list) or len(values) != length:
        raise InvalidFigure(f"Each series has a name and {length} values, one for each label.")
    return _cell_text(series.get("name", "")), [_value(value) for value in values]


def _value(value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or abs(value) > 1e15:
        raise InvalidFigure("Values of a chart are plain numbers.")
    return value


def _bounded_list(given: Mapping[str, object], name: str, most: int) -> Sequence[object]:
    found = given.get(name)
    if not isinstance(found, list) or not 1 <= len(found) <= most:
        raise InvalidFigure(f"Give {name} as a list of 1 to {most}.")
    return found


def _cell_text(value: object) -> str:
    """Return a cell's value as text for people."""
    if isinstance(value, dict | list):
        raise InvalidFigure("A cell is a text or a number.")
    text = "" if value is None else str(value)
    if len(text) > CELL_CHARACTERS:
        raise InvalidFigure(f"A cell has more than {CELL_CHARACTERS} characters. Shorten it.")
    return sanitize(" ".join(text.split()), CELL_CHARACTERS).text


def _text_version(title: str, rows: Sequence[Sequence[str]]) -> str:
    lines = [" | ".join(row) for row in rows]
    return "\n".join([title, *lines] if title else lines)
