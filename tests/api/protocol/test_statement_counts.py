"""How many statements a request by token costs beside finding out who asks: the role, and the rows."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.tenants.authentication.actor_resolution import agent_of_token
from tests.support.drivers.rest_client import Answer, agent_client
from tests.support.factories.notes import make_note
from tests.support.worlds.world import (
    World,
    make_block,
    make_memory,
    make_persona,
    make_profile,
    make_rule,
    make_skill,
    make_world,
)

# What opens and closes a transaction, and asks for nothing.
TRANSACTION_STATEMENTS = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")
NOUNS: dict[str, Callable[[World], object]] = {
    "personas": make_persona,
    "rules": make_rule,
    "skills": make_skill,
    "memories": make_memory,
    "memory-blocks": make_block,
    "profiles": make_profile,
    "notes": make_note,
}
# The role with tenant and agent, and the rows.
STATEMENTS_PER_REQUEST = 2
# The row that is read for its use, which only an approved skill has, and for the answer.
READ_TWICE = {"skills": 1}


def statements(ask: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as captured:
        ask()
    return sum(not query["sql"].startswith(TRANSACTION_STATEMENTS) for query in captured)


@pytest.mark.parametrize("noun", NOUNS)
def test_a_list_and_a_row_cost_two_statements_beside_who_asks(committing: str, noun: str) -> None:
    # MEASUREMENTS A4
    world = make_world()
    NOUNS[noun](world)
    bot, asked = agent_client(world), list[Answer]()
    row_id = bot.get(f"{noun}/").body["results"][0]["id"]
    known = statements(lambda: agent_of_token(world.token))
    for address in (f"{noun}/", f"{noun}/?fields=id", f"{noun}/{row_id}/", f"{noun}/{row_id}/?fields=id"):
        cost = statements(lambda address=address: asked.append(bot.get(address)))  # type: ignore[misc]  # bound for each
        twice = READ_TWICE.get(noun, 0) if str(row_id) in address else 0
        assert cost - known <= STATEMENTS_PER_REQUEST + twice, address
    assert {answer.status for answer in asked} == {200}
