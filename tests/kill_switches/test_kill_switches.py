"""Switches: effective before the next model call, nothing lost meanwhile, and PostgreSQL refuses as well."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from django.utils import timezone

from apps.conversations.actions import resolve_conversation
from apps.conversations.models import Conversation, Message
from apps.desk.models import Draft
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, IllegalTransition, Invalid, StoppedByKillSwitch
from apps.kill_switches.actions import activate_kill_switch, deactivate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.learning.extraction.pipeline import extract_conversation
from apps.llm.model_backend import ModelReply, ModelRequest
from apps.memory.actions import amend_memory, amend_profile
from apps.memory.models import AgentMemory
from apps.personas.actions import propose_patch
from apps.prompt.text_reuse.derived_lines import NO_RECEIVED_TEXTS
from apps.runtime.limits.turn_limits import TURN_DEADLINE
from apps.runtime.models import Turn
from apps.runtime.worker.sync_driver import answer_conversation
from apps.skills.models import Skill
from apps.tenants.actions import create_agent
from apps.tenants.due_work import due_work
from apps.tenants.models import Agent
from tests.support.database.raw_sql_as_role import NO_RIGHT, run_and_undo
from tests.support.drivers.conversation import calls, lines, reply, run_turn, send_customer_message, tool, turn_of
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import (
    World,
    make_conversation,
    make_memory,
    make_persona,
    make_profile,
    make_skill,
    make_world,
)

pytestmark = [pytest.mark.kernel, pytest.mark.django_db]

FREEZE, SENDING, ANSWERING = KillSwitch.Kind.FREEZE_LEARNING, KillSwitch.Kind.PAUSE_SENDING, KillSwitch.Kind.PAUSE_AGENT


@pytest.fixture
def world() -> World:
    return make_world()


def throw_test_switch(world: World, kind: KillSwitch.Kind, agent: Agent | None = None, channel: str = "") -> KillSwitch:
    agent_id = agent.pk if agent else None
    return activate_kill_switch(
        kind, actor=world.operator, reason="It misquotes prices.", agent_id=agent_id, channel=channel
    )


@dataclass
class InterruptedModel:
    """A model during whose first call somebody does something."""

    meanwhile: Callable[[], object]
    standin: StandIn
    asked: list[ModelRequest] = field(default_factory=list)

    def complete(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request)
        if len(self.asked) == 1:
            self.meanwhile()
        return self.standin.backend.complete(request)


def test_what_arrives_while_answering_is_stopped_waits_and_is_answered_once_afterwards(
    world: World, standin: StandIn
) -> None:
    switch = throw_test_switch(world, ANSWERING)
    event = send_customer_message(world, "Hello")
    answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend)
    send_customer_message(world, "Anybody there?")
    answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend)
    assert standin.requests() == []
    assert (world.tenant.pk, event.conversation_id) not in due_work("turns")
    deactivate_kill_switch(switch, actor=world.operator)
    assert (world.tenant.pk, event.conversation_id) in due_work("turns")
    standin.play(reply("Here I am."))
    run_turn(world, event, standin.backend)
    assert [sender for sender, _ in lines(world, event.conversation_id)] == ["customer", "customer", "agent"]
    assert len(standin.requests()) == 1


def test_a_running_turn_stops_before_its_next_model_call_and_is_resumed(world: World, standin: StandIn) -> None:
    event = send_customer_message(world, "Hello")
    standin.play(tool("list_skills"), reply("Never said."))
    model = InterruptedModel(lambda: throw_test_switch(world, ANSWERING), standin)
    answer_conversation(world.tenant.pk, event.conversation_id, backend=model)
    assert len(model.asked) == 1
    turn = turn_of(world, event)
    assert (turn.status, turn.failure_code) == (Turn.Status.RUNNING, "stopped")
    assert turn.failure == "Answering is paused for every agent."
    # A day goes by; whoever was held has not grown old by itself.
    with acting_as(world.system):
        long_ago = timezone.now() - 2 * TURN_DEADLINE
        Turn.objects.filter(pk=turn.pk).update(lease_until=long_ago, deadline_at=long_ago + TURN_DEADLINE)
        [switch] = KillSwitch.objects.visible_to(world.system).on()
    deactivate_kill_switch(switch, actor=world.operator)
    standin.play(reply("Sorry for the wait."))
    run_turn(world, event, standin.backend)
    # The call of the tool before the stop is behind it, not repeated.
    assert lines(world, event.conversation_id) == [
        ("customer", "Hello"),
        ("agent", ""),
        ("agent", "Sorry for the wait."),
    ]


def test_a_reply_written_while_answering_was_paused_leaves_when_it_goes_on(world: World, standin: StandIn) -> None:
    event = send_customer_message(world, "Hello")
    standin.play(reply("Here you are."))
    model = InterruptedModel(lambda: throw_test_switch(world, ANSWERING), standin)
    answer_conversation(world.tenant.pk, event.conversation_id, backend=model)
    with acting_as(world.operator):
        assert not Message.objects.exists()
        [switch] = KillSwitch.objects.visible_to(world.operator).on()
    assert turn_of(world, event).failure_code == "stopped"
    deactivate_kill_switch(switch, actor=world.operator)
    answer_conversation(world.tenant.pk, event.conversation_id, backend=model)
    assert lines(world, event.conversation_id) == [("customer", "Hello"), ("agent", "Here you are.")]
    assert len(model.asked) == 1, "what was paid for is not asked again"


def test_while_sending_is_paused_replies_wait_for_a_person(world: World, standin: StandIn) -> None:
    # R134
    event = send_customer_message(world, "Hello")
    standin.play(reply("Let me see."))
    model = InterruptedModel(lambda: throw_test_switch(world, SENDING), standin)
    answer_conversation(world.tenant.pk, event.conversation_id, backend=model)
    assert (turn_of(world, event).status, turn_of(world, event).outcome) == ("done", "drafted")
    assert lines(world, event.conversation_id) == [("customer", "Hello")]
    with acting_as(world.operator):
        assert [draft.text for draft in Draft.objects.visible_to(world.operator).open()] == ["Let me see."]


def test_a_switch_reaches_no_further_than_it_says(world: World, standin: StandIn) -> None:
    other = create_agent("sales", "Sales", actor=world.admin)
    throw_test_switch(world, ANSWERING, other)
    throw_test_switch(world, ANSWERING, world.agent, "sms")
    neighbour = make_world()
    throw_test_switch(neighbour, ANSWERING)
    standin.play(reply("Hello!"))
    assert run_turn(world, send_customer_message(world, "Hello"), standin.backend).status == Turn.Status.DONE
    held = send_customer_message(world, "Hello by sms", thread="phone", channel="sms", customer="sms:+1")
    answer_conversation(world.tenant.pk, held.conversation_id, backend=standin.backend)
    assert len(standin.requests()) == 1


def test_while_learning_is_frozen_agents_and_workers_write_nothing_and_people_do(world: World) -> None:
    persona, memory, profile = make_persona(world), make_memory(world), make_profile(world)
    switch = throw_test_switch(world, FREEZE)
    for write in (
        lambda: make_skill(world),
        lambda: make_skill(world, actor=world.system),
        lambda: amend_memory(memory, actor=world.bot, heard=NO_RECEIVED_TEXTS, body="New."),
        lambda: amend_profile(profile, actor=world.bot, values={"notes": "New."}),
        lambda: propose_patch(persona, actor=world.bot, text="Say hello first."),
    ):
        with pytest.raises(StoppedByKillSwitch, match="Learning is frozen by an operator"):
            write()
    amend_memory(memory, actor=world.operator, body="Corrected by a person.")
    deactivate_kill_switch(switch, actor=world.operator)
    assert make_skill(world).status == Skill.Status.DRAFT


def test_a_freeze_of_one_agent_leaves_the_others_learning(world: World) -> None:
    other = create_agent("sales", "Sales", actor=world.admin)
    throw_test_switch(world, FREEZE, other)
    assert make_skill(world).pk
    throw_test_switch(world, FREEZE, world.agent)
    with pytest.raises(StoppedByKillSwitch):
        make_skill(world)


def test_postgresql_itself_refuses_an_agent_that_writes_while_learning_is_frozen(world: World) -> None:
    memory = make_memory(world)
    write = "UPDATE memory_agentmemory SET body = 'New.' WHERE id = %s"
    assert run_and_undo(world.bot, write, [memory.pk]).passed
    switch = throw_test_switch(world, FREEZE)
    assert run_and_undo(world.bot, write, [memory.pk]).sqlstate == NO_RIGHT
    assert run_and_undo(
        world.bot, "UPDATE kill_switches_killswitch SET status = 'off' WHERE id = %s", [switch.pk]
    ).sqlstate
    assert run_and_undo(world.bot, "SELECT reason FROM kill_switches_killswitch").sqlstate == NO_RIGHT
    assert run_and_undo(world.bot, "SELECT kind FROM kill_switches_killswitch").rows == 1


def test_a_turn_goes_on_without_learning_where_one_channel_is_frozen(world: World, standin: StandIn) -> None:
    throw_test_switch(world, FREEZE, channel="http")
    standin.play(tool("update_memory", body="Learned."), reply("Done."))
    event = send_customer_message(world, "Remember this")
    turn = run_turn(world, event, standin.backend)
    [call] = calls(world, turn)
    assert call["is_error"]
    assert call["result"].startswith("Learning is frozen for every agent on channel http.")
    with acting_as(world.system):
        assert not AgentMemory.objects.visible_to(world.system).exists()


def test_a_conversation_waits_for_its_extraction_while_learning_is_frozen(world: World, standin: StandIn) -> None:
    conversation = make_conversation(world)
    resolve_conversation(conversation, actor=world.bot, outcome=Conversation.Outcome.SOLVED)
    switch = throw_test_switch(world, FREEZE)
    assert extract_conversation(conversation.pk, actor=world.system, backend=standin.backend) is None
    assert (world.tenant.pk, conversation.pk) not in due_work("extractions")
    assert standin.requests() == []
    deactivate_kill_switch(switch, actor=world.operator)
    assert (world.tenant.pk, conversation.pk) in due_work("extractions")
    assert extract_conversation(conversation.pk, actor=world.system, backend=standin.backend) is not None


def test_a_freeze_thrown_while_the_extractor_reads_leaves_the_conversation_for_later(
    world: World, standin: StandIn
) -> None:
    conversation = make_conversation(world)
    resolve_conversation(conversation, actor=world.bot, outcome=Conversation.Outcome.SOLVED)
    model = InterruptedModel(lambda: throw_test_switch(world, FREEZE), standin)
    assert extract_conversation(conversation.pk, actor=world.system, backend=model) is None
    with acting_as(world.operator):
        assert not Skill.objects.visible_to(world.operator).exists()
        [switch] = KillSwitch.objects.visible_to(world.operator).on()
    deactivate_kill_switch(switch, actor=world.operator)
    assert extract_conversation(conversation.pk, actor=world.system, backend=standin.backend) is not None


def test_a_switch_is_on_once_and_lifted_once(world: World) -> None:
    switch = throw_test_switch(world, ANSWERING)
    with pytest.raises(Conflict, match="A switch for this is on already"):
        throw_test_switch(world, ANSWERING)
    deactivate_kill_switch(switch, actor=world.operator)
    with pytest.raises(IllegalTransition):
        deactivate_kill_switch(switch, actor=world.operator)
    assert throw_test_switch(world, ANSWERING).pk != switch.pk


def test_a_switch_says_why_and_where(world: World) -> None:
    with pytest.raises(Invalid, match="Say why"):
        activate_kill_switch(ANSWERING, actor=world.operator, reason=" ")
    with pytest.raises(Invalid, match="channel"):
        activate_kill_switch(ANSWERING, actor=world.operator, reason="Why.", channel="Not a channel")
    assert str(throw_test_switch(world, SENDING, world.agent, "sms")) == (
        "Autonomous sending is paused for agent support on channel sms."
    )
