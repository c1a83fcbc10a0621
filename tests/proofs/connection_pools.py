"""`python -m tests.proofs.connection_pools`: 64 clients of eight tenants over one connection each, psycopg's pool, and pgbouncer.

Each client opens a transaction, becomes one tenant's actor, reads and writes, commits, fails, or rolls a savepoint back. It
prints a table and ends with an error if any row or setting of another tenant was seen, or anything was seen by nobody.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from time import monotonic

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

from apps.launcher.child_processes import CannotStart  # noqa: E402  # after Django's set-up
from tests.governance.pool_interleaving import CLIENTS, KINDS, interleave, make_tenants  # noqa: E402
from tests.settings import PREFIX  # noqa: E402
from tests.support.database.clones import clone_database, close_connections  # noqa: E402
from tests.support.database.connection_pools import POOL_ROUTES  # noqa: E402
from tests.support.database.migrated_cluster import TEMPLATE, ready_server  # noqa: E402

WHOLE, QUICK = 34_000, 1_200


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.connection_pools")
    parser.add_argument("--requests", type=int, default=WHOLE, help=f"requests each way (default {WHOLE})")
    parser.add_argument("--quick", action="store_true", help=f"a short seed: {QUICK} each way")
    options = parser.parse_args(arguments)
    with ready_server() as server:
        clone_database(server, TEMPLATE, PREFIX)
        inhabitants = make_tenants()
        close_connections()
        print(f"{CLIENTS} clients, {len(inhabitants)} tenants, kinds of requests: {', '.join(KINDS)}")
        print(f"{'way':14} {'requests':>9} {'refused':>8} {'foreign':>8} {'blind':>6} {'seconds':>8}")
        flawed = False
        for name, way in POOL_ROUTES.items():
            begun = monotonic()
            try:
                with way(server):
                    counted = interleave(inhabitants, QUICK if options.quick else options.requests)
            except CannotStart as missing:
                print(f"{name:14} {missing}")
                flawed = True
                continue
            figures = (counted["requests"], counted["refused"], counted["foreign"], counted["blind"])
            print("{:14} {:9} {:8} {:8} {:6} {:8.1f}".format(name, *figures, monotonic() - begun), flush=True)
            flawed |= bool(counted["foreign"] or counted["blind"]) or counted["refused"] != counted["nobody"]
    return int(flawed)


if __name__ == "__main__":
    sys.exit(main())
