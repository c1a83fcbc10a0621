"""What a turn asks of the database: so many statements, however long the conversation is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from apps.governance.database.prepared_statements import prepare_statement
from apps.runtime.turn_store.turn_journal import CLOSE_TURN
from apps.runtime.worker.sync_driver import answer_conversation
from benchmarks.turn.benchmark_setup import statements_in
from tests.support.drivers.conversation import reply, run_customer_turn, run_turn, send_customer_message, tool
from tests.support.factories.member_talks import make_assistant, make_member_overlay, make_talk, message_assistant
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_memory, make_persona, make_profile, make_skill, make_world

# Who acts, and what is done, each for the claim, the answer that calls a tool, and the end.
CLAIM_KEEP_CLOSE, CLAIM_CLOSE = 6, 4
# The tool looks as the agent.
READ_STATEMENTS = 2


@contextmanager
def recorded_statements() -> Iterator[list[str]]:
    """Every statement that is sent, two of one message as two."""
    sent: list[str] = []

    # Any: Django's own cursor, whatever it was given and whatever it brings.
    def count(execute: Callable[..., Any], text: str, values: Any, many: bool, context: dict[str, Any]) -> Any:
        sent.extend(statements_in(text))
        return execute(text, values, many, context)

    with connection.execute_wrapper(count):
        yield sent


def turn_statements(world: World, standin: StandIn, text: str) -> list[str]:
    """The statements of one turn, from its claim to its end."""
    event = send_customer_message(world, text)
    with recorded_statements() as sent:
        run_turn(world, event, standin.backend)
    # The worker looks once more whether anything waits, and a test at what became of the turn.
    ended = next(place for place, statement in enumerate(sent) if prepare_statement(CLOSE_TURN).name in statement)
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
    run_customer_turn(world, "Hello", standin)
    for number in range(2):
        standin.play(tool("get_skill", skill_id=skill.pk), reply("You get it back."))
        sent = turn_statements(world, standin, f"Refund me, {number}")
        assert len(sent) == CLAIM_KEEP_CLOSE + READ_STATEMENTS, sent
        assert len(turn_statements(world, standin, f"Thanks, {number}")) == CLAIM_CLOSE
        for more in range(30):
            run_customer_turn(world, f"And {number} {more}", standin)


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
        message_assistant(talk, f"Hello {number}", world.operator)
        with recorded_statements() as sent:
            answer_conversation(world.tenant.pk, talk.pk, backend=standin.backend)
    ended = next(place for place, statement in enumerate(sent) if prepare_statement(CLOSE_TURN).name in statement)
    assert ended + 1 == CLAIM_CLOSE, sent
