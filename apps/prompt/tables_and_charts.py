"""Tables and charts that an agent shows with its reply: checked, and in a form that every channel can draw in its own way; pure."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Final, TypeAlias

from apps.prompt.builtin_tools import RENDER_CHART, RENDER_TABLE
from apps.prompt.sanitizer.clean import sanitize

COLUMNS: Final = 8
ROWS: Final = 50
SERIES: Final = 5
POINTS: Final = 50
CELL_CHARACTERS: Final = 200
FIGURE_CHARACTERS: Final = 12_000
CHARTS: Final = ("bar", "line", "pie")
FIGURES: Final = frozenset({RENDER_TABLE, RENDER_CHART})

Cell: TypeAlias = str | int | float | bool | None
Figure: TypeAlias = dict[str, object]


class NoFigure(Exception):
    """What was given is no table or chart; the sentence says what to change."""


def figure_of(tool: str, given: Mapping[str, object]) -> Figure:
    """What a call of a tool that shows something stands for, with the words for channels that draw nothing."""
    figure = _table(given) if tool == RENDER_TABLE else _chart(given)
    if sum(len(str(value)) for value in figure.values()) > FIGURE_CHARACTERS:
        raise NoFigure(f"This is longer than {FIGURE_CHARACTERS} characters. Show less of it.")
    return figure


def _table(given: Mapping[str, object]) -> Figure:
    columns = [_text(each) for each in _list(given, "columns", COLUMNS)]
    rows = [_row(row, len(columns)) for row in _list(given, "rows", ROWS)]
    title = _text(given.get("title", ""))
    return {"kind": "table", "title": title, "columns": columns, "rows": rows, "text": _lines(title, [columns, *rows])}


def _row(row: object, width: int) -> list[str]:
    if not isinstance(row, list) or len(row) != width:
        raise NoFigure(f"Each row is a list of {width} cells, one for each column.")
    return [_text(cell) for cell in row]


def _chart(given: Mapping[str, object]) -> Figure:
    chart, labels = given.get("chart"), [_text(each) for each in _list(given, "labels", POINTS)]
    if chart not in CHARTS:
        raise NoFigure(f"There is no such chart. There are: {', '.join(CHARTS)}.")
    series = [_series(each, len(labels)) for each in _list(given, "series", SERIES)]
    if chart == "pie" and len(series) != 1:
        raise NoFigure("A pie shows one series.")
    title, names = _text(given.get("title", "")), [name for name, _ in series]
    points = [[label, *(str(values[at]) for _, values in series)] for at, label in enumerate(labels)]
    return {
        "kind": "chart",
        "title": title,
        "chart": chart,
        "labels": labels,
        "series": [{"name": name, "values": values} for name, values in series],
        "text": _lines(title, [["", *names], *points]),
    }


def _series(given: object, length: int) -> tuple[str, list[int | float]]:
    said = given if isinstance(given, dict) else {}
    values = said.get("values")
    if not isinstance(values, list) or len(values) != length:
        raise NoFigure(f"Each series has a name and {length} values, one for each label.")
    return _text(said.get("name", "")), [_value(value) for value in values]


def _value(value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or abs(value) > 1e15:
        raise NoFigure("Values of a chart are plain numbers.")
    return value


def _list(given: Mapping[str, object], name: str, most: int) -> Sequence[object]:
    found = given.get(name)
    if not isinstance(found, list) or not 1 <= len(found) <= most:
        raise NoFigure(f"Give {name} as a list of 1 to {most}.")
    return found


def _text(value: object) -> str:
    """A cell as people read it."""
    if isinstance(value, dict | list):
        raise NoFigure("A cell is a text or a number.")
    said = "" if value is None else str(value)
    if len(said) > CELL_CHARACTERS:
        raise NoFigure(f"A cell has more than {CELL_CHARACTERS} characters. Shorten it.")
    return sanitize(" ".join(said.split()), CELL_CHARACTERS).text


def _lines(title: str, rows: Sequence[Sequence[str]]) -> str:
    lines = [" | ".join(row) for row in rows]
    return "\n".join([title, *lines] if title else lines)
