"""One worker dies at one crossing of a turn, and another finishes it."""

import signal
from collections.abc import Callable, Iterator, Sequence

from tests.durability.crash_scenarios import CrashScene, ExternalStage
from tests.durability.forked_workers import FINAL_REPLY, CrashStage, sample_points

SIDES = ("before", "after")
# Where somebody else has done something and nothing is written yet.
EXTERNAL_CROSSINGS = ("ask the model", "a tool of others called", "post", "posted")


def record_turn_crossings(stage: CrashStage, *, in_session: bool) -> list[str]:
    """Every crossing of a turn that nobody disturbs."""
    event = stage.arrive(in_session=in_session)
    stage.start(event)
    report = stage.workers.ended()
    assert report["code"] == 0, report
    assert stage.ending(event) == ("done", "replied", FINAL_REPLY)
    crossings: list[str] = report["crossings"]
    return crossings


def crash_points(crossings: Sequence[str]) -> list[tuple[int, str]]:
    """Both sides of each crossing, counted from 1."""
    return [(point, side) for point in range(1, len(crossings) + 1) for side in SIDES]


def spread_points(crossings: Sequence[str], most: int) -> list[tuple[int, str]]:
    """Some of the points, evenly spread, and those where the model has answered and nothing is written yet."""
    answered = [(point, "after") for point, name in enumerate(crossings, 1) if name in EXTERNAL_CROSSINGS]
    return sorted({*sample_points(crash_points(crossings), most), *answered})


def decisive_points(crossings: Sequence[str]) -> list[tuple[int, str]]:
    """Behind whatever stands or was done elsewhere, and one further; within a transaction a death takes back what it wrote."""
    called = {point for point, name in enumerate(crossings, 1) if name in EXTERNAL_CROSSINGS}
    kept = {point for point, name in enumerate(crossings, 1) if name == "commit"}
    behind = {point + 1 for point in called if point < len(crossings)}
    return [(point, "after") for point in sorted(called | kept | behind)]


def check_crash(
    stage: CrashStage, crossings: Sequence[str], point: int, side: str, *, in_session: bool
) -> Iterator[str]:
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
    if ending != ("done", "replied", FINAL_REPLY):
        yield f"{where}: the turn ended as {ending}"
    yield from (f"{where}: {flaw}" for flaw in stage.broken())


def record_scene_crossings(wires: ExternalStage, opens: Callable[[ExternalStage], CrashScene]) -> list[str]:
    """Every crossing of a scene that nobody disturbs."""
    scene = opens(wires)
    wires.stage.order(scene.conversation_id, job=scene.job)
    report = wires.stage.workers.ended()
    assert report["code"] == 0, report
    scene.goes_on()
    assert [*scene.flaws(), *wires.broken()] == []
    crossings: list[str] = report["crossings"]
    return crossings


def check_scene_crash(
    wires: ExternalStage, opens: Callable[[ExternalStage], CrashScene], crossings: Sequence[str], point: int, side: str
) -> Iterator[str]:
    """What is wrong after a death at this point of a scene; nothing, if all is well."""
    where = f"{side} {point} ({crossings[point - 1]})"
    scene = opens(wires)
    wires.stage.order(scene.conversation_id, job=scene.job, point=point, side=side)
    code = wires.stage.workers.ended()["code"]
    if code != -signal.SIGKILL:
        yield f"{where}: the worker ended with {code} instead of dying"
    wires.stage.time_passes(scene.conversation_id)
    scene.goes_on()
    yield from (f"{where}: {flaw}" for flaw in (*scene.flaws(), *wires.broken()))
