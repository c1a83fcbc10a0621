"""PostgreSQL's client programs: those on the path, or those of the embedded server, if they are new enough."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from apps.launcher.child_processes import CannotStart
from apps.launcher.postgres import embedded_program

# Environment variables of libpq, so that no password is an argument of a command.
_LIBPQ = {
    "host": "PGHOST",
    "port": "PGPORT",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "dbname": "PGDATABASE",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
}
_QUOTED_LINES = 3


class ProgramFailed(Exception):
    """A program is missing, is too old, or failed."""


def run_program(name: str, words: Sequence[str], url: str, *, server_major: int) -> None:
    """Run one of the programs against a database, and wait for it."""
    program = _find_program(name, server_major)
    ran = subprocess.run(  # noqa: S603  # a fixed program with our own arguments
        [str(program), "--no-password", *words],
        env=_libpq_environment(url),
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        stderr_tail = " ".join(ran.stderr.strip().splitlines()[-_QUOTED_LINES:])
        raise ProgramFailed(f"{name} failed with code {ran.returncode}: {stderr_tail or 'it printed nothing'}.")


def _find_program(name: str, server_major: int) -> Path:
    versions = []
    for program in _candidates(name):
        major = _program_major(program)
        if major >= server_major:
            return program
        versions.append(str(major))
    known = f"there is only {name} {', '.join(versions)}" if versions else f"there is no {name}"
    raise ProgramFailed(
        f"The server is PostgreSQL {server_major} and {known} here. Install its client programs (Debian: "
        f"postgresql-client-{server_major}) so that {name} is on the path."
    )


def _candidates(name: str) -> Iterator[Path]:
    if on_path := shutil.which(name):
        yield Path(on_path)
    try:
        yield embedded_program(name)
    except CannotStart:
        return


def _program_major(program: Path) -> int:
    ran = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=False)  # noqa: S603  # found above
    number = re.search(r"\d+", ran.stdout)
    return int(number.group()) if number else 0


def _libpq_environment(url: str) -> dict[str, str]:
    conninfo: Mapping[str, object] = conninfo_to_dict(url)
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return plain | {_LIBPQ[name]: str(value) for name, value in conninfo.items() if name in _LIBPQ}
