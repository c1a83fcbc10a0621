"""The books of the prompt cache do not accuse falsely, and never cost a paid answer."""

from dataclasses import replace

import pytest
from django.conf import settings as installation
from psycopg import sql

from apps.governance.database.actor_transaction import acting_as
from apps.launcher.postgres import Postgres
from apps.llm.cache_blocks import request_blocks
from apps.llm.model_backend import ModelBackend, ModelReply, ModelRequest, Usage
from apps.personas.actions import amend_persona
from apps.personas.models import Persona
from apps.runtime.models import ModelCall, Turn
from apps.tenants.actions import amend_agent
from tests.runtime.turns.test_broken_dependencies import break_in
from tests.support.drivers.conversation import (
    expire_lease,
    fault,
    run_customer_turn,
    run_turn,
    send_customer_message,
    tool,
    turn_of,
)
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import (
    World,
    make_identity_card,
    make_invokable,
    make_memory,
    make_persona,
    make_skill,
    make_world,
)


class OtherTokenizer:
    """The stand-in with another tokenizer: a character beyond ASCII is a token, where the estimate counts bytes."""

    def __init__(self, backend: ModelBackend) -> None:
        self._backend = backend

    def complete(self, request: ModelRequest) -> ModelReply:
        reply = self._backend.complete(request)
        blocks = [(block.tokens, _count_tokens(block.content.decode())) for block in request_blocks(request)]
        usage = reply.usage
        written = usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
        read, cached = (
            _real_prefix_tokens(blocks, end) for end in (usage.cache_read_tokens, usage.cache_read_tokens + written)
        )
        total = sum(counted for _, counted in blocks)
        return replace(reply, usage=Usage(total - cached, usage.output_tokens, read, cached - read, 0))


def _count_tokens(content: str) -> int:
    ascii_characters = sum(character.isascii() for character in content)
    return ascii_characters // 4 + len(content) - ascii_characters


def _real_prefix_tokens(blocks: list[tuple[int, int]], end: int) -> int:
    """How long the provider finds a prefix that the estimate takes for so many tokens."""
    counted = 0
    for estimated, real in blocks:
        if end <= 0:
            break
        end, counted = end - estimated, counted + real
    return counted


def make_big_world() -> World:
    """An agent whose prompt is long enough for every model's cache."""
    world = make_world()
    make_persona(world, identity=f"You are Ada of {world.tenant.key}. " * 100, style="Warm and brief. " * 120)
    make_memory(world, f"Parcels of {world.tenant.key} are sent on Mondays. " * 65)
    return world


def calls(world: World, turn: Turn | None = None) -> list[ModelCall]:
    with acting_as(world.system):
        found = ModelCall.objects.order_by("id")
        return list(found.filter(turn=turn) if turn else found)


@pytest.mark.django_db
def test_a_provider_that_counts_otherwise_is_not_accused(standin: StandIn) -> None:  # R185
    world, backend = make_big_world(), OtherTokenizer(standin.backend)
    for number, text in enumerate(
        ("Hello", "你好, 我的订单现在在哪里? " * 60, "Where is it? " * 200, "ขอทราบสถานะคำสั่งซื้อ " * 60)
    ):
        run_turn(world, send_customer_message(world, text, key=str(number)), backend)
    noted = calls(world)
    assert [call.cache_read_tokens > 0 for call in noted] == [False, True, True, True]
    for call in noted:
        assert not call.has_unexpected_miss, call.cache_ledger["miss"]
        assert abs(call.expected_read_tokens or 0) == pytest.approx(call.cache_read_tokens, rel=0.02)


@pytest.mark.django_db
def test_a_turn_that_is_taken_again_declares_its_cause(standin: StandIn) -> None:
    world = make_big_world()
    run_customer_turn(world, "Hello", standin)
    standin.play(tool("list_skills"), fault("overloaded"))
    event = send_customer_message(world, "Where is my parcel? " * 40)
    turn = run_turn(world, event, standin.backend)
    assert turn.status == Turn.Status.RUNNING
    expire_lease(world, turn)
    assert run_turn(world, event, standin.backend).status == Turn.Status.DONE
    assert not any(call.has_unexpected_miss for call in calls(world))


