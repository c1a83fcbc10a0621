"""`make demo`: starts everything on one machine, prints a box with the addresses, and plays the story against it."""

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from apps.launcher.child_processes import CannotStart
from apps.launcher.data_folders import hold_file_lock, make_home
from apps.launcher.environment import ProvidedParts, addresses_of_parts, owner_environment, write_environment
from apps.launcher.postgres import Postgres
from apps.launcher.progress import LauncherProgress
from apps.launcher.supervisor import HOST, Program, Supervisor, answers_http, log_contains, python_command, reserve_port
from apps.launcher.valkey import Valkey

STANDIN_PORT = 8010
WORKER_THREADS = 8
Embedded = dict[str, Postgres | Valkey | None]


@dataclass(frozen=True, slots=True)
class Seed:
    """The result of `manage.py seed_demo --json`: the accounts that can log in, and their passwords or links."""

    operator_login: str
    operator_password: str | None
    login_link_path: str | None
    token: str
    tenant: str
    agent: str

    @classmethod
    def parse(cls, printed: str) -> "Seed":
        values = json.loads(printed.strip().splitlines()[-1])
        return cls(**{name: values.get(name) for name in cls.__slots__})


def run_demo(home: Path, *, once: bool, preferred_port: int) -> int:
    """Start everything, play the story, and keep running until a signal arrives; with `once`, return the story's exit code."""
    progress, given = LauncherProgress(), ProvidedParts.by(os.environ)
    with ExitStack() as running:
        _take_demo_lock(make_home(home), running)
        postgres, valkey = None if given.database else Postgres(home), None if given.redis else Valkey(home)
        embedded: Embedded = {"PostgreSQL": postgres, "Valkey": valkey}
        _start_databases(embedded, running, progress)
        parts = addresses_of_parts(postgres, valkey, os.environ)
        console_url = _reserve_address("console", preferred_port, running, progress)
        standin_url = None if given.model else _reserve_address("stand-in model", STANDIN_PORT, running, progress)
        env = write_environment(home, parts, console_url=console_url, standin_url=standin_url)
        supervisor = running.enter_context(Supervisor(home / "log", env))
        _watch_databases(embedded, supervisor)
        if standin_url:
            supervisor.start(_standin_program(standin_url))
        _set_up_database(supervisor, progress, owner_environment(parts))
        seed = _start_programs(supervisor, progress, home, console_url, standin_url)
        _show_box(progress, seed, console_url, standin_url)
        code = supervisor.play(python_command("-m", "apps.demo.story"), _story_environment(seed, console_url))
        if once:
            return code
        progress.say(_closing_sentence(code, console_url))
        try:
            supervisor.watch()
        except KeyboardInterrupt:
            progress.say("Stopping.")
    return code


def _take_demo_lock(home: Path, running: ExitStack) -> None:
    # Two demos in one home would run two workers and two beat processes on one database.
    try:
        running.enter_context(hold_file_lock(home / "demo.lock", wait=False))
    except BlockingIOError:
        raise CannotStart(
            f"A demo runs in {home} already. Stop it, or set PRECEPTOR_HOME to another folder for a second one."
        ) from None


def _start_databases(embedded: Embedded, running: ExitStack, progress: LauncherProgress) -> None:
    for name, part in embedded.items():
        if part is None:
            progress.say(f"{name}: taken from your environment.")
            continue
        running.callback(part.stop)
        with progress.step(name):
            part.start()


def _watch_databases(embedded: Embedded, supervisor: Supervisor) -> None:
    for name, part in embedded.items():
        if part and part.child:
            supervisor.watch_over(name, part.child, part.log)


def _set_up_database(supervisor: Supervisor, progress: LauncherProgress, owner: Mapping[str, str]) -> None:
    with progress.step("Tables and roles", "done"):
        supervisor.run("setup_database", python_command("manage.py", "setup_database"), owner)


