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
from apps.standin.thread_server import running_standin  # noqa: E402
from tests.durability.crash_and_recover import crossings_in, crossings_of, dies_at, dies_in, points_of  # noqa: E402
from tests.durability.crash_scenarios import SCENES, Wires, wired  # noqa: E402
from tests.durability.forked_workers import Stage, staged, thinned  # noqa: E402
from tests.durability.stalled_worker import sleeps_at  # noqa: E402
from tests.settings import PREFIX  # noqa: E402
from tests.support.database.clones import clone_database  # noqa: E402
from tests.support.database.migrated_cluster import TEMPLATE, ready_server  # noqa: E402
from tests.support.servers.standin_model import StandIn  # noqa: E402
from tests.support.servers.tool_server import running_tool_server  # noqa: E402

QUICK = 8
ENDINGS: tuple[tuple[str, Callable[..., Iterator[str]]], ...] = (
    ("killed", dies_at),
    ("asleep, the turn then ended", partial(sleeps_at, meets_holder=False)),
    ("asleep, the turn then held", partial(sleeps_at, meets_holder=True)),
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.durability")
    parser.add_argument("--quick", action="store_true", help=f"about {QUICK} points of each kind instead of all")
    most = QUICK if parser.parse_args(arguments).quick else sys.maxsize
    with ready_server() as server, running_standin() as url, tempfile.TemporaryDirectory(prefix="pcp-") as folder:
        clone_database(server, TEMPLATE, PREFIX)
        standin = StandIn(url, AnthropicBackend("test", base_url=url))
        with staged(server, PREFIX, standin, Path(folder)) as stage:
            print(f"{'a worker is':28} {'turn':22} {'crossings':>9} {'points':>7} {'seconds':>8} {'broken':>7}")
            flaws = [flaw for in_session in (False, True) for flaw in _all_of(stage, most, in_session=in_session)]
            with running_tool_server() as served, wired(stage, served) as wires:
                flaws += [flaw for name in SCENES for flaw in _all_in(wires, most, name)]
    for flaw in flaws:
        print(flaw)
    return int(bool(flaws))


def _all_of(stage: Stage, most: int, *, in_session: bool) -> Iterator[str]:
    crossings = crossings_of(stage, in_session=in_session)
    every = points_of(crossings)
    # What is seen of a process after one crossing is what is seen before the next; a sleeper is tried once there.
    before = [point for point in every if point[1] == "before"]
    for word, ends_at in ENDINGS:
        points = thinned(every if ends_at is dies_at else before, most)
        turn = "within a session" if in_session else "opening a session"
        found = (flaw for point in points for flaw in ends_at(stage, crossings, *point, in_session=in_session))
        yield from _told(word, turn, (len(crossings), len(points)), found)


def _all_in(wires: Wires, most: int, name: str) -> Iterator[str]:
    opens = SCENES[name]
    crossings = crossings_in(wires, opens)
    points = thinned(points_of(crossings), most)
    found = (flaw for point in points for flaw in dies_in(wires, opens, crossings, *point))
    yield from _told("killed", name, (len(crossings), len(points)), found)


def _told(word: str, turn: str, counts: tuple[int, int], found: Iterator[str]) -> Sequence[str]:
    """What was found, once its line of the table is printed."""
    begun = monotonic()
    flaws = list(found)
    crossings, points = counts
    seconds = monotonic() - begun
    print(f"{word:28} {turn:22} {crossings:9} {points:7} {seconds:8.1f} {len(flaws):7}", flush=True)
    return flaws


if __name__ == "__main__":
    sys.exit(main())
