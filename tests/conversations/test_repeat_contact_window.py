"""Whoever comes back after seven days did not come back."""

import psycopg

from apps.launcher.postgres import Postgres
from tests.conversations.test_repeat_contacts import make_resolved_conversation, repeat_pairs
from tests.support.drivers.conversation import send_customer_message
from tests.support.worlds.world import make_world


def test_who_comes_after_seven_days_does_not_come_back(committing: str, postgres: Postgres) -> None:
    world = make_world()
    threads = {days: make_resolved_conversation(world, f"thread-{days}", customer=f"http:{days}") for days in (6, 8)}
    with psycopg.connect(postgres.url_for("postgres", database=committing), autocommit=True) as superuser:
        superuser.execute("SET session_replication_role = replica")
        for days, thread in threads.items():
            superuser.execute(
                "UPDATE conversations_conversation SET resolved_at = now() - make_interval(days => %s) WHERE id = %s",
                [days, thread.pk],
            )
    again = {
        days: send_customer_message(world, "Again", thread=f"again-{days}", customer=f"http:{days}").conversation
        for days in threads
    }
    send_customer_message(world, "Once more", thread="thread-8", customer="http:8")
    assert repeat_pairs(world) == [(threads[6].pk, again[6].pk)]
