"""`python -m tests.proofs.mutants` takes each protection away in turn and expects tests to fail.

A mutant of the database is SQL on a clone of the template; one of the code is a change in a copy of the tree. It prints a
table of which tests were tried and which one noticed, and ends with an error if none did, or a change no longer fits the code.
"""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from time import monotonic

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

from tests.durability.mutants import DURABLE  # noqa: E402
from tests.governance.mutant_runner import MutantOutcome, MutantServer, run_all, tests_failing_unmutated  # noqa: E402
from tests.governance.mutants import CODE_MUTANTS, DRIFT_TESTS, Mutant, database_mutants  # noqa: E402
from tests.settings import PREFIX  # noqa: E402
from tests.support.database.clones import clone_database, close_connections  # noqa: E402  # after Django's set-up
from tests.support.database.migrated_cluster import TEMPLATE, ready_server  # noqa: E402  # after Django's set-up

# One of the database that is fast, and one of the code.
QUICK = ("skills_skill: skills_skill_tenant", "personas_persona: refuse_illegal_transition", "grants lift it")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.mutants")
    parser.add_argument("--quick", action="store_true", help=f"only {len(QUICK)} of them")
    parser.add_argument("--only", nargs="+", default=[""], help="mutants whose kind or name has one of these in it")
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, help="how many at once (default: one a core)"
    )
    options = parser.parse_args(arguments)
    begun = monotonic()
    with ready_server() as server:
        standing = MutantServer(server, TEMPLATE)
        clone_database(server, standing.template, PREFIX)
        mutants: list[Mutant] = [*CODE_MUTANTS, *DURABLE, *database_mutants()]
        close_connections()
        chosen = [each for each in mutants if any(word in f"{each.kind}: {each.name}" for word in options.only)]
        chosen = [each for each in chosen if each.name in QUICK] if options.quick else chosen
        print(f"{'protection':14} {'without':58} {'tried':>5} {'seconds':>7} {'outcome':9} noticed by", flush=True)
        noticing: Counter[str] = Counter()
        for mutant, outcome in run_all(standing, chosen, options.workers):
            _print_outcome(mutant, outcome)
            noticing[outcome.noticed_by] += 1
        flawed = tests_failing_unmutated(standing, [name for name in noticing if name])
    for name in flawed:
        print(f"{name} fails with every protection in place.")
    killed = sum(count for name, count in noticing.items() if name and name not in flawed)
    listed = sum(noticing[name] for name in DRIFT_TESTS)
    print(
        f"{killed} of {len(chosen)} mutants were noticed, {listed} of them by the list of all walls alone,"
        f" in {monotonic() - begun:.0f} seconds."
    )
    return int(killed != len(chosen) or not chosen)


def _print_outcome(mutant: Mutant, outcome: MutantOutcome) -> None:
    name = mutant.name if len(mutant.name) <= 58 else f"…{mutant.name[-57:]}"
    noticed = outcome.noticed_by.replace("tests/", "").replace(".py", "") or outcome.flaw
    print(
        f"{mutant.kind:14} {name:58} {len(mutant.tests):5} {outcome.seconds:7.1f} {outcome.word:9} {noticed}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