@pytest.mark.slow
@pytest.mark.django_db
def test_a_turn_that_was_given_up_is_a_declared_cause_for_the_next(standin: StandIn) -> None:
    world = make_big_world()
    amend_agent(world.agent, actor=world.admin, max_steps=2)
    for number in range(20):
        make_skill(world, "approved", title=f"Handle case {number}", description="What to do then. " * 15)
    run_customer_turn(world, "Hello", standin)
    standin.play(tool("list_skills"), tool("list_skills"))
    assert (
        run_turn(world, send_customer_message(world, "Where is my parcel?"), standin.backend).status
        == Turn.Status.FAILED
    )
    run_customer_turn(world, "And now?", standin)
    last = calls(world)[-1]
    assert (last.cache_ledger["miss"]["cause"], last.has_unexpected_miss) == ("turn_repeated", False)


def test_a_session_before_that_cannot_be_read_back_costs_no_answer(
    committing: str, postgres: Postgres, standin: StandIn
) -> None:
    world = make_big_world()
    amend_agent(world.agent, actor=world.admin, session_idle_seconds=0)
    run_customer_turn(world, "Hello", standin)
    with acting_as(world.operator):
        persona = Persona.objects.get(agent=world.agent)
    amend_persona(persona, actor=world.operator, values={"style": "Cold. " * 200})
    for statement in (
        "ALTER TABLE runtime_snapshotpart DISABLE TRIGGER USER",
        "UPDATE runtime_snapshotpart SET sha256 = repeat('0', 64) WHERE slot = 1",
    ):
        break_in(postgres, committing, sql.SQL(statement))
    turn = run_customer_turn(world, "And again", standin)
    [call] = calls(world, turn)
    assert call.cache_ledger["miss"]["cause"] == "unexplained"
    assert call.cost_micro_usd is None
    assert call.output_tokens > 0


def test_books_that_cannot_be_read_make_a_cold_plan_and_no_failure(
    committing: str, postgres: Postgres, standin: StandIn
) -> None:
    world = make_big_world()
    run_customer_turn(world, "Hello", standin)
    for statement in (
        "ALTER TABLE runtime_modelcall DISABLE TRIGGER USER",
        "UPDATE runtime_modelcall SET cache_ledger = '{}'",
    ):
        break_in(postgres, committing, sql.SQL(statement))
    turn = run_customer_turn(world, "And again", standin)
    assert calls(world, turn)[0].cache_ledger["expected"].get("read", 0) == 0


@pytest.mark.parametrize("table", ["personas_identitycard", "tenants_invokableagent", "governance_changetext"])
def test_a_look_up_for_the_turn_that_fails_never_wedges_the_conversation(
    committing: str, postgres: Postgres, standin: StandIn, table: str
) -> None:
    # R044
    world = make_world()
    make_persona(world)
    make_identity_card(world, line_key="sales", assigned_name="Alan Turing")
    make_invokable(world)
    worker = sql.Identifier(f"{installation.DATABASE_ROLE_PREFIX}_worker")
    break_in(postgres, committing, sql.SQL("REVOKE SELECT ON {} FROM {}").format(sql.Identifier(table), worker))
    event = send_customer_message(world, "Hello", line_key="sales")
    run_turn(world, event, standin.backend)
    assert turn_of(world, event).status == Turn.Status.DONE


def test_a_session_of_a_release_without_frozen_tools_is_followed_by_a_new_one(
    committing: str, postgres: Postgres, standin: StandIn
) -> None:
    world = make_world()
    standin.play(tool("list_skills"))
    before = run_customer_turn(world, "Hello", standin)
    for statement in (
        "ALTER TABLE runtime_session DISABLE TRIGGER USER",
        "ALTER TABLE runtime_snapshotpart DISABLE TRIGGER USER",
        "UPDATE runtime_session SET tools_id = NULL, tools_sha256 = ''",
        "UPDATE runtime_snapshotpart SET segments = NULL",
    ):
        break_in(postgres, committing, sql.SQL(statement))
    assert run_customer_turn(world, "And again", standin).session_id != before.session_id
    assert standin.requests()[-1]["tools"]
