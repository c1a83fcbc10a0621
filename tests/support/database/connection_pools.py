"""Ways to share a connection: none, the driver's own pool, and pgbouncer in transaction mode."""

import shutil
import signal
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

from django.db import connections

from apps.launcher.child_processes import CannotStart, last_lines, spawn_child, stop_child, wait_until
from apps.launcher.data_folders import database_account, private_folder
from apps.launcher.postgres import Postgres
from tests.settings import PREFIX
from tests.support.temp_folders import own_folder

SERVER_CONNECTIONS = 8
SOCKET = ".s.PGSQL.6432"
CONFIGURATION = """[databases]
* = host={server}

[pgbouncer]
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 500
auth_type = trust
auth_file = {home}/users
listen_port = 6432
unix_socket_dir = {folder}
unix_socket_mode = 0700
logfile = {folder}/log
"""


class PoolRoute(Protocol):
    """Points Django's connections through something, for a while."""

    def __call__(self, server: Postgres) -> AbstractContextManager[None]:
        """Route new connections this way while the block runs."""


@contextmanager
def direct_connections(server: Postgres) -> Iterator[None]:
    """Give each client a connection of its own."""
    del server
    yield


@contextmanager
def driver_pool(server: Postgres) -> Iterator[None]:
    """Let all clients share the connections of psycopg's pool, as DATABASE_POOL_SIZE does."""
    del server
    shared: Any = connections["default"]  # Any: the pool is PostgreSQL's alone
    options = shared.settings_dict["OPTIONS"]
    options["pool"] = {"min_size": 1, "max_size": SERVER_CONNECTIONS, "timeout": 120}
    try:
        yield
    finally:
        shared.close()
        shared.close_pool()
        del options["pool"]


@contextmanager
def pgbouncer(server: Postgres) -> Iterator[None]:
    """Let all clients share the connections of pgbouncer, which gives each transaction any free one."""
    given = connections["default"].settings_dict
    before = {name: given[name] for name in ("HOST", "PORT")}
    with running_pgbouncer(str(given["HOST"])) as folder:
        given.update(HOST=str(folder), PORT="6432")
        try:
            yield
        finally:
            connections["default"].close()
            given.update(before)


POOL_ROUTES: Mapping[str, PoolRoute] = {
    "direct": direct_connections,
    "psycopg pool": driver_pool,
    "pgbouncer": pgbouncer,
}


def find_pgbouncer() -> str | None:
    """Return the program, from the place of Debian's package or from the path."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")


@contextmanager
def running_pgbouncer(server_socket: str) -> Iterator[Path]:
    """Run pgbouncer in front of this socket, under the account of the server; like PostgreSQL it refuses to run as root."""
    program = find_pgbouncer()
    if program is None:
        raise CannotStart("pgbouncer is missing. On Debian or Ubuntu, as root: apt-get install pgbouncer")
    account = database_account()
    home = own_folder()
    folder = private_folder(home / "pgbouncer", account)
    filled = CONFIGURATION.format(server=server_socket, size=SERVER_CONNECTIONS, folder=folder, home=home)
    for name, text in (("pgbouncer.ini", filled), ("users", f'"{PREFIX}_login" ""\n')):
        (home / name).write_text(text, encoding="utf-8")
        (home / name).chmod(0o644)
    configuration = home / "pgbouncer.ini"
    child: Any = spawn_child([program, "-q", configuration], when_orphaned=signal.SIGINT, account=account, cwd=folder)
    try:
        wait_until(lambda: (folder / SOCKET).exists() or child.poll() is not None, 20)
        if child.poll() is not None:
            raise CannotStart(f"pgbouncer did not start:\n{last_lines(folder / 'log')}")
        yield folder
    finally:
        stop_child(child, signal.SIGTERM, 10)
        shutil.rmtree(home, ignore_errors=True)
