"""What a turn asks of the database: so many statements, however long the conversation is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from apps.governance.database.prepared_statements import prepared
from apps.runtime.turn_store.journal_sql import CLOSE
from apps.runtime.worker.sync_driver import answer
from benchmarks.turn.testbed import statements_in
from tests.support.drivers.conversation import reply, say, take, tell, tool
from tests.support.factories.member_talks import make_assistant, make_member_overlay, make_talk, tell_assistant
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_memory, make_persona, make_profile, make_skill, make_world

# Who acts, and what is done, each for the claim, the answer that calls a tool, and the end.
CLAIM_KEEP_CLOSE, CLAIM_CLOSE = 6, 4
# The tool looks as the agent.
READ = 2


@contextmanager
def counted() -> Iterator[list[str]]:
    """Every statement that is sent, two of one message as two."""
    sent: list[str] = []

    # Any: Django's own cursor, whatever it was given and whatever it brings.
    def count(execute: Callable[..., Any], text: str, values: Any, many: bool, context: dict[str, Any]) -> Any:
        sent.extend(statements_in(text))
        return execute(text, values, many, context)

    with connection.execute_wrapper(count):
        yield sent


def asked(world: World, standin: StandIn, text: str) -> list[str]:
    """The statements of one turn, from its claim to its end."""
    event = tell(world, text)
    with counted() as sent:
        take(world, event, standin.backend)
    # The worker looks once more whether anything waits, and a test at what became of the turn.
    ended = next(place for place, statement in enumerate(sent) if prepared(CLOSE).name in statement)
    return sent[: ended + 1]


@pytest.mark.slow
def test_a_turn_costs_the_same_few_statements_whether_its_conversation_is_short_or_long(
    committing: str, standin: StandIn, settings: Settings
) -> None:
    # MEASUREMENTS A1
    settings.LOOP_TURNS = 0
    world = make_world()
    make_persona(world)
    make_memory(world)
    make_profile(world)
    skill = make_skill(world, "approved")
    # By its first turn of each kind a connection learns how each statement is planned.
    standin.play(tool("get_skill", skill_id=skill.pk), reply("You get it back."))
    say(world, "Hello", standin)
    for number in range(2):
        standin.play(tool("get_skill", skill_id=skill.pk), reply("You get it back."))
        sent = asked(world, standin, f"Refund me, {number}")
        assert len(sent) == CLAIM_KEEP_CLOSE + READ, sent
        assert len(asked(world, standin, f"Thanks, {number}")) == CLAIM_CLOSE
        for more in range(30):
            say(world, f"And {number} {more}", standin)


def test_an_assistants_turn_costs_no_more_than_an_agents_for_customers(
    committing: str, standin: StandIn, settings: Settings
) -> None:
    # R129
    settings.LOOP_TURNS = 0
    world = make_assistant(make_world())
    make_persona(world)
    make_member_overlay(world)
    talk = make_talk(world)
    for number in range(3):
        tell_assistant(talk, f"Hello {number}", world.operator)
        with counted() as sent:
            answer(world.tenant.pk, talk.pk, backend=standin.backend)
    ended = next(place for place, statement in enumerate(sent) if prepared(CLOSE).name in statement)
    assert ended + 1 == CLAIM_CLOSE, sent
