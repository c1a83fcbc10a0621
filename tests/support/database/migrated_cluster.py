"""A cluster with the migrated template: made once for this state of the sources, then copied.

Migrating an empty database takes several seconds, and every test process begins with one. The key of the copy is the bytes of
all files that migrations, models, policy and set-up read. `make clean` removes it.
"""

import gc
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

from django.conf import settings
from django.core.management import call_command
from psycopg import sql

from apps.launcher.child_processes import stop_child
from apps.launcher.data_folders import PROJECT, hold_file_lock
from apps.launcher.postgres import STOP_SECONDS, Postgres
from tests.settings import PREFIX
from tests.support.database.clones import close_connections, point_to, run_as_superuser
from tests.support.temp_folders import own_folder

TEMPLATE: Final = f"{PREFIX}_template"
CACHE: Final = PROJECT / ".pytest_cache" / "clusters"
SOURCES: Final = (
    "apps/**/*.sql",
    "apps/**/migrations/*.py",
    "apps/**/*models.py",
    "apps/**/models/*.py",
    "apps/**/apps.py",
    "apps/**/rules.py",
    "apps/governance/**/*.py",
    "apps/tenants/**/*.py",
    "config/**/*.py",
    "tests/settings.py",
    "requirements-embedded.lock",
)
# Models take fields, constraints and indexes from mixins of other modules too.
DECLARES_FIELDS: Final = re.compile(rb"\bmodels\.(Model\b|ForeignKey\(|Index\(|\w*Field\(|\w*Constraint\()")


@contextmanager
def ready_server() -> Iterator[Postgres]:
    """Run a server with the template, removed afterwards with all its data."""
    home = own_folder()
    server = ReadyPostgres(home, throwaway=True)
    server.start()
    try:
        yield server
    finally:
        close_connections()
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


class ReadyPostgres(Postgres):
    """A server that begins with the template."""

    def _run_initdb(self, binaries: Path) -> None:
        del binaries
        CACHE.mkdir(parents=True, exist_ok=True)
        ready = CACHE / template_key()
        with hold_file_lock(CACHE / "lock"):
            if not ready.exists():
                _make_template(ready)
            _copy_cluster(ready, self._data)


class _TemplateServer(Postgres):
    """The server in which the template is made; it is stopped so that a copy can start."""

    def make(self, ready: Path) -> None:
        self.start()
        try:
            _migrate_template(self)
            assert self.child is not None
            stop_child(self.child, signal.SIGINT, STOP_SECONDS)
            unfinished = ready.with_suffix(".new")
            shutil.rmtree(unfinished, ignore_errors=True)
            _copy_cluster(self._data, unfinished)
            unfinished.rename(ready)
        finally:
            self.stop()


def _make_template(ready: Path) -> None:
    for former in CACHE.iterdir():
        if former.is_dir():
            shutil.rmtree(former)
    home = own_folder()
    _TemplateServer(home, throwaway=True).make(ready)
    shutil.rmtree(home, ignore_errors=True)


def _migrate_template(server: Postgres) -> None:
    run_as_superuser(server, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(TEMPLATE)))
    point_to(server, TEMPLATE)
    settings.DATABASE_OWNER_URL = server.url_for("postgres", database=TEMPLATE)
    # The states of models between two migrations refer to each other; garbage collection among them takes a fifth of the time.
    gc.disable()
    call_command("setup_database", verbosity=0, stdout=_DiscardedOutput())
    gc.enable()
    close_connections()


def _copy_cluster(source: Path, target: Path) -> None:
    # The owner of the files stays the same: as root, the server runs under another account.
    subprocess.run(["cp", "-a", source, target], check=True)


def template_key(root: Path = PROJECT) -> str:
    """Return the name of the cluster for these sources; it changes with any byte of them."""
    digest = sha256(f"{sys.version_info[:2]} {settings.DATABASE_ROLE_PREFIX}".encode())
    for path in sources(root):
        digest.update(f"{path.relative_to(root)} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def sources(root: Path = PROJECT) -> list[Path]:
    """Return every file from which the template is made."""
    named = {path for pattern in SOURCES for path in root.glob(pattern)}
    declaring = {path for path in root.glob("apps/**/*.py") if DECLARES_FIELDS.search(path.read_bytes())}
    return sorted(named | declaring)


class _DiscardedOutput:
    def write(self, text: str) -> int:
        return len(text)
