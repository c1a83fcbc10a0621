"""A place where workers die: a committing database, the stand-in model, the counter, and a parent that forks workers."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings

from apps.conversations.models import InboundEvent
from apps.launcher.data_folders import PROJECT
from apps.launcher.postgres import Postgres
from apps.memory.actions import create_profile
from apps.runtime.tools.toolbox import Toolbox
from apps.runtime.turns.turn_machine import TurnMachine
from apps.runtime.worker.sync_driver import answer_conversation, drive_turn
from tests.durability.counter_tools import toolbox_at
from tests.durability.invariants import Bill, broken, watch
from tests.settings import PREFIX
from tests.support.drivers.conversation import reply, send_customer_message
from tests.support.servers.effects_server import read_effects, run_effects_server
from tests.support.servers.standin_model import StandIn
from tests.support.timeouts import PATIENCE_SECONDS
from tests.support.worlds.world import World, make_world

_numbers = count(1)
LOOPBACK = "127.0.0.0/8"
FINAL_REPLY = "Everything is done."
EXPIRE_LEASES = (
    "UPDATE runtime_turn SET lease_until = statement_timestamp() WHERE conversation_id = %s AND status = 'running'",
    "UPDATE webhooks_delivery SET lease_until = now(), next_attempt_at = now() WHERE conversation_id = %s AND status = 'waiting'",
)


def script(order: str) -> list[dict[str, object]]:
    """A turn of two answers; the first calls a tool of every kind."""
    uses = [
        ("list_skills", {}),
        ("look_up_price", {"order": order}),
        ("update_customer_profile", {"notes": f"Asked about order {order}."}),
        ("book", {"order": order}),
        ("dispatch", {"order": order}),
    ]
    return [{"tools": [{"name": name, "arguments": arguments} for name, arguments in uses]}, reply(FINAL_REPLY)]


@dataclass(frozen=True)
class Workers:
    """The parent of every worker: loaded once, with neither connection nor thread."""

    child: subprocess.Popen[str]

    def start(self, order: Mapping[str, object]) -> int:
        """Fork a worker for this order; its process."""
        assert self.child.stdin is not None
        self.child.stdin.write(json.dumps(order) + "\n")
        self.child.stdin.flush()
        return int(self._read_report()["pid"])

    def ended(self) -> dict[str, Any]:  # Any: JSON of the worker
        """How the worker ended, and what it crossed if it came to the end."""
        return self._read_report()

    def _read_report(self) -> dict[str, Any]:
        assert self.child.stdout is not None
        line = self.child.stdout.readline()
        assert line, "the parent of the workers is gone"
        report: dict[str, Any] = json.loads(line)
        return report


@dataclass(frozen=True)
class CrashStage:
    """Everything a worker needs to die on, and whoever comes after it."""

    raw: psycopg.Connection[Any]
    world: World
    standin: StandIn
    counter: str
    workers: Workers

    @property
    def toolbox(self) -> Toolbox:
        return toolbox_at(self.counter)

    def arrive(self, *, in_session: bool) -> InboundEvent:
        """A customer asks for something: one who is known, or a new one who has said good morning and has a session open."""
        number = str(next(_numbers))
        customer = {"thread": f"thread-{number}", "customer": f"http:{number}"}
        if not in_session:
            # What is known of the customer is a part of the prompt that no session has frozen yet.
            create_profile(
                f"http:{number}", actor=self.world.bot, values={"preferences": f"Customer {number}, please."}
            )
        else:
            self.standin.play(reply("Good morning."))
            greeting = send_customer_message(self.world, "Good morning", key=f"greeting-{number}", **customer)
            self.survive(greeting)
        self.standin.play(*script(number))
        return send_customer_message(self.world, f"Please see to order {number}", key=f"order-{number}", **customer)

    def start(self, event: InboundEvent, point: int = 0, side: str = "before", ending: str = "kill") -> int:
        """A worker takes the event's conversation, and ends at a crossing."""
        where = {"point": point, "side": side, "ending": ending}
        return self.order(event.conversation_id, counter=self.counter, **where)

    def order(self, conversation_id: int, **more: object) -> int:
        """A worker takes a conversation; its process."""
        given = {"tenant": self.world.tenant.pk, "conversation": conversation_id, "standin": self.standin.url}
        return self.workers.start(given | more)

    def lease_runs_out(self, event: InboundEvent, patience_seconds: float = PATIENCE_SECONDS) -> None:
        """Time passes. Raises `LockNotAvailable` while the turn is being written."""
        self.time_passes(event.conversation_id, patience_seconds)
        self.model_goes_on(event)

    def time_passes(self, conversation_id: int, patience_seconds: float = PATIENCE_SECONDS) -> None:
        """Until others may take the conversation's turn, and its deliveries."""
        self.raw.execute("SELECT set_config('lock_timeout', %s, true)", [f"{patience_seconds}s"])
        for passed in EXPIRE_LEASES:
            self.raw.execute(passed, [conversation_id])
        self.raw.commit()

    def model_goes_on(self, event: InboundEvent) -> None:
        """Let the model say next what it has not said yet, as far as the journal knows."""
        kept = self.raw.execute(
            "SELECT count(*) FROM runtime_modelcall AS call JOIN runtime_turn AS turn ON turn.id = call.turn_id"
            " JOIN conversations_inboundevent AS event ON event.turn_id = turn.id WHERE event.id = %s",
            [event.pk],
        ).fetchone()
        self.raw.commit()
        self.standin.forget()
        self.standin.play(*script(event.idempotency_key.removeprefix("order-"))[kept[0] if kept else 0 :])

    def survive(self, event: InboundEvent) -> None:
        """Another worker takes what is due."""
        answer_conversation(
            self.world.tenant.pk, event.conversation_id, backend=self.standin.backend, toolbox=self.toolbox
        )

    def finish(self, machine: TurnMachine) -> None:
        """Drive a turn that was taken to its end."""
        drive_turn(machine, self.standin.backend)

    def ending(self, event: InboundEvent) -> tuple[Any, ...] | None:
        """How the event's turn ended, and what the customer reads."""
        found = self.raw.execute(
            "SELECT turn.status, turn.outcome, reply.text FROM conversations_inboundevent AS event"
            " JOIN runtime_turn AS turn ON turn.id = event.turn_id"
            " LEFT JOIN conversations_message AS reply ON reply.id = turn.reply_id WHERE event.id = %s",
            [event.pk],
        ).fetchone()
        self.raw.commit()
        return found

    def is_committing(self) -> bool:
        """Whether a worker is in the middle of a transaction."""
        found = self.raw.execute(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND usename = %s"
            " AND state LIKE 'idle in transaction%%'",
            [f"{PREFIX}_login"],
        ).fetchone()
        self.raw.commit()
        return found is not None

    def broken(self) -> list[str]:
        """What of all that happened here must not have happened."""
        return broken(self.raw, effects=read_effects(self.counter), bill=Bill.shown(self.standin.bill()))


