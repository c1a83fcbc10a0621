"""The product's side of the benchmark: a tenant with an agent whose prompt has every slot, and its own way to take a turn."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
# A hundred turns of one conversation within minutes are not a loop here.
os.environ["LOOP_TURNS"] = "0"
django.setup()

from django.conf import settings  # noqa: E402  # settings stand before models
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from psycopg import sql  # noqa: E402

from apps.conversations.actions import receive_message  # noqa: E402
from apps.conversations.models import Message  # noqa: E402
from apps.governance.database.actor_transaction import acting_as  # noqa: E402
from apps.llm.model_backend import ModelBackend  # noqa: E402
from apps.runtime.worker.sync_driver import answer_conversation  # noqa: E402
from apps.skills.models import Skill  # noqa: E402
from benchmarks.turn.benchmark_setup import TurnTestbed, statements_in  # noqa: E402
from benchmarks.turn.measurement import SKILL_WORDS  # noqa: E402
from tests.settings import PREFIX  # noqa: E402
from tests.support.database.clones import close_connections, point_to, run_as_superuser  # noqa: E402
from tests.support.worlds.world import (  # noqa: E402
    World,
    make_identity_card,
    make_memory,
    make_persona,
    make_profile,
    make_rule,
    make_skill,
    make_world,
    raise_message_limits,
)

CUSTOMER = "http:abc123"


def make_database(place: TurnTestbed) -> None:
    """Make a database with the product's tables, roles and row security, as an installation has them."""
    run_as_superuser(place.server, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(PREFIX)))
    point_to(place.server, PREFIX)
    settings.DATABASE_OWNER_URL = place.server.url_for("postgres", database=PREFIX)
    call_command("setup_database", verbosity=0, stdout=StringIO())


class ProductTurnRunner:
    """Answers customers as a worker does."""

    name = "the product"

    def __init__(self) -> None:
        self.world, self.skill = _make_agent()
        self.counted = 0
        self._conversations: dict[int, int] = {}

    @property
    def read_skill(self) -> Mapping[str, object]:
        return {"skill_id": self.skill.pk}

    @property
    def process_id(self) -> int:
        connection.ensure_connection()
        process_id: int = connection.connection.info.backend_pid
        return process_id

    def receive(self, thread: int, number: int) -> None:
        event = receive_message(
            self.world.agent.pk,
            actor=self.world.bot,
            channel="http",
            conversation_key=f"thread-{thread}",
            end_user_key=CUSTOMER,
            text=f"Message {number}: may I have my money back?",
            idempotency_key=f"{thread}-{number}",
        )
        self._conversations[thread] = event.conversation_id

    def conversation(self, thread: int) -> int:
        """Return the id of this customer's conversation."""
        return self._conversations[thread]

    def take(self, thread: int, backend: ModelBackend) -> None:
        answer_conversation(self.world.tenant.pk, self._conversations[thread], backend=backend)

    def replies(self, thread: int) -> list[str]:
        with acting_as(self.world.system):
            messages = Message.objects.filter(
                conversation=self._conversations[thread], sender=Message.Sender.AGENT, tool_calls=[]
            )
            return list(messages.order_by("position").values_list("text", flat=True))

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count each statement, also if two are in one message."""
        with connection.execute_wrapper(self._count):
            yield

    # Any: Django's own cursor, whatever it was given and whatever it brings.
    def _count(self, execute: Callable[..., Any], text: str, values: Any, many: bool, context: dict[str, Any]) -> Any:
        self.counted += len(statements_in(text))
        return execute(text, values, many, context)

    def shut(self) -> None:
        close_connections()


def _make_agent() -> tuple[World, Skill]:
    """Make an agent whose prompt has something in every slot."""
    world = raise_message_limits(make_world())
    make_persona(world)
    make_identity_card(world)
    for number in range(6):
        make_rule(world, f"Rule {number}: never promise a date that nobody has confirmed.", position=number)
    procedure = "\n".join(f"{step}. {SKILL_WORDS}" for step in range(1, 21))
    skills = [
        make_skill(world, "approved", title=f"Settle a matter {number}", body=f"## Procedure\n{procedure}\n")
        for number in range(8)
    ]
    make_memory(world, "Most customers are in the EU. Parcels take three days. Refunds go to the card that paid.")
    make_profile(world, CUSTOMER)
    return world, skills[0]
