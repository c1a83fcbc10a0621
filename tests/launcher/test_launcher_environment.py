"""What the launcher tells the processes about each other."""

import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from apps.launcher.child_processes import CannotStart
from apps.launcher.environment import PartAddresses, ProvidedParts, read_environment, run_databases, write_environment

pytestmark = [pytest.mark.pure, pytest.mark.processes]

ENVIRONMENT_PARTS = PartAddresses(
    database_url="postgresql://login@/preceptor", owner_url="postgresql://postgres@/preceptor", redis_url="redis://r"
)
CONSOLE = "http://127.0.0.1:8000"


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


def write_test_environment(
    home: Path, environ: dict[str, str], standin_url: str | None = "http://127.0.0.1:8010"
) -> dict[str, str]:
    return write_environment(home, ENVIRONMENT_PARTS, console_url=CONSOLE, standin_url=standin_url, environ=environ)


def test_owner_of_the_database_reaches_neither_the_file_nor_what_serves_requests(home: Path) -> None:
    environment = write_test_environment(
        home, {"DATABASE_OWNER_URL": "postgresql://postgres@db/p", "DATABASE_URL": "postgresql://l@db/p"}
    )
    assert "DATABASE_OWNER_URL" not in environment
    assert "DATABASE_OWNER_URL" not in (home / "env").read_text()


def test_plain_commands_find_everything_in_a_private_file(home: Path) -> None:
    environment = write_test_environment(home, {})
    assert read_environment(home) == {name: environment[name] for name in read_environment(home)}
    assert read_environment(home).keys() == {
        "DATABASE_URL",
        "REDIS_URL",
        "SECRET_KEY",
        "SEALING_KEYS",
        "CONSOLE_URL",
        "DEMO_APP",
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_API_KEY",
    }
    assert stat.S_IMODE((home / "env").stat().st_mode) == 0o600


def test_the_secret_key_is_made_once_and_kept(home: Path) -> None:
    first = write_test_environment(home, {})["SECRET_KEY"]
    assert len(first) >= 50
    assert write_test_environment(home, {})["SECRET_KEY"] == first
    assert write_test_environment(home, {"SECRET_KEY": "the user's own"})["SECRET_KEY"] == "the user's own"
    assert read_environment(home)["SECRET_KEY"] == first


def test_what_the_user_sets_wins_and_is_never_copied_to_disk(home: Path) -> None:
    environ = {
        "ANTHROPIC_API_KEY": "sk-secret",
        "DATABASE_URL": "postgresql://me:password@db/p",
        "REDIS_URL": "redis://mine",
    }
    environment = write_test_environment(home, environ, standin_url=None)
    assert {name: environment[name] for name in environ} == environ
    assert "ANTHROPIC_BASE_URL" not in environment
    kept = (home / "env").read_text()
    assert not any(value in kept for value in environ.values())


def test_the_file_forgets_a_stand_in_that_is_no_longer_used(home: Path) -> None:
    write_test_environment(home, {})
    write_test_environment(home, {"ANTHROPIC_API_KEY": "sk-secret"}, standin_url=None)
    assert "ANTHROPIC_BASE_URL" not in read_environment(home)


def test_loopback_is_never_asked_of_a_proxy(home: Path) -> None:
    assert write_test_environment(home, {"no_proxy": "intranet"})["NO_PROXY"] == "intranet,127.0.0.1,localhost"


@pytest.mark.parametrize(
    ("environ", "given"),
    [
        ({}, ProvidedParts(database=False, redis=False, model=False)),
        ({"DATABASE_URL": "a", "DATABASE_OWNER_URL": "b"}, ProvidedParts(database=True, redis=False, model=False)),
        ({"REDIS_URL": "r"}, ProvidedParts(database=False, redis=True, model=False)),
        ({"ANTHROPIC_API_KEY": "k"}, ProvidedParts(database=False, redis=False, model=True)),
        ({"ANTHROPIC_BASE_URL": "u"}, ProvidedParts(database=False, redis=False, model=True)),
        ({"REDIS_URL": "", "ANTHROPIC_API_KEY": ""}, ProvidedParts(database=False, redis=False, model=False)),
    ],
)
def test_each_part_is_replaced_by_itself(environ: dict[str, str], given: ProvidedParts) -> None:
    assert ProvidedParts.by(environ) == given


@pytest.mark.parametrize("half", ["DATABASE_URL", "DATABASE_OWNER_URL"])
def test_half_a_database_is_refused_in_words(half: str) -> None:
    with pytest.raises(CannotStart, match="go together"):
        ProvidedParts.by({half: "postgresql://db/preceptor"})


@pytest.mark.slow
def test_the_embedded_database_is_there_to_log_in_to(home: Path) -> None:
    with run_databases(home, throwaway=True, environ={}) as parts:
        with psycopg.connect(parts.owner_url) as connection:
            row = connection.execute("SELECT current_database(), current_user").fetchone()
        assert row == ("preceptor", "postgres")
        assert parts.database_url.startswith("postgresql://preceptor_login@/preceptor?host=")
        assert parts.redis_url.startswith("redis+socket:///")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(parts.owner_url)


def test_a_database_of_the_users_own_is_used_and_none_is_started(home: Path) -> None:
    environ = {
        "DATABASE_URL": "postgresql://a@db/p",
        "DATABASE_OWNER_URL": "postgresql://b@db/p",
        "REDIS_URL": "redis://r",
    }
    with run_databases(home, environ=environ) as parts:
        assert parts == PartAddresses(
            database_url="postgresql://a@db/p", owner_url="postgresql://b@db/p", redis_url="redis://r"
        )
    assert not (home / "postgres").exists()
    assert not (home / "valkey").exists()
