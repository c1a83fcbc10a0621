"""`python -m tests.proofs.durability`: a worker is killed at every crossing of a turn, or sleeps there beyond its lease.

Each statement, each end of a transaction, each call of the model, of an outside tool and of a webhook is a crossing; at each,
before and after it, one worker ends and another finishes the turn. It prints a table and ends with an error if anything happened
twice, was lost, or was written by whoever had lost the turn.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import monotonic

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

from apps.llm.anthropic.sync_client import AnthropicBackend  # noqa: E402  # after Django's set-up
from apps.standin.thread_server import run_standin_thread  # noqa: E402
from tests.durability.crash_and_recover import (  # noqa: E402
    check_crash,
    check_scene_crash,
    crash_points,
    record_scene_crossings,
    record_turn_crossings,
)
from tests.durability.crash_scenarios import SCENES, ExternalStage, open_external_stage  # noqa: E402
from tests.durability.forked_workers import CrashStage, open_stage, sample_points  # noqa: E402
from tests.durability.stalled_worker import check_stall  # noqa: E402
from tests.settings import PREFIX  # noqa: E402
from tests.support.database.clones import clone_database  # noqa: E402
from tests.support.database.migrated_cluster import TEMPLATE, ready_server  # noqa: E402
from tests.support.servers.standin_model import StandIn  # noqa: E402
from tests.support.servers.tool_server import running_tool_server  # noqa: E402

QUICK = 8
ENDINGS: tuple[tuple[str, Callable[..., Iterator[str]]], ...] = (
    ("killed", check_crash),
    ("asleep, the turn then ended", partial(check_stall, meets_holder=False)),
    ("asleep, the turn then held", partial(check_stall, meets_holder=True)),
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.durability")
    parser.add_argument("--quick", action="store_true", help=f"about {QUICK} points of each kind instead of all")
    most = QUICK if parser.parse_args(arguments).quick else sys.maxsize
    with ready_server() as server, run_standin_thread() as url, tempfile.TemporaryDirectory(prefix="pcp-") as folder:
        clone_database(server, TEMPLATE, PREFIX)
        standin = StandIn(url, AnthropicBackend("test", base_url=url))
        with open_stage(server, PREFIX, standin, Path(folder)) as stage:
            print(f"{'a worker is':28} {'turn':22} {'crossings':>9} {'points':>7} {'seconds':>8} {'broken':>7}")
            flaws = [flaw for in_session in (False, True) for flaw in _check_turn(stage, most, in_session=in_session)]
            with running_tool_server() as served, open_external_stage(stage, served) as wires:
                flaws += [flaw for name in SCENES for flaw in _check_scene(wires, most, name)]
    for flaw in flaws:
        print(flaw)
    return int(bool(flaws))


def _check_turn(stage: CrashStage, most: int, *, in_session: bool) -> Iterator[str]:
    crossings = record_turn_crossings(stage, in_session=in_session)
    every = crash_points(crossings)
    # What is seen of a process after one crossing is what is seen before the next; a sleeper is tried once there.
    before = [point for point in every if point[1] == "before"]
    for word, ends_at in ENDINGS:
        points = sample_points(every if ends_at is check_crash else before, most)
        turn = "within a session" if in_session else "opening a session"
        found = (flaw for point in points for flaw in ends_at(stage, crossings, *point, in_session=in_session))
        yield from _print_flaws(word, turn, (len(crossings), len(points)), found)


def _check_scene(wires: ExternalStage, most: int, name: str) -> Iterator[str]:
    opens = SCENES[name]
    crossings = record_scene_crossings(wires, opens)
    points = sample_points(crash_points(crossings), most)
    found = (flaw for point in points for flaw in check_scene_crash(wires, opens, crossings, *point))
    yield from _print_flaws("killed", name, (len(crossings), len(points)), found)


def _print_flaws(word: str, turn: str, counts: tuple[int, int], found: Iterator[str]) -> Sequence[str]:
    """What was found, once its line of the table is printed."""
    begun = monotonic()
    flaws = list(found)
    crossings, points = counts
    seconds = monotonic() - begun
    print(f"{word:28} {turn:22} {crossings:9} {points:7} {seconds:8.1f} {len(flaws):7}", flush=True)
    return flaws


if __name__ == "__main__":
    sys.exit(main())
