"""Processes that start, stay and stop together: real children, killed for real."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.launcher.__main__ import main
from apps.launcher.child_processes import WATCHDOG_SCRIPT, CannotStart, is_alive, spawn_child, stop_child, wait_until
from apps.launcher.data_folders import PROJECT
from apps.launcher.demo import Seed
from apps.launcher.supervisor import (
    HOST,
    PartStopped,
    Program,
    Supervisor,
    answers_http,
    free_port,
    log_contains,
    python_command,
    reserve_port,
)
from tests.support.timeouts import PATIENCE_SECONDS

pytestmark = [pytest.mark.pure, pytest.mark.processes]

SLEEPING_SCRIPT = "import os, time; print(os.getpid(), 'ready to work', flush=True); time.sleep(600)"
UNSTOPPABLE_SCRIPT = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + SLEEPING_SCRIPT
SUPERVISE = f"""
import os, sys, time
from pathlib import Path
from apps.launcher.supervisor import Program, Supervisor, log_contains, python_command
supervisor = Supervisor(Path(sys.argv[1]), os.environ)
for name in ("first", "second"):
    program = Program(name, python_command("-c", {UNSTOPPABLE_SCRIPT!r}), log_contains("ready"))
    supervisor.start(program)
    supervisor.await_ready(program)