@contextmanager
def open_stage(server: Postgres, database: str, standin: StandIn, folder: Path) -> Iterator[CrashStage]:
    """A stage on this database, to which Django's connections go already."""
    standin.open_bill()
    command = [sys.executable, "-m", "tests.durability.worker_process", "--serve"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with (
        run_effects_server(folder) as counter,
        psycopg.connect(server.url_for("postgres", database=database)) as raw,
        subprocess.Popen(command, cwd=PROJECT, env=_environment(server, database), text=True, **pipes) as parent,  # type: ignore[call-overload]
    ):
        watch(raw)
        try:
            stage = CrashStage(raw, make_world(), standin, counter, Workers(parent))
            # What every session shares is kept with the first.
            stage.survive(stage.arrive(in_session=False))
            yield stage
        finally:
            parent.kill()


def sample_points(points: Sequence[tuple[int, str]], most: int) -> Sequence[tuple[int, str]]:
    """Every so many of them, both sides in turn, the first and the last among them."""
    step = max(1, -(-len(points) // most)) | 1
    return [*points[::step], points[-1]]


def _environment(server: Postgres, database: str) -> dict[str, str]:
    # What a worker runs is measured where it runs in one process with its test.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    return inherited | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": server.url_for(f"{PREFIX}_login", database=database),
        "DATABASE_OWNER_URL": server.url_for("postgres", database=database),
        "DATABASE_ROLE_PREFIX": PREFIX,
        "ANTHROPIC_API_KEY": "stand-in",
        "SECRET_KEY": settings.SECRET_KEY,
        "REACHABLE_NETWORKS": LOOPBACK,
    }
