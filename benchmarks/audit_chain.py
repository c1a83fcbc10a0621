"""Cost of an audit chain link per write, and speed of the verification, each beside the same work without it.

`python -m benchmarks.audit_chain` starts a PostgreSQL of its own, prints a table and fails if the audit log does not
verify; `--quick` does the same with fewer acts.
"""

import argparse
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

from django.conf import settings  # noqa: E402  # settings stand before models
from django.core.management import call_command  # noqa: E402
from django.db import connections  # noqa: E402
from psycopg import sql  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from apps.governance.audit.hash_chain import ChainVerification, verify_chain  # noqa: E402
from apps.governance.audit.log_reader import chain_entries  # noqa: E402
from apps.governance.database.actor_transaction import acting_as  # noqa: E402
from apps.launcher.postgres import Postgres  # noqa: E402
from apps.personas.actions import amend_persona  # noqa: E402
from tests.settings import PREFIX  # noqa: E402
from tests.support.database.clones import close_connections, point_to, run_as_superuser  # noqa: E402
from tests.support.temp_folders import own_folder  # noqa: E402
from tests.support.worlds.world import World, make_persona, make_world  # noqa: E402

TRIGGER = "ALTER TABLE governance_changerecord {} TRIGGER link_at_commit"


@contextmanager
def database() -> Iterator[Postgres]:
    """A server of this process alone, with the product's tables."""
    home = own_folder()
    server = Postgres(home, throwaway=True)
    server.start()
    try:
        run_as_superuser(server, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(PREFIX)))
        point_to(server, PREFIX)
        settings.DATABASE_OWNER_URL = server.url_for("postgres", database=PREFIX)
        call_command("setup_database", verbosity=0, stdout=StringIO())
        yield server
    finally:
        close_connections()
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


def seconds(done: Callable[[], object]) -> float:
    begun = time.perf_counter()
    done()
    return time.perf_counter() - begun


def measure_writing(acts: int, rounds: int) -> tuple[float, float, World]:
    """Return acts per second with and without the chain, the best of interleaved rounds, and the tenant whose log has links."""
    linked, bare = make_world(), make_world()
    personas = {world: make_persona(world) for world in (linked, bare)}
    best = {linked: float("inf"), bare: float("inf")}
    for turn in range(rounds):
        for world, verb in ((linked, "ENABLE"), (bare, "DISABLE")):
            call_owner(TRIGGER.format(verb))

            def act(world: World = world, turn: int = turn) -> None:
                for number in range(acts):
                    amend_persona(personas[world], actor=world.operator, values={"style": f"Way {turn} {number}."})

            best[world] = min(best[world], seconds(act))
    call_owner(TRIGGER.format("ENABLE"))
    return acts / best[linked], acts / best[bare], linked


def call_owner(statement: str) -> None:
    """Run one statement as the owner of the tables."""
    with connections["owner"].cursor() as cursor:
        cursor.execute(statement)


def measure_reading(world: World, rounds: int) -> tuple[float, float, ChainVerification]:
    """Return rows per second verified and only read, the best of interleaved rounds, and the verification."""
    verified = ChainVerification()
    best_read = best_verified = float("inf")

    def read() -> None:
        for _ in chain_entries(world.tenant.pk):
            pass

    def prove() -> None:
        nonlocal verified
        verified = verify_chain((linked for linked, _ in chain_entries(world.tenant.pk)), {})

    for _ in range(rounds):
        with acting_as(world.system):
            best_read = min(best_read, seconds(read))
            best_verified = min(best_verified, seconds(prove))
    return verified.entry_count / best_verified, verified.entry_count / best_read, verified


def report(acts: int, rounds: int) -> bool:
    """Print the table; return whether the audit log verifies."""
    with database():
        linked, bare, world = measure_writing(acts, rounds)
        proven, read, verified = measure_reading(world, rounds)
    table = Table("what", "a second", "time, as a multiple", title=f"{verified.entry_count:,} entries of one tenant")
    table.add_row("acts without the chain", f"{bare:,.0f}", "1.0")
    table.add_row("acts with it", f"{linked:,.0f}", f"{bare / linked:,.2f}")
    table.add_row("rows of the books read", f"{read:,.0f}", "1.0")
    table.add_row("rows verified", f"{proven:,.0f}", f"{read / proven:,.2f}")
    console = Console(width=100)
    console.print(table)
    stands = not verified.findings and verified.entry_count > acts
    console.print("The books stand." if stands else f"The books DO NOT stand: {len(verified.findings)} findings.")
    return stands


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--quick", action="store_true", help="fewer acts and rounds")
    options = asked.parse_args()
    return 0 if report(*((100, 2) if options.quick else (1000, 5))) else 1


if __name__ == "__main__":
    sys.exit(main())
