"""`python -m tests.proof_mutants` takes each protection away in turn and expects tests to fail.

A mutant of the database is SQL on a clone of the template; one of the code is a change in a copy of the tree. It prints a
table and ends with an error if tests passed without a protection, or a change no longer fits the code.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

import psycopg  # noqa: E402  # after Django's set-up
from psycopg import sql  # noqa: E402

from apps.launcher.postgres import Postgres  # noqa: E402
from tests.conftest import clone_database, close_connections, make_template, throwaway_server  # noqa: E402
from tests.governance.mutants import CODE, CodeMutant, DatabaseMutant, database_mutants  # noqa: E402
from tests.settings import PREFIX  # noqa: E402

ROOT = Path(__file__).parents[1]
LIMIT_SECONDS = 600
FAILED = 1


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proof_mutants")
    parser.add_argument("--quick", action="store_true", help="only one mutant of each kind")
    parser.add_argument("--only", default="", help="mutants whose kind or name has this in it")
    options = parser.parse_args(arguments)
    survived: Counter[str] = Counter()
    with throwaway_server() as server:
        template = make_template(server)
        clone_database(server, template, PREFIX)
        mutants: list[DatabaseMutant | CodeMutant] = [*CODE, *database_mutants()]
        close_connections()
        chosen = [each for each in mutants if options.only in f"{each.kind} {each.name}"]
        chosen = list({each.kind: each for each in chosen}.values()) if options.quick else chosen
        print(f"{'protection':14} {'without':60} {'outcome':17} {'seconds':>7}", flush=True)
        # Tests that fail with every protection in place would prove nothing by failing without one.
        sound = {tests: _tests(ROOT, server, template, tests) == 0 for tests in dict.fromkeys(m.tests for m in chosen)}
        for mutant in chosen:
            begun = monotonic()
            outcome = _outcome(server, template, mutant) if sound[mutant.tests] else "tests fail anyway"
            survived[outcome] += 1
            print(f"{mutant.kind:14} {mutant.name[:60]:60} {outcome:17} {monotonic() - begun:7.1f}", flush=True)
    print(f"{survived['killed']} of {len(chosen)} mutants were noticed.")
    return int(survived["killed"] != len(chosen))


def _outcome(server: Postgres, template: str, mutant: DatabaseMutant | CodeMutant) -> str:
    """Killed where tests failed; a run that could not be, or took too long, proves nothing."""
    try:
        if isinstance(mutant, CodeMutant):
            with _changed(mutant) as tree:
                code = _tests(tree, server, template, mutant.tests)
        else:
            code = _tests(ROOT, server, _without(server, template, mutant.sql), mutant.tests)
    except (LookupError, psycopg.Error, subprocess.TimeoutExpired) as flaw:
        return f"{type(flaw).__name__}: {flaw}"[:60]
    return {0: "SURVIVED", FAILED: "killed"}.get(code, f"pytest: {code}")


@contextmanager
def _changed(mutant: CodeMutant) -> Iterator[Path]:
    """A copy of the tree without the protection."""
    folder = Path(tempfile.mkdtemp(prefix="pcp-"))
    tree = folder / "tree"
    try:
        shutil.copytree(
            ROOT, tree, symlinks=True, ignore=shutil.ignore_patterns(".git", ".venv", ".preceptor", ".*_cache")
        )
        source = tree / mutant.path
        text = source.read_text("utf-8")
        if text.count(mutant.words) != 1:
            raise LookupError(f"{mutant.path} has these words {text.count(mutant.words)} times")
        source.write_text(text.replace(mutant.words, mutant.instead), "utf-8")
        yield tree
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _without(server: Postgres, template: str, statement: str) -> str:
    """A clone of the template that lacks the protection."""
    name = f"{PREFIX}_mutant"
    clone_database(server, template, name)
    with psycopg.connect(server.url_for("postgres", database=name), autocommit=True) as connection:
        connection.execute(sql.SQL(statement))
    return name


def _tests(tree: Path, server: Postgres, template: str, selection: Sequence[str]) -> int:
    """How the tests end on this template, from this tree."""
    close_connections()
    environment = os.environ | {
        "STANDING_HOME": str(server.home),
        "STANDING_TEMPLATE": template,
        "PYTHONPATH": str(tree),
    }
    options = ("-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", "--no-header", "--tb=no")
    command = [sys.executable, "-m", "pytest", *options, *selection]
    ran = subprocess.run(command, cwd=tree, env=environment, timeout=LIMIT_SECONDS, capture_output=True, check=False)
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
