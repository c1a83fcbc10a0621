"""A transcript costs the same whether it is short or long; tests/governance/test_query_counts.py counts every list."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.conversations.actions import import_conversation
from apps.conversations.models import Conversation
from apps.conversations.rules import Line
from tests.factories import World
from tests.surfaces.api.asking import Asker


def count_queries(ask: Callable[[], Any], rows: int) -> int:
    with CaptureQueriesContext(connection) as captured:
        answer = ask()
    assert len(answer.body["results"]) == rows
    return len(captured)


def test_transcript_costs_the_same_at_any_length(world: World, operator: Asker) -> None:
    lengths = {}
    for length in (4, 50):
        lines = [Line("customer", f"Line {number}.") for number in range(length)]
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