print(*(child.pid for child in supervisor._running), flush=True)
time.sleep(600)
"""


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


def program(name: str, source: str, words: str = "ready to work") -> Program:
    return Program(name, python_command("-c", source), log_contains(words))


def test_a_program_is_ready_when_its_log_says_so_and_ends_with_the_supervisor(home: Path) -> None:
    with Supervisor(home / "log", os.environ) as supervisor:
        sleeper = start_sleeper(supervisor, home)
        assert is_alive(sleeper)
    assert not is_alive(sleeper)


def test_programs_stop_in_reverse_order(home: Path) -> None:
    diary = home / "diary"
    # Waited for, not handled: a signal that comes between a handler's look and the sleep would be seen after the sleep.
    source = (
        "import signal\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGTERM}})\n"
        "print('ready to work', flush=True)\n"
        "signal.sigwait({{signal.SIGTERM}})\n"
        "open({diary!r}, 'a').write({name!r} + ' ')"
    )
    with Supervisor(home / "log", os.environ) as supervisor:
        for name in ("web", "worker", "beat"):
            one = program(name, source.format(diary=str(diary), name=name))
            supervisor.start(one)
            supervisor.await_ready(one)
    assert diary.read_text() == "beat worker web "


def test_a_program_that_ends_stops_the_others_and_shows_the_end_of_its_log(home: Path) -> None:
    with Supervisor(home / "log", os.environ) as supervisor:
        sleeper = start_sleeper(supervisor, home)
        supervisor.start(program("broken", "print('out of paper'); raise SystemExit(3)"))
        with pytest.raises(PartStopped, match=r"(?s)broken ended with code 3.*out of paper"):
            supervisor.watch()
    assert not is_alive(sleeper)


def test_the_end_of_a_database_is_noticed(home: Path) -> None:
    database = spawn_child(python_command("-c", SLEEPING_SCRIPT), when_orphaned=signal.SIGKILL)
    with Supervisor(home / "log", os.environ) as supervisor:
        supervisor.watch_over("PostgreSQL", database, home / "none.log")
        database.kill()
        with pytest.raises(PartStopped, match="PostgreSQL ended with code -9"):
            supervisor.watch()


def test_a_command_that_fails_says_why(home: Path) -> None:
    with Supervisor(home / "log", os.environ) as supervisor:
        assert supervisor.run("greet", python_command("-c", "print('hello')")) == "hello\n"
        with pytest.raises(CannotStart, match=r"(?s)migrate failed with code 1.*no such table"):
            supervisor.run("migrate", python_command("-c", "raise SystemExit('no such table')"))


def test_what_a_command_prints_does_not_stay_on_disk(home: Path) -> None:
    with Supervisor(home / "log", os.environ) as supervisor:
        supervisor.run("seed", python_command("-c", "print('the password')"))
    assert not any("the password" in log.read_text() for log in (home / "log").iterdir())


def test_the_code_of_a_played_command_is_returned(home: Path) -> None:
    with Supervisor(home / "log", os.environ) as supervisor:
        assert (
            supervisor.play(python_command("-c", "import os; raise SystemExit(int(os.environ['CODE']))"), {"CODE": "4"})
            == 4
        )


def test_a_child_that_ignores_the_request_is_killed() -> None:
    child = spawn_child(python_command("-c", UNSTOPPABLE_SCRIPT), when_orphaned=signal.SIGKILL)
    stop_child(child, signal.SIGTERM, grace_seconds=0.3)
    assert child.returncode is not None


@pytest.mark.slow
def test_killing_the_supervisor_leaves_no_orphan(home: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", SUPERVISE, str(home / "log")], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    children = [int(word) for word in parent.stdout.readline().split()]
    assert len(children) == 2
    assert all(is_alive(child) for child in children)
    parent.kill()
    parent.communicate()
    assert wait_until(lambda: not any(is_alive(child) for child in children), 10)


def test_the_guardian_ends_a_child_whose_parent_was_killed() -> None:
    """What stands in for the parent-death signal on macOS, where the kernel has none."""
    orphan = subprocess.Popen(python_command("-c", SLEEPING_SCRIPT), stdout=subprocess.DEVNULL)
    numbers = f"str(os.getpid()), '{orphan.pid}', '{int(signal.SIGTERM)}'"
    source = (
        "import os, subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-I', {str(WATCHDOG_SCRIPT)!r}, {numbers}])\n"
        "print('guarded', flush=True)\ntime.sleep(600)"
    )
    parent = subprocess.Popen(python_command("-c", source), stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "guarded\n"
    assert orphan.poll() is None
    parent.kill()
    parent.communicate()
    assert orphan.wait(PATIENCE_SECONDS) == -signal.SIGTERM


def test_parts_are_not_started_from_a_thread_that_may_end_first() -> None:
    refusals: list[str] = []

    def start() -> None:
        try:
            spawn_child(python_command("-c", SLEEPING_SCRIPT), when_orphaned=signal.SIGKILL)
        except CannotStart as refusal:
            refusals.append(str(refusal))

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert refusals == ["Start the parts from the main thread: they end together with the thread that started them."]


def test_a_busy_port_is_replaced_by_a_free_one() -> None:
    with socket.create_server((HOST, 0)) as taken:
        busy = taken.getsockname()[1]
        assert free_port(busy) != busy
    assert free_port(busy) == busy


def test_two_launchers_that_start_together_take_different_ports() -> None:
    preferred = free_port(0)
    with reserve_port(preferred) as first, reserve_port(preferred) as second:
        assert first == preferred
        assert second not in {0, preferred}
        # Nothing listens there yet, as while a demo prepares its database.
        assert free_port(preferred) == preferred
    with reserve_port(preferred) as again:
        assert again == preferred


def test_a_web_server_is_ready_when_it_answers(home: Path) -> None:
    port = free_port(0)
    web = Program(
        "web", python_command("-m", "http.server", str(port), "--bind", HOST), answers_http(f"http://{HOST}:{port}/")
    )
    assert not web.is_ready(home)
    with Supervisor(home / "log", os.environ) as supervisor:
        supervisor.start(web)
        supervisor.await_ready(web)


@pytest.mark.slow
def test_run_gives_a_command_the_databases_and_returns_its_code(home: Path) -> None:
    source = (
        "import os, psycopg\n"
        "print(psycopg.connect(os.environ['DATABASE_OWNER_URL']).execute('SELECT current_database()').fetchone()[0])\n"
        "raise SystemExit(7)"
    )
    ran = launch(home, "run", "--", sys.executable, "-W", "ignore", "-c", source)
    assert (ran.returncode, ran.stdout) == (7, "preceptor\n"), ran.stderr
    assert not (home / "postgres" / "data" / "postmaster.pid").exists()


def test_a_second_demo_in_the_same_home_is_refused(home: Path) -> None:
    with (home / "demo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused = launch(home, "demo", "--once")
    assert refused.returncode == 1
    assert "A demo runs in" in refused.stderr


@pytest.mark.slow
def test_terminating_the_launcher_stops_what_it_started(home: Path) -> None:
    launcher = subprocess.Popen(
        python_command("-m", "apps.launcher", "run", "--", sys.executable, "-c", SLEEPING_SCRIPT),
        cwd=PROJECT,
        env=plain_environment(home),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert launcher.stdout is not None
    command = int(launcher.stdout.readline().split()[0])
    launcher.terminate()
    launcher.communicate(timeout=PATIENCE_SECONDS)
    assert launcher.returncode == 128 + signal.SIGTERM
    assert not is_alive(command)
    assert not (home / "postgres" / "data" / "postmaster.pid").exists()


def test_an_unknown_act_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["fly"])
    assert "invalid choice" in capsys.readouterr().err


def test_the_seed_is_the_last_line_of_what_was_printed() -> None:
    printed = 'Seeding.\n{"operator_login": "ada", "token": "t", "tenant": "acme", "agent": "support", "extra": 1}\n'
    assert Seed.parse(printed) == Seed("ada", None, None, "t", "acme", "support")


def launch(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = python_command("-m", "apps.launcher", *words)
    return subprocess.run(
        command,
        cwd=PROJECT,
        env=plain_environment(home),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def plain_environment(home: Path) -> dict[str, str]:
    parts = ("DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
    return {name: value for name, value in os.environ.items() if name not in parts} | {"PRECEPTOR_HOME": str(home)}


def start_sleeper(supervisor: Supervisor, home: Path) -> int:
    sleeper = program("sleeper", SLEEPING_SCRIPT)
    supervisor.start(sleeper)
    supervisor.await_ready(sleeper)
    return int((home / "log" / "sleeper.log").read_text().split()[0])
