"""`python -m tests.proofs.random_acts`: agents, people, workers and customers in random order over every act of the policy.

Two tenants, each step committed; after each one the approved bytes, the sessions, the books, the proposals and what either
tenant sees of the other are compared with what may be. It prints a table, and the shortest sequence it finds that breaks a
promise, and then ends with an error. With --mutant a protection is taken away first: then it has to find one.
"""

import argparse
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from time import monotonic

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

import psycopg  # noqa: E402  # after Django's set-up
from hypothesis import HealthCheck, Phase, Verbosity, seed, settings  # noqa: E402
from hypothesis.stateful import run_state_machine_as_test  # noqa: E402

from apps.launcher.postgres import Postgres  # noqa: E402
from apps.llm.anthropic.sync_client import AnthropicBackend  # noqa: E402
from apps.standin.thread_server import run_standin_thread  # noqa: E402
from tests.random_acts.acts.registry import ACT_RUNNERS  # noqa: E402
from tests.random_acts.mutants import MUTANTS, remove_protection  # noqa: E402
from tests.random_acts.walk import RandomActsMachine, RunTotals  # noqa: E402
from tests.settings import PREFIX  # noqa: E402
from tests.support.database.clones import clone_database  # noqa: E402
from tests.support.database.migrated_cluster import TEMPLATE, ready_server  # noqa: E402

WHOLE, QUICK = (60, 50), (6, 30)
COLUMNS = ("runs", "steps", "acts tried", "done", "refused", "sessions", "violations", "seconds")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.random_acts")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK[0]} runs of {QUICK[1]} steps")
    parser.add_argument("--runs", type=int, default=0, help=f"how many runs (default {WHOLE[0]})")
    parser.add_argument("--seed", type=int, default=1, help="another seed tries other sequences")
    parser.add_argument("--mutant", choices=sorted(MUTANTS), help="take this protection away first")
    options = parser.parse_args(arguments)
    # The workers say much that is no part of the proof.
    logging.disable(logging.WARNING)
    runs, steps = QUICK if options.quick else WHOLE
    with ready_server() as server, run_standin_thread() as url:
        clone_database(server, TEMPLATE, PREFIX)
        backend = AnthropicBackend("test", base_url=url)
        begun = monotonic()
        totals, violation = play(server, backend, options.runs or runs, steps, options.seed, options.mutant or "")
        backend.close()
    report(totals, violation, monotonic() - begun)
    return int(violation is not None or totals.steps == 0)


def play(
    server: Postgres, backend: AnthropicBackend, runs: int, steps: int, chance: int, mutant: str
) -> tuple[RunTotals, BaseException | None]:
    """Run the machine; what it came to, and the violation with its shortest sequence if there is one."""
    totals = RandomActsMachine.told = RunTotals()
    RandomActsMachine.backend = backend
    how = settings(
        max_examples=runs,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.normal,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    with psycopg.connect(server.url_for("postgres", database=PREFIX), autocommit=True) as observing:
        RandomActsMachine.connection = observing
        with remove_protection(mutant, observing):
            try:
                run_state_machine_as_test(seed(chance)(RandomActsMachine), settings=how)
            except Exception as violation:  # noqa: BLE001  # whatever it is, it is what the proof looks for
                return totals, violation
    return totals, None


def report(totals: RunTotals, violation: BaseException | None, seconds: float) -> None:
    """The row of the table, and the sequence that broke something."""
    if violation is not None:
        traceback.print_exception(violation, limit=-3, file=sys.stdout)
    print(
        f"{'runs':>5} {'steps':>6} {'acts tried':>11} {'done':>6} {'refused':>8} {'sessions':>9} {'violations':>11} {'seconds':>8}"
    )
    acts = f"{len(totals.acts)} of {len(ACT_RUNNERS)}"
    figures = (totals.runs, totals.steps, acts, totals.done.total(), totals.refused.total(), totals.sessions)
    print(
        "{:5} {:6} {:>11} {:6} {:8} {:9} {:11} {:8.1f}".format(*figures, int(violation is not None), seconds),
        flush=True,
    )
    never = sorted(act.value for act in ACT_RUNNERS if act.value not in totals.done)
    print(f"never done, only refused or not tried: {', '.join(never) or 'none'}")


if __name__ == "__main__":
    sys.exit(main())
