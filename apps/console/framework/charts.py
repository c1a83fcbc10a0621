"""Daily charts as plots and tables: the share of something, or its amounts; pure functions."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

BAR_WIDTH: Final = 10
CountsByDay = Mapping[date, int]
NumberFormat = Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Bar:
    """One piece of a day's bar in percent of the plot's height, `y` from the top; `kind` counts the pieces from below."""

    y: int
    height: int
    kind: int


@dataclass(frozen=True, slots=True)
class Point:
    """One day: the pieces of its bar from below, and the cells of its table row; no heights on a day without data."""

    place: int
    day: date
    heights: tuple[int, ...]
    cells: tuple[str, ...]

    @property
    def x(self) -> int:
        return self.place * BAR_WIDTH

    @property
    def said(self) -> str:
        """The day in one line, for its tooltip."""
        return ", ".join(self.cells)

    @property
    def bars(self) -> Iterator[Bar]:
        """Yield the pieces of the bar, each on top of the one before."""
        top = 100
        for kind, height in enumerate(self.heights):
            top -= height
            yield Bar(top, height, kind)


@dataclass(frozen=True, slots=True)
class Plot:
    """The days of one chart, and their total."""

    points: tuple[Point, ...]
    total: str
    line_y: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no day has data."""
        return not any(point.heights for point in self.points)

    @property
    def width(self) -> int:
        return len(self.points) * BAR_WIDTH


def days_until(last: date, count: int) -> list[date]:
    """Return `count` consecutive days; `last` is the last one."""
    return [last - timedelta(days=ago) for ago in reversed(range(count))]


def percent(part: int, whole: int) -> int | None:
    """Return a share in percent, or None if the whole is 0. A part counted on another day than its whole may exceed it: 100."""
    return min(100, round(100 * part / whole)) if whole else None


def share_plot(days: Sequence[date], parts: CountsByDay, wholes: CountsByDay) -> Plot:
    """Plot the share of one number in another, day by day and in total."""
    points = tuple(_share_point(place, day, parts.get(day, 0), wholes.get(day, 0)) for place, day in enumerate(days))
    part, whole = (sum(counts.get(day, 0) for day in days) for counts in (parts, wholes))
    share = percent(part, whole)
    return Plot(points, "nothing yet" if share is None else f"{share} % ({part:,} of {whole:,})")


def stacked_plot(
    days: Sequence[date], series: Sequence[CountsByDay], say: NumberFormat = "{:,}".format, line: int | None = None
) -> Plot:
    """Plot amounts on top of each other; `line` is drawn across for comparison, such as a budget."""
    rows = [[counts.get(day, 0) for counts in series] for day in days]
    most = max(1, line or 0, *(sum(row) for row in rows))
    points = tuple(
        Point(place, day, tuple(round(100 * each / most) for each in row) if any(row) else (), tuple(map(say, row)))
        for place, (day, row) in enumerate(zip(days, rows, strict=True))
    )
    sums = " + ".join(say(sum(column)) for column in zip(*rows, strict=True))
    return Plot(points, sums, None if line is None else 100 - round(100 * line / most))


def mean_plot(days: Sequence[date], values: Mapping[date, Sequence[int]]) -> Plot:
    """Plot the mean of some percentages, day by day and in total."""
    points = tuple(_mean_point(place, day, values.get(day, ())) for place, day in enumerate(days))
    known = [value for day in days for value in values.get(day, ())]
    return Plot(points, f"{round(sum(known) / len(known))} %" if known else "nothing yet")


def changed_words_percent(before: str, after: str) -> int:
    """Return how much of a text another one replaced: words dropped or added, in percent of the words of both, in any order."""
    old, new = (Counter(text.casefold().split()) for text in (before, after))
    every = old.total() + new.total()
    return round(100 * ((old - new) + (new - old)).total() / every) if every else 0


def _share_point(place: int, day: date, part: int, whole: int) -> Point:
    share = percent(part, whole)
    return Point(
        place,
        day,
        () if share is None else (share,),
        ("-" if share is None else f"{share} %", f"{part:,} of {whole:,}"),
    )


def _mean_point(place: int, day: date, values: Sequence[int]) -> Point:
    if not values:
        return Point(place, day, (), ("-", "0"))
    mean = round(sum(values) / len(values))
    return Point(place, day, (mean,), (f"{mean} %", str(len(values))))
