"""Writes with an idempotency key, and their expiry."""

from django.db import connection
from django.test import Client

from apps.governance.database.actor_transaction import acting_as
from tests.support.worlds.world import World


def make_idempotency_records(world: World, key: str = "kept") -> None:
    """Make a record of the agent and one of the operator, by REST."""
    agent, person = Client(headers={"Authorization": f"Bearer {world.token}"}), Client()
    person.force_login(world.operator_user)
    body = {"kind": "task", "text": "Write to them.", "agent_key": world.agent.key}
    for client in (agent, person):
        answer = client.post("/api/v1/notes/", body, content_type="application/json", headers={"Idempotency-Key": key})
        assert answer.status_code == 201, answer.content


def expire_idempotency_records(world: World) -> None:
    """Let all idempotency records of this world expire."""
    for actor in (world.bot, world.operator):
        with acting_as(actor), connection.cursor() as cursor:
            cursor.execute("UPDATE api_idempotencyrecord SET expires_at = statement_timestamp()")
