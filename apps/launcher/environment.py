"""The environment of the child processes: the user's own variables first, then the addresses of the embedded parts."""

import base64
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from apps.launcher.child_processes import CannotStart
from apps.launcher.data_folders import make_home
from apps.launcher.postgres import SUPERUSER, Postgres
from apps.launcher.valkey import Valkey

DATABASE = "preceptor"
LOGIN_ROLE = "preceptor_login"
OWNER_URL_VARIABLE = "DATABASE_OWNER_URL"
STANDIN_KEY = "stand-in"
# Generated once and kept, even if the environment currently sets these variables.
GENERATED_KEYS = ("SECRET_KEY", "SEALING_KEYS")
HEADER = (
    "# Written by the launcher for plain manage.py commands. Variables of your own environment win over this file.\n"
)


@dataclass(frozen=True, slots=True)
class PartAddresses:
    """The addresses of the database and the broker, embedded or the user's own."""

    database_url: str
    owner_url: str
    redis_url: str


@dataclass(frozen=True, slots=True)
class ProvidedParts:
    """The parts that the user's environment provides."""

    database: bool
    redis: bool
    model: bool

    @classmethod
    def by(cls, environ: Mapping[str, str]) -> "ProvidedParts":
        login, owner = environ.get("DATABASE_URL", ""), environ.get("DATABASE_OWNER_URL", "")
        if bool(login) != bool(owner):
            raise CannotStart(
                "DATABASE_URL and DATABASE_OWNER_URL go together: the first logs the product in, the second creates "
                "its roles and tables. Set both to use a PostgreSQL of your own, or neither to use the embedded one."
            )
        model = environ.get("ANTHROPIC_API_KEY") or environ.get("ANTHROPIC_BASE_URL")
        return cls(database=bool(login), redis=bool(environ.get("REDIS_URL")), model=bool(model))


@contextmanager
def run_databases(
    home: Path, *, throwaway: bool = False, environ: Mapping[str, str] = os.environ
) -> Iterator[PartAddresses]:
    """Run the parts that the environment does not provide. When the block ends, stop those started by this call."""
    given = ProvidedParts.by(environ)
    postgres = None if given.database else Postgres(home, throwaway)
    valkey = None if given.redis else Valkey(home, throwaway)
    embedded: list[Postgres | Valkey] = [part for part in (postgres, valkey) if part]
    with ExitStack() as running:
        for part in embedded:
            running.callback(part.stop)
            part.start()
        yield addresses_of_parts(postgres, valkey, environ)


def addresses_of_parts(postgres: Postgres | None, valkey: Valkey | None, environ: Mapping[str, str]) -> PartAddresses:
    """Return the addresses of the running parts, after creating the embedded database if it does not exist."""
    if postgres:
        create_database(postgres.url)
    return PartAddresses(
        database_url=postgres.url_for(LOGIN_ROLE, database=DATABASE) if postgres else environ["DATABASE_URL"],
        owner_url=postgres.url_for(SUPERUSER, database=DATABASE) if postgres else environ["DATABASE_OWNER_URL"],
        redis_url=valkey.url if valkey else environ["REDIS_URL"],
    )


def create_database(superuser_url: str) -> None:
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
        if found is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))


def write_environment(
    home: Path,
    parts: PartAddresses,
    *,
    console_url: str,
    standin_url: str | None,
    environ: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """Choose the values missing from the user's environment, write them to `<home>/env`, and return the children's environment.

    Values of the user's environment, including passwords and keys, are never copied to the file. Neither the file nor the
    returned environment names the database owner, because a process that serves requests must not be able to become the owner.
    `owner_environment` adds the owner for commands that create tables.
    """
    chosen = {
        "DATABASE_URL": parts.database_url,
        "REDIS_URL": parts.redis_url,
        "SECRET_KEY": read_environment(home).get("SECRET_KEY") or secrets.token_urlsafe(48),
        "SEALING_KEYS": read_environment(home).get("SEALING_KEYS") or _sealing_key(),
        "CONSOLE_URL": console_url,
        "DEMO_APP": "true",
    }
    if standin_url:
        chosen |= {"ANTHROPIC_BASE_URL": standin_url, "ANTHROPIC_API_KEY": STANDIN_KEY}
    kept = {name: value for name, value in chosen.items() if name in GENERATED_KEYS or not environ.get(name)}
    _write_private(make_home(home) / "env", HEADER + "".join(f"{name}='{value}'\n" for name, value in kept.items()))
    given = {name: value for name, value in environ.items() if value and name != OWNER_URL_VARIABLE}
    return {**kept, **given, "PRECEPTOR_HOME": str(home), "NO_PROXY": _no_proxy_hosts(environ)}


def _sealing_key() -> str:
    """Return a new key: thirty-two random bytes in the encoding of a Fernet key."""
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()


def owner_environment(parts: PartAddresses) -> dict[str, str]:
    """Return the additional variables for a command that creates roles and tables."""
    return {OWNER_URL_VARIABLE: parts.owner_url}


def _no_proxy_hosts(environ: Mapping[str, str]) -> str:
    # The machine's proxy must not be used for servers on the same machine.
    named = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    return ",".join(filter(None, (named, "127.0.0.1", "localhost")))


def read_environment(home: Path) -> dict[str, str]:
    """Return the values chosen by an earlier start; empty before the first start."""
    file = home / "env"
    if not file.exists():
        return {}
    lines = (line.partition("=") for line in file.read_text().splitlines() if not line.startswith("#"))
    return {name: value.strip("'") for name, _, value in lines if name}


def _write_private(file: Path, text: str) -> None:
    # Renamed into place, so that a manage.py that starts meanwhile reads either the old file or the new one.
    unfinished = file.with_suffix(f".{os.getpid()}")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
        handle.write(text)
    unfinished.rename(file)
