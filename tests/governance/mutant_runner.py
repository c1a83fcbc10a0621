"""Running tests without a protection: each mutant in a process of its own, forked from one that has loaded everything."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import psycopg
import pytest
from psycopg import sql

from apps.console.site import site
from apps.launcher.data_folders import PROJECT
from apps.launcher.postgres import Postgres
from config.celery import app
from tests.governance.mutants import CodeMutant, Mutant
from tests.settings import PREFIX
from tests.support.database.clones import clone_database, close_connections
from tests.support.servers.standin_model import StandIn
from tests.support.temp_folders import own_folder

LIMIT_SECONDS = 300
PYTEST_FAILED = 1
OPTIONS = (
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
    "-q",
    "-p",
    "no:randomly",
    "-p",
    "no:cacheprovider",
    "--no-header",
    "--tb=no",
    "-rfE",
)
FAILED_TEST_LINE = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
# What a fork shall not have to load again.
PRELOADED_OBJECTS = (site, app, StandIn)


@dataclass(frozen=True)
class MutantServer:
    """The server that stands meanwhile, and the database that others are cloned from."""

    server: Postgres
    template: str


@dataclass(frozen=True)
class MutantOutcome:
    """How the tests ended without the protection; a run that could not be proves nothing."""

    word: str
    noticed_by: str
    flaw: str
    seconds: float


@dataclass(frozen=True)
class _MutantRun:
    mutant: Mutant
    folder: Path
    begun: float

    def outcome(self, status: int) -> MutantOutcome:
        """What the process left behind."""
        printed = (self.folder / "printed").read_text("utf-8", "replace")
        named = FAILED_TEST_LINE.search(printed)
        seconds = monotonic() - self.begun
        code = os.waitstatus_to_exitcode(status)
        shutil.rmtree(self.folder, ignore_errors=True)
        if code == PYTEST_FAILED and named:
            return MutantOutcome("killed", named[1].partition("[")[0], "", seconds)
        flaw = {0: "", -signal.SIGALRM: f"longer than {LIMIT_SECONDS} seconds"}.get(code, printed.strip()[-100:])
        return MutantOutcome("SURVIVED" if code == 0 else "flawed", "", flaw, seconds)


def run_all(standing: MutantServer, mutants: Sequence[Mutant], workers: int) -> Iterator[tuple[Mutant, MutantOutcome]]:
    """Each mutant with its outcome, as they end."""
    waiting, running, place = list(mutants), dict[int, tuple[int, _MutantRun]](), own_folder()
    while waiting or running:
        while waiting and len(running) < workers:
            slot = min(set(range(workers)) - {slot for slot, _ in running.values()})
            run = _MutantRun(waiting.pop(0), Path(tempfile.mkdtemp(dir=place)), monotonic())
            running[_start_run(standing, run, slot)] = (slot, run)
        child, status = os.wait()
        _, run = running.pop(child)
        yield run.mutant, run.outcome(status)


def tests_failing_unmutated(standing: MutantServer, tests: Sequence[str]) -> list[str]:
    """Those of these tests that fail with every protection in place too: by failing without one they proved nothing."""
    if not tests:
        return []
    ran = _pytest(PROJECT, _environment(standing, standing.template, f"{PREFIX}_sound"), tests)
    if ran.returncode > PYTEST_FAILED:
        raise RuntimeError(ran.stdout)
    return sorted({name.partition("[")[0] for name in FAILED_TEST_LINE.findall(ran.stdout)})


def _start_run(standing: MutantServer, run: _MutantRun, slot: int) -> int:
    close_connections()
    child = os.fork()
    if child:
        return child
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(LIMIT_SECONDS)
    printed = os.open(run.folder / "printed", os.O_WRONLY | os.O_CREAT)
    os.dup2(printed, sys.stdout.fileno())
    os.dup2(printed, sys.stderr.fileno())
    code = 3
    try:
        code = _run_mutant(standing, run, slot)
    except Exception:  # noqa: BLE001  # whatever it is, the table says it
        traceback.print_exc(file=sys.stdout)
    finally:
        sys.stdout.flush()
        # The parent's server and folders are not this process's to clean up.
        os._exit(code)


def _run_mutant(standing: MutantServer, run: _MutantRun, slot: int) -> int:
    mutant, name = run.mutant, f"{PREFIX}_{slot}"
    if isinstance(mutant, CodeMutant):
        with _mutated_tree(mutant, run.folder) as tree:
            ran = _pytest(tree, _environment(standing, standing.template, name), mutant.tests, "-x")
        sys.stdout.write(ran.stdout)
        return ran.returncode
    template = _mutated_database(standing, mutant.sql, f"{PREFIX}_without_{slot}")
    close_connections()
    os.environ.update(_environment(standing, template, name))
    return int(pytest.main([*OPTIONS, "-x", *mutant.tests], plugins=[_NamedOrder(mutant.tests)]))


class _NamedOrder:
    """The tests in the order they are named; pytest-django would run those that commit last."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._tests = tests

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: next(at for at, name in enumerate(self._tests) if item.nodeid.startswith(name)))


@contextmanager
def _mutated_tree(mutant: CodeMutant, folder: Path) -> Iterator[Path]:
    """A copy of the tree without the protection."""
    tree = folder / "tree"
    shutil.copytree(
        PROJECT,
        tree,
        symlinks=True,
        ignore=shutil.ignore_patterns(".git", ".venv", ".preceptor", ".*_cache", "__pycache__"),
    )
    source = tree / mutant.path
    text = source.read_text("utf-8")
    if text.count(mutant.words) != 1:
        raise LookupError(f"{mutant.path} has these words {text.count(mutant.words)} times")
    source.write_text(text.replace(mutant.words, mutant.instead), "utf-8")
    yield tree


def _mutated_database(standing: MutantServer, statement: str, name: str) -> str:
    """A clone of the template that lacks the protection."""
    clone_database(standing.server, standing.template, name)
    with psycopg.connect(standing.server.url_for("postgres", database=name), autocommit=True) as connection:
        connection.execute(sql.SQL(statement))
    return name


def _environment(standing: MutantServer, template: str, name: str) -> dict[str, str]:
    return {"STANDING_HOME": str(standing.server.home), "STANDING_TEMPLATE": template, "STANDING_NAME": name}


def _pytest(
    tree: Path, environment: dict[str, str], tests: Sequence[str], *options: str
) -> "subprocess.CompletedProcess[str]":
    """The tests of this tree, in a process of their own."""
    close_connections()
    command = [sys.executable, "-m", "pytest", *OPTIONS, *options, *tests]
    return subprocess.run(
        command,
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree), "WHOLE_TESTS": "1"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
