"""The embedded PostgreSQL: real servers in homes of their own."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from apps.launcher import data_folders
from apps.launcher.child_processes import CannotStart, is_alive, wait_until
from apps.launcher.data_folders import PROJECT
from apps.launcher.postgres import Postgres

pytestmark = [pytest.mark.pure, pytest.mark.processes]

START_AND_SAY_READY = """
import sys, time
from pathlib import Path
from apps.launcher.postgres import Postgres
Postgres(Path(sys.argv[1])).start()
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that everybody may pass through, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Path]:
    """A cluster as its first start leaves it: making one takes longer than most tests of it."""
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        Path(folder).chmod(0o711)
        server = Postgres(Path(folder))
        server.start()
        server.stop()
        yield Path(folder) / "postgres"


@pytest.fixture
def used_home(home: Path, cluster: Path) -> Path:
    """A home in which a server has been before."""
    subprocess.run(["cp", "-a", cluster, home], check=True)
    return home


@pytest.fixture
def postgres(used_home: Path) -> Iterator[Postgres]:
    server = Postgres(used_home)
    server.start()
    yield server
    server.stop()


def query_value(server: Postgres, question: str) -> object:
    with psycopg.connect(server.url, autocommit=True) as connection:
        row = connection.execute(question.encode()).fetchone()
    return row[0] if row else None


def execute_statement(server: Postgres, statement: str) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(statement.encode())


def server_process_id(home: Path) -> int:
    return int((home / "postgres" / "data" / "postmaster.pid").read_text().splitlines()[0])


def test_data_of_an_earlier_start_is_kept(postgres: Postgres) -> None:
    execute_statement(postgres, "CREATE TABLE kept AS SELECT 42 AS answer")
    postgres.stop()
    assert not postgres.is_running()
    postgres.start()
    assert query_value(postgres, "SELECT answer FROM kept") == 42


def test_kept_data_is_written_durably_and_no_port_is_opened(postgres: Postgres) -> None:
    assert query_value(postgres, "SHOW fsync") == "on"
    assert query_value(postgres, "SHOW listen_addresses") == ""
    assert str(query_value(postgres, "SHOW server_version")).startswith("18.")
    assert query_value(postgres, "SHOW server_encoding") == "UTF8"
    assert query_value(postgres, "SELECT lower('ÄÉ')") == "äé"


def test_only_the_owner_may_reach_the_socket(home: Path, postgres: Postgres) -> None:
    folder = home / "postgres"
    assert postgres.url.endswith(f"host={folder}")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_server_never_runs_as_root(home: Path, postgres: Postgres) -> None:
    assert postgres.is_running()
    assert (home / "postgres" / "data").stat().st_uid != 0


def test_a_second_start_attaches_and_never_stops_the_first(home: Path, postgres: Postgres) -> None:
    second = Postgres(home)
    second.start()
    assert not second.is_ours
    second.stop()
    assert postgres.is_running()


@pytest.mark.slow
def test_a_throwaway_cluster_is_fast_and_leaves_nothing_but_kept_data_beside_it(home: Path, postgres: Postgres) -> None:
    execute_statement(postgres, "CREATE TABLE kept AS SELECT 42 AS answer")
    throwaway = Postgres(home, throwaway=True)
    throwaway.start()
    assert throwaway.url != postgres.url
    assert query_value(throwaway, "SHOW fsync") == "off"
    assert query_value(throwaway, "SHOW synchronous_commit") == "off"
    throwaway.stop()
    assert not (home / "throwaway").exists()
    assert query_value(postgres, "SELECT answer FROM kept") == 42


