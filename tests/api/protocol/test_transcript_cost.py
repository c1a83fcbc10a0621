"""A transcript costs the same whether it is short or long; tests/governance/database/test_query_counts.py counts every list."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.conversations.actions import import_conversation
from apps.conversations.models import Conversation
from apps.conversations.rules import ConversationLine
from tests.support.drivers.rest_client import RestClient, agent_client
from tests.support.worlds.world import World, make_memory, make_skill


def count_queries(ask: Callable[[], Any], rows: int) -> int:
    with CaptureQueriesContext(connection) as captured:
        answer = ask()
    assert len(answer.body["results"]) == rows
    return len(captured)


def test_transcript_costs_the_same_at_any_length(world: World, operator: RestClient) -> None:
    lengths = {}
    for length in (4, 50):
        lines = [ConversationLine("customer", f"Line {number}.") for number in range(length)]
        conversation = import_conversation(
            world.agent.pk,
            actor=world.operator,
            transcript_id=f"transcript-{length}",
            lines=lines,
            outcome=Conversation.Outcome.SOLVED,
        )
        assert conversation is not None
        path = f"messages/?conversation_id={conversation.pk}"
        lengths[length] = count_queries(partial(operator.get, path), length)
    assert lengths[4] == lengths[50]


@pytest.mark.parametrize("path", ["skills/", "memories/{memory}/"])
def test_an_answer_to_a_token_takes_three_statements(world: World, path: str) -> None:
    # Who asks and what they may, the role in which PostgreSQL answers, and the rows.
    make_skill(world)
    memory = make_memory(world, "Parcels take three days.")
    asker = agent_client(world)
    with CaptureQueriesContext(connection) as captured:
        assert asker.get(path.format(memory=memory.pk)).status == 200
    # Within a test's own transaction savepoints stand for one, and the role is given back at the end of one.
    beside = ("SAVEPOINT", "RELEASE", "SELECT set_config('role', 'none'")
    asked = [query["sql"] for query in captured if not query["sql"].startswith(beside)]
    assert len(asked) <= 3
