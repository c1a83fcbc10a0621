"""One worker dies at one crossing of a turn, and another finishes it."""

import signal
from collections.abc import Iterator, Sequence

from tests.durability.stage import DONE, Stage, thinned

SIDES = ("before", "after")


def crossings_of(stage: Stage, *, in_session: bool) -> list[str]:
    """Every crossing of a turn that nobody disturbs."""
    event = stage.arrive(in_session=in_session)
    stage.start(event)
    told = stage.workers.ended()
    assert told["code"] == 0, told
    assert stage.ending(event) == ("done", "replied", DONE)
    crossings: list[str] = told["crossings"]
    return crossings


def points_of(crossings: Sequence[str]) -> list[tuple[int, str]]:
    """Both sides of each crossing, counted from 1."""
    return [(point, side) for point in range(1, len(crossings) + 1) for side in SIDES]


def chosen(crossings: Sequence[str], most: int) -> list[tuple[int, str]]:
    """Some of the points, evenly spread, and those where the model has answered and nothing is written yet."""
    answered = [(point, "after") for point, name in enumerate(crossings, 1) if name == "ask the model"]
    return sorted({*thinned(points_of(crossings), most), *answered})


def dies_at(stage: Stage, crossings: Sequence[str], point: int, side: str, *, in_session: bool) -> Iterator[str]:
    """What is wrong after a death at this point; nothing, if all is well."""
    where = f"{side} {point} ({crossings[point - 1]})"
    event = stage.arrive(in_session=in_session)
    stage.start(event, point, side)
    code = stage.workers.ended()["code"]
    if code != -signal.SIGKILL:
        yield f"{where}: the worker ended with {code} instead of dying"
    stage.lease_runs_out(event)
    stage.survive(event)
    ending = stage.ending(event)
    if ending != ("done", "replied", DONE):
        yield f"{where}: the turn ended as {ending}"
    yield from (f"{where}: {flaw}" for flaw in stage.broken())
