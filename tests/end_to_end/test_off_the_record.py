"""What was said off the record is nowhere once the conversation has ended: not in the database, the logs or the broker."""

import json

import psycopg
import pytest

from apps.demo.http_client import HttpVisitor
from apps.launcher.child_processes import wait_until
from apps.launcher.postgres import Postgres
from tests.support.servers.running_product import RunningProduct, fetch
from tests.support.servers.shared_product import DATABASE
from tests.support.timeouts import PATIENCE_SECONDS
from tests.support.worlds.world import make_persona, make_world

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

SENTINEL = "xyzzy-4711-plugh"


def tables_with(postgres: Postgres, database: str) -> list[str]:
    """Every table of the database, each row of it as text."""
    with psycopg.connect(postgres.url_for("postgres", database=database)) as raw:
        names = raw.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        )
        asked = "SELECT count(*) FROM {} AS row WHERE row::text LIKE %s"
        tables = [str(name) for (name,) in names.fetchall()]
        return [
            table
            for table in tables
            if raw.execute(asked.format(table).encode(), [f"%{SENTINEL}%"]).fetchall() != [(0,)]
        ]


def test_a_sentinel_said_off_the_record_is_found_nowhere_afterwards(
    product: RunningProduct, postgres: Postgres
) -> None:
    # R178
    world = make_world()
    make_persona(world)
    script = [
        {"tool": {"name": "get_skill", "arguments": {"skill_id": SENTINEL}}},
        {"reply": {"text": f"Noted: {SENTINEL}"}},
    ]
    fetch(f"{product.standin_url}/standin/script", json.dumps(script).encode())
    customer = HttpVisitor(product.url, world.token)
    body = {"conversation_key": "a", "end_user_key": "http:abc", "sender_name": SENTINEL, "off_the_record": True}
    response = customer.send("POST", "/api/v1/messages/?wait=60", body | {"text": SENTINEL}, Idempotency_Key="one")
    assert response.json["reply"]["text"] == f"Noted: {SENTINEL}", response.text
    # While the conversation goes on its words are held, for the agent to go on from.
    assert "conversations_message" in tables_with(postgres, DATABASE)
    path = f"/api/v1/conversations/{response.json['conversation_id']}/"
    assert customer.send("PATCH", path, {"status": "resolved"}).status == 200
    assert wait_until(lambda: not tables_with(postgres, DATABASE), PATIENCE_SECONDS, 0.5), tables_with(
        postgres, DATABASE
    )
    # They are looked for now, and again when the product has stopped.
    product.unspoken.add(SENTINEL)
    product.expect_unspoken()
