"""The embedded Valkey: real servers in homes of their own."""

import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from apps.launcher.child_processes import wait_until
from apps.launcher.data_folders import PROJECT
from apps.launcher.valkey import Valkey

pytestmark = [pytest.mark.pure, pytest.mark.processes]

START_AND_SAY_READY = """
import sys, time
from pathlib import Path
from apps.launcher.valkey import Valkey
Valkey(Path(sys.argv[1])).start()
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        yield Path(folder)


@pytest.fixture
def valkey(home: Path) -> Iterator[Valkey]:
    server = Valkey(home)
    server.start()
    yield server
    server.stop()


def client(server: Valkey) -> redis.Redis:
    return redis.Redis.from_url(server.client_url, decode_responses=True)


def test_messages_of_an_earlier_start_are_kept(valkey: Valkey) -> None:
    with client(valkey) as connection:
        connection.lpush("celery", "a task")
    valkey.stop()
    assert not valkey.is_running()
    valkey.start()
    with client(valkey) as connection:
        assert connection.lrange("celery", 0, -1) == ["a task"]


def test_no_message_is_evicted_and_no_port_is_opened(home: Path, valkey: Valkey) -> None:
    with client(valkey) as connection:
        settings = connection.config_get("*")
    assert settings["maxmemory-policy"] == "noeviction"
    assert (settings["appendonly"], settings["appendfsync"], settings["port"]) == ("yes", "everysec", "0")
    assert stat.S_IMODE((home / "valkey").stat().st_mode) == 0o700


def test_celery_and_redis_py_are_told_the_same_socket(home: Path, valkey: Valkey) -> None:
    assert valkey.url == f"redis+socket://{home}/valkey/valkey.sock"
    assert valkey.client_url == f"unix://{home}/valkey/valkey.sock"


def test_a_second_start_attaches_and_never_stops_the_first(home: Path, valkey: Valkey) -> None:
    second = Valkey(home)
    second.start()
    assert not second.is_ours
    second.stop()
    assert valkey.is_running()


def test_killing_the_starter_leaves_no_orphan_and_the_next_start_works(home: Path) -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", START_AND_SAY_READY, str(home)], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    assert starter.stdout.readline() == "ready\n"
    server = Valkey(home)
    assert server.is_running()
    starter.kill()
    starter.communicate()
    assert wait_until(lambda: not server.is_running(), 10)
    server.start()
    assert server.is_ours
    server.stop()
