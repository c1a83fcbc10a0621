"""What somebody who follows a conversation is told, from where they were; and what nobody hears before it has left."""

from dataclasses import dataclass, field

import pytest

from apps.governance.errors import NotVisible
from apps.kill_switches.actions import activate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.llm.model_backend import ModelReply, ModelRequest
from apps.runtime.schedules.schedule_runner import run_if_due
from apps.runtime.streaming import conversation_feed
from apps.runtime.streaming.conversation_feed import ConversationFeedCursor, current_cursor, events_since
from apps.runtime.streaming.reply_pubsub import may_be_streamed
from apps.runtime.tools.toolbox import NO_TOOLS
from apps.runtime.turn_store.turn_claim import claim_turn
from apps.runtime.turns.turn_machine import TurnMachine, start_turn
from apps.runtime.worker.sync_driver import drive_turn
from apps.tenants.actions import amend_agent
from tests.support.drivers.conversation import reply, run_customer_turn, send_customer_message, tool
from tests.support.factories.desk import make_send_rule
from tests.support.factories.schedules import make_due, make_schedule
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_skill, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def test_who_follows_hears_tools_replies_and_turns_once_and_goes_on_where_they_were(
    world: World, standin: StandIn
) -> None:
    standin.play(tool("list_skills"), reply("We have none."))
    turn = run_customer_turn(world, "What can you do?", standin)
    conversation_id = turn.conversation_id
    heard = events_since(conversation_id, ConversationFeedCursor(), actor=world.bot)
    assert [(each.event, each.told.get("text", each.told.get("name"))) for each in heard] == [
        ("tool", "list_skills"),
        ("reply", "We have none."),
        ("turn", None),
    ]
    assert heard[-1].told == {"turn_id": turn.pk, "status": "done", "outcome": "replied"}
    assert heard[-1].place == current_cursor(conversation_id, actor=world.operator)
    assert events_since(conversation_id, heard[-1].place, actor=world.bot) == []
    cursor = ConversationFeedCursor.read(str(heard[0].place))
    assert cursor is not None
    assert [each.event for each in events_since(conversation_id, cursor, actor=world.bot)] == ["reply", "turn"]


def test_who_is_far_behind_hears_each_turn_after_its_reply(
    world: World, standin: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation_feed, "BATCH_SIZE", 1)
    first, second = run_customer_turn(world, "One", standin), run_customer_turn(world, "Two", standin)
    place, heard = ConversationFeedCursor(), []
    while events := events_since(first.conversation_id, place, actor=world.bot):
        heard += [(each.event, each.told["turn_id"]) for each in events]
        place = events[-1].place
    assert heard == [("reply", first.pk), ("reply", second.pk), ("turn", first.pk), ("turn", second.pk)]


@pytest.mark.parametrize("event_id", ["", "1", "1-2-3", "a-1-1-done", "1--1-done", f"{'9' * 19}-1-1-done"])
def test_a_place_that_is_none_is_not_gone_on_from(event_id: str) -> None:
    assert ConversationFeedCursor.read(event_id) is None


def test_nobody_follows_what_is_not_theirs_to_see(world: World) -> None:
    theirs = send_customer_message(make_world(), "Hello").conversation_id
    for follow in (
        lambda: current_cursor(theirs, actor=world.bot),
        lambda: events_since(theirs, ConversationFeedCursor(), actor=world.operator),
    ):
        with pytest.raises(NotVisible):
            follow()


@pytest.mark.parametrize(
    ("mode", "by_skill", "is_aired"),
    [("autonomous", False, True), ("suggest", False, False), ("autonomous", True, False)],
)
def test_only_what_leaves_by_itself_is_heard_before_it_has_left(
    world: World, mode: str, by_skill: bool, is_aired: bool
) -> None:
    amend_agent(world.agent, actor=world.admin, send_mode=mode)
    if by_skill:
        make_send_rule(world, skill=make_skill(world, "approved"), channel="")
    claimed = claim_turn(send_customer_message(world, "Hello").conversation_id, actor=world.system)
    assert claimed is not None
    assert may_be_streamed(claimed) is is_aired


@dataclass
class RecordingModel:
    """A model that notes before each call whether somebody may hear it, and lets sending be paused after the first."""

    world: World
    turning: TurnMachine
    standin: StandIn
    told: list[bool] = field(default_factory=list)

    def complete(self, request: ModelRequest) -> ModelReply:
        self.told.append(may_be_streamed(self.turning.claimed))
        if len(self.told) == 1:
            activate_kill_switch(
                KillSwitch.Kind.PAUSE_SENDING, actor=self.world.operator, reason="It misquotes prices."
            )
        return self.standin.backend.complete(request)


def test_while_sending_is_paused_nobody_hears_what_a_person_may_have_to_send(world: World, standin: StandIn) -> None:
    machine = start_turn(world.tenant.pk, send_customer_message(world, "Hello").conversation_id, NO_TOOLS)
    assert machine is not None
    standin.play(tool("list_skills"), reply("Not heard."))
    model = RecordingModel(world, machine, standin)
    drive_turn(machine, model)
    assert model.told == [True, False]
    claimed = claim_turn(send_customer_message(world, "And now?", thread="other").conversation_id, actor=world.system)
    assert claimed is not None
    assert not may_be_streamed(claimed)


def test_nobody_hears_a_turn_that_may_come_to_nothing(world: World) -> None:
    row = make_schedule(world, channel="slack")
    make_due(row, world)
    conversation_id = run_if_due(world.tenant.pk, row.pk)
    assert conversation_id is not None
    claimed = claim_turn(conversation_id, actor=world.system)
    assert claimed is not None
    assert not may_be_streamed(claimed)
