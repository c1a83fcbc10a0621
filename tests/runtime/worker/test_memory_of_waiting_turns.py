"""What turns hold while their models think: a worker has thousands of them, so whatever is alike is there once."""

import pytest

from apps.llm.model_backend import ModelRequest
from apps.runtime.turns.turn_machine import TurnMachine, start_turn
from apps.runtime.turns.turn_progress import AskModel
from apps.tenants.actions import amend_agent
from tests.support.drivers.conversation import run_customer_turn, send_customer_message
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_persona, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    world = make_world()
    make_persona(world)
    return world


def begin_waiting_turn(world: World, thread: str) -> tuple[TurnMachine, ModelRequest]:
    """A turn that has come as far as its first call."""
    machine = start_turn(
        world.tenant.pk, send_customer_message(world, "Hello", thread=thread, key=f"to-{thread}").conversation_id
    )
    assert machine is not None
    assert isinstance(machine.effect, AskModel)
    return machine, machine.effect.request


def test_turns_of_one_agent_hold_its_prompt_its_rights_and_itself_once(world: World) -> None:
    (one, first), (other, second) = (begin_waiting_turn(world, thread) for thread in ("one", "other"))
    assert len(first.system) > 1
    assert all(left.text is right.text for left, right in zip(first.system, second.system, strict=True))
    ours, theirs = one.progress.loop.account.planned, other.progress.loop.account.planned
    assert ours is not None
    assert theirs is not None
    blocks = [(left.block, right.block) for left, right in zip(ours.blocks, theirs.blocks, strict=True)]
    assert all(left is right for left, right in blocks[:-1])
    assert one.progress.tools.context.actor.grants is other.progress.tools.context.actor.grants
    assert one.claimed.agent is other.claimed.agent


def test_an_agent_that_was_changed_is_another_to_the_next_turn(world: World) -> None:
    one, _ = begin_waiting_turn(world, "one")
    amend_agent(world.agent, actor=world.admin, max_steps=3)
    other, _ = begin_waiting_turn(world, "other")
    assert other.claimed.agent.max_steps == 3
    assert one.claimed.agent.max_steps != 3


@pytest.mark.parametrize(("mid_turn_message_mode", "is_held"), [("queue", False), ("restart", True)])
def test_what_was_brought_for_the_beginning_goes_where_no_other_beginning_can_follow(
    world: World, standin: StandIn, mid_turn_message_mode: str, is_held: bool
) -> None:
    amend_agent(world.agent, actor=world.admin, mid_turn_message_mode=mid_turn_message_mode)
    run_customer_turn(world, "Hello", standin, thread="one")
    machine, _ = begin_waiting_turn(world, "one")
    assert machine.claimed.context.running is None
    assert not machine.claimed.known_parts
    assert not machine.progress.loop.account.earlier_calls
    assert bool(machine.claimed.context.earlier_calls) is is_held


@pytest.mark.slow
def test_of_what_other_calls_left_cached_only_what_the_prompt_can_read_is_held(world: World, standin: StandIn) -> None:
    # R181
    for number in range(3):
        run_customer_turn(world, f"Hello, I am customer {number}", standin, thread=f"before-{number}")
    machine, _ = begin_waiting_turn(world, "one")
    account = machine.progress.loop.account
    assert account.planned is not None
    assert account.earlier is not None
    assert account.planned.expected.read > 0
    own = {prefix.digest for prefix in account.planned.along}
    assert account.earlier.cached
    assert account.earlier.cached.keys() <= own
    assert account.earlier.measured.keys() <= {digest.hex() for digest in own}