def _start_programs(
    supervisor: Supervisor, progress: LauncherProgress, home: Path, console_url: str, standin_url: str | None
) -> Seed:
    """Start web, worker and beat, each once the previous one is ready, while the content is created."""
    programs = [_web_program(console_url), _worker_program(), _beat_program(home)]
    for program in programs:
        supervisor.start(program)
    with progress.step("Demo content", "done"):
        # No price list contains the stand-in. A real model must never be billed at example prices.
        prices = ("--example-prices",) if standin_url else ()
        seed = Seed.parse(supervisor.run("seed_demo", python_command("manage.py", "seed_demo", "--json", *prices)))
    for program in [_standin_program(standin_url), *programs] if standin_url else programs:
        with progress.step(program.name):
            supervisor.await_ready(program)
    return seed


def _standin_program(url: str) -> Program:
    command = python_command("-m", "apps.standin", "--port", url.rpartition(":")[2])
    return Program("stand-in", command, answers_http(f"{url}/healthz"))


def _web_program(url: str) -> Program:
    listening = ("--host", HOST, "--port", url.rpartition(":")[2])
    manners = ("--lifespan", "on", "--http", "h11", "--ws", "none", "--timeout-graceful-shutdown", "5")
    return Program(
        "web",
        python_command("-m", "uvicorn", "config.asgi:application", *listening, *manners),
        answers_http(f"{url}/healthz"),
    )


def _worker_program() -> Program:
    pool = ("-P", "threads", "-c", str(WORKER_THREADS), "--without-gossip", "--without-mingle", "-n", "worker@%h")
    return Program(
        "worker", python_command("-m", "celery", "-A", "config", "worker", "-l", "INFO", *pool), log_contains(" ready.")
    )


def _beat_program(home: Path) -> Program:
    # An empty pid file name, because a killed beat would leave a pid file behind, and the next start would refuse to run.
    schedule = ("--schedule", str(home / "beat"), "--pidfile=")
    return Program(
        "beat",
        python_command("-m", "celery", "-A", "config", "beat", "-l", "INFO", *schedule),
        log_contains("Starting"),
    )


def _story_environment(seed: Seed, console_url: str) -> dict[str, str]:
    values = {
        "CONSOLE_URL": console_url,
        "DEMO_TOKEN": seed.token,
        "DEMO_OPERATOR_LOGIN": seed.operator_login,
        "DEMO_OPERATOR_PASSWORD": seed.operator_password,
        "DEMO_TENANT": seed.tenant,
        "DEMO_AGENT": seed.agent,
    }
    return {name: value for name, value in values.items() if value}


def _show_box(progress: LauncherProgress, seed: Seed, console_url: str, standin_url: str | None) -> None:
    standin = "stand-in model (shows how learning works, not how good it is; costs use example prices)"
    model = standin if standin_url else "taken from your environment"
    lines = {"Console": f"{console_url}/", "Operator": seed.operator_login, "Password": seed.operator_password}
    if seed.login_link_path:
        lines["Log in once"] = console_url + seed.login_link_path
    lines |= {"Demo token": seed.token, "Tenant, agent": f"{seed.tenant}, {seed.agent}", "Model": model}
    lines["Try"] = _example_curl(seed.token, console_url)
    progress.rule(f"Preceptor is ready after {progress.elapsed_seconds():.0f} s")
    for name, value in lines.items():
        if value:
            progress.console.print(f"  {name:<14} {value}", markup=False)
    progress.rule()


def _example_curl(token: str, console_url: str) -> str:
    body = json.dumps({"conversation_key": "curl", "text": "Hello, who are you?"})
    headers = (
        f"-H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' -H \"Idempotency-Key: $(date +%s)\""
    )
    return f"curl -s {headers} -d '{body}' '{console_url}/api/v1/messages/?wait=30'"


def _closing_sentence(code: int, console_url: str) -> str:
    held = "Every step of the story passed." if code == 0 else f"The story failed with code {code}."
    return f"{held} The console stays at {console_url}/ until you press Ctrl-C."


def _reserve_address(name: str, preferred: int, running: ExitStack, progress: LauncherProgress) -> str:
    port = running.enter_context(reserve_port(preferred))
    if port != preferred:
        progress.say(f"Port {preferred} is busy; the {name} uses {port}.")
    return f"http://{HOST}:{port}"