@pytest.mark.slow
def test_killing_the_starter_leaves_no_orphan_and_the_next_start_works(used_home: Path) -> None:
    home = used_home
    starter = subprocess.Popen(
        [sys.executable, "-c", START_AND_SAY_READY, str(home)], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    assert starter.stdout.readline() == "ready\n"
    orphan = server_process_id(home)
    starter.kill()
    starter.communicate()
    next_start = Postgres(home)
    next_start.start()
    try:
        assert next_start.is_ours
        assert wait_until(lambda: not is_alive(orphan), 10)
    finally:
        next_start.stop()


def test_a_killed_server_starts_again_with_its_data(home: Path, postgres: Postgres) -> None:
    execute_statement(postgres, "CREATE TABLE kept AS SELECT 42 AS answer")
    os.kill(server_process_id(home), signal.SIGKILL)
    assert wait_until(lambda: not postgres.is_running(), 10)
    postgres.start()
    assert query_value(postgres, "SELECT answer FROM kept") == 42


@pytest.mark.slow
def test_a_killed_server_starts_again_once_its_last_process_has_gone(home: Path, postgres: Postgres) -> None:
    execute_statement(postgres, "CREATE TABLE kept AS SELECT 42 AS answer")
    checkpointer = query_value(postgres, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'")
    assert isinstance(checkpointer, int)
    # A process that does not notice its server's end keeps the shared memory that a new server needs.
    os.kill(checkpointer, signal.SIGSTOP)
    os.kill(server_process_id(home), signal.SIGKILL)
    assert wait_until(lambda: not postgres.is_running(), 10)
    later = threading.Timer(1.5, os.kill, (checkpointer, signal.SIGCONT))
    later.start()
    try:
        postgres.start()
    finally:
        later.join()
    assert query_value(postgres, "SELECT answer FROM kept") == 42
    assert "pre-existing shared memory block" in postgres.log.read_text()


def test_only_what_the_present_try_says_is_a_reason_to_try_again(home: Path, postgres: Postgres) -> None:
    postgres.stop()
    with postgres.log.open("a") as log:
        log.write("FATAL:  pre-existing shared memory block is still in use\n")
    with (home / "postgres" / "data" / "postgresql.conf").open("a") as settings:
        settings.write("no_such_setting = 1\n")
    with pytest.raises(CannotStart, match="no_such_setting"):
        postgres.start()
    assert postgres.log.read_text().count("no_such_setting") == 1


def test_a_stale_process_number_that_another_program_has_is_no_obstacle(home: Path, postgres: Postgres) -> None:
    postgres.stop()
    stale = home / "postgres" / "data" / "postmaster.pid"
    stale.write_text(f"{os.getpid()}\n{stale.parent}\n1700000000\n5432\n{home}\n\n0 0\nready\n")
    postgres.start()
    assert postgres.is_running()


@pytest.mark.slow
def test_an_interrupted_first_start_is_no_obstacle(home: Path) -> None:
    half_made = home / "postgres" / "data.new"
    half_made.mkdir(parents=True)
    (half_made / "PG_VERSION").write_text("18\n")
    server = Postgres(home)
    server.start()
    assert query_value(server, "SELECT 1") == 1
    server.stop()


def test_data_of_another_major_version_is_refused_in_words(home: Path) -> None:
    server = Postgres(home)
    old = home / "postgres" / "data"
    old.mkdir()
    (old / "PG_VERSION").write_text("16\n")
    with pytest.raises(CannotStart, match="written by PostgreSQL 16"):
        server.start()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["deep-" * 30, "with a space, and a comma"])
def test_a_home_whose_path_no_socket_can_have_still_works(home: Path, name: str) -> None:
    server = Postgres(home / name, throwaway=True)
    server.start()
    try:
        assert query_value(server, "SELECT 1") == 1
    finally:
        server.stop()


@pytest.mark.slow
def test_nobodys_directory_is_opened_wider(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root's PostgreSQL cannot pass a private folder: its data then lies outside, and a link says where."""
    monkeypatch.setattr(data_folders, "SYSTEM_STATE", home / "state")
    private = home / "private"
    private.mkdir(mode=0o700)
    server = Postgres(private / "home")
    server.start()
    try:
        assert query_value(server, "SELECT 1") == 1
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
        assert (private / "home" / "elsewhere").is_symlink() == (os.geteuid() == 0)
    finally:
        server.stop()


def test_a_folder_somebody_else_made_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_folders, "LONGEST_SOCKET_PATH_BYTES", 80)
    monkeypatch.setattr(tempfile, "tempdir", str(home))
    deep = home / ("d" * 60)
    Postgres(deep)
    short = next(home.glob("preceptor-*"))
    short.rmdir()
    short.symlink_to(tempfile.gettempdir())
    with pytest.raises(CannotStart, match="belongs to another user"):
        Postgres(deep)
