"""The playground: an agent for customers, tried by one person alone, as it is or as an open proposal would have it."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from django.utils import timezone

from apps.conversations.actions import (
    abandon_conversation,
    receive_message,
    resolve_conversation,
    take_over_conversation,
)
from apps.conversations.models import Conversation, InboundEvent
from apps.governance.database.actor_transaction import acting
from apps.governance.errors import IllegalTransition, Invalid, NotPermitted, NotVisible
from apps.governance.models import Proposal, Taint
from apps.kill_switches.models import KillSwitch
from apps.memory.models import AgentMemory
from apps.memory.write_holds import propose_profile
from apps.personas.models import Persona
from apps.review.proposal_submission import ask
from apps.runtime.explain.impact import foreseen
from apps.runtime.limits.turn_budgets import DaySpent
from apps.runtime.models import ModelCall, Spend, Turn
from apps.runtime.off_the_record_erasure import forget_due
from apps.runtime.prompt_snapshot.playground_proposal import KIND
from apps.runtime.sessions.session_prefix import Frozen, thawed
from apps.runtime.streaming.conversation_feed import place_of, since
from apps.runtime.streaming.reply_pubsub import may_be_aired
from apps.runtime.turn_store.turn_claim import claim
from apps.runtime.turns.turn_completion import wait_for_money
from apps.runtime.worker.sync_driver import answer
from apps.skills.models import SkillUse
from apps.skills.proposals import propose_deprecation, propose_revision
from apps.tenants.actions import amend_agent
from tests.conversations.test_off_the_record_erasure_due import due, wrote
from tests.review.test_impact_prediction import would_of
from tests.support.drivers.conversation import calls, fault, lines, prompt, reply, say, sessions, tool, unmarked
from tests.support.factories.approvals import say_yes
from tests.support.factories.member_talks import as_assistant, make_trial, tell_assistant
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_neighbour, make_persona, make_profile, make_skill, make_world

pytestmark = pytest.mark.django_db
STYLE = "Sing every answer."


@pytest.fixture
def world() -> World:
    world = make_world()
    make_persona(world)
    return world


def open_ones(world: World) -> Proposal:
    with acting(world.operator):
        return Proposal.objects.visible_to(world.operator).open().latest("pk")


def proposed(world: World) -> Proposal:
    """The agent would speak otherwise, and nobody has said yes."""
    with acting(world.operator):
        persona = Persona.objects.get(agent=world.agent)
    content = {"style": STYLE}
    ask(Proposal.Kind.PERSONA_FIELDS, persona.pk, actor=world.bot, content=content, taint=Taint.AGENT)
    return open_ones(world)


def tried(world: World, trial: Conversation, standin: StandIn, *script: dict[str, object], text: str = "Hello") -> Turn:
    """The person says something as a customer would, and a worker takes the turn."""
    tell_assistant(trial, text, world.operator)
    standin.play(*(script or (reply("Hello there."),)))
    answer(trial.tenant_id, trial.pk, backend=standin.backend)
    with acting(world.system):
        return Turn.objects.filter(conversation=trial).latest("pk")


def frozen(world: World, conversation: Conversation) -> Frozen:
    with acting(world.system):
        return thawed(sessions(world, conversation)[-1])


def owners(world: World, conversation: Conversation) -> list[tuple[str, int]]:
    """What in a prompt waits for a yes: the words, and whose they are."""
    segments = [segment for part in frozen(world, conversation).assembled.parts for segment in part.segments]
    found = [(segment.text, segment.source) for segment in segments]
    return [(text, source.record_id) for text, source in found if source and source.record_type == KIND]


def test_a_person_tries_an_agent_and_is_a_customer_to_it(world: World, standin: StandIn) -> None:
    trial = make_trial(world)
    assert (trial.channel, trial.member_user_id, trial.off_the_record) == ("playground", world.operator_user.pk, True)
    turn = tried(world, trial, standin)
    assert (turn.status, lines(world, trial.pk)) == (
        Turn.Status.DONE,
        [("customer", "Hello"), ("agent", "Hello there.")],
    )
    body = standin.requests()[-1]
    say(world, "Hello", standin)
    live = standin.requests()[-1]
    # To the byte what a customer of whom nothing is known would have got, tools included.
    assert prompt(body) == prompt(live)
    assert unmarked(body["tools"]) == unmarked(live["tools"])
    assert "off the record" not in str(body["messages"])
    assert owners(world, trial) == []


def test_nobody_else_reads_what_somebody_tries(world: World, standin: StandIn) -> None:
    trial = make_trial(world)
    tried(world, trial, standin)
    for actor, number in ((world.operator, 1), (world.admin, 0), (world.bot, 0)):
        with acting(actor):
            assert Conversation.objects.visible_to(actor).filter(channel="playground").count() == number
            assert InboundEvent.objects.count() == number
    with pytest.raises(NotVisible):
        tell_assistant(trial, "I am not who you think", world.admin)
    with pytest.raises(NotPermitted):
        make_trial(world, world.bot)


def test_no_assistant_is_tried_and_no_agent_of_nowhere(world: World) -> None:
    with pytest.raises(Invalid, match="is an assistant"):
        make_trial(as_assistant(make_world()))
    stranger = make_world()
    with pytest.raises(NotVisible, match="There is no such agent"):
        make_trial(stranger, world.operator)
    for actor in (world.bot, world.operator):
        with pytest.raises(Invalid, match="The channel playground is for"):
            receive_message(
                world.agent.pk, actor=actor, channel="playground", conversation_key="t", text="Hi", idempotency_key="a"
            )


@pytest.mark.slow
def test_a_proposal_is_tried_by_one_person_and_reaches_no_customer(world: World, standin: StandIn) -> None:
    proposal = proposed(world)
    trial = make_trial(world, proposal_id=proposal.pk)
    assert tried(world, trial, standin).status == Turn.Status.DONE
    assert STYLE in prompt(standin.requests()[-1])
    assert owners(world, trial) == [(STYLE, proposal.pk)]
    say(world, "Hello", standin)
    assert STYLE not in prompt(standin.requests()[-1])
    tried(world, make_trial(world), standin)
    assert STYLE not in prompt(standin.requests()[-1])
    # What it would then be is what was tried.
    say_yes(proposal, world.operator)
    if proposal.state == Proposal.State.OPEN:
        say_yes(proposal, world.admin)
    say(world, "And now?", standin, thread="after")
    assert prompt(standin.requests()[-1]) == frozen(world, trial).assembled.text


def test_what_is_decided_meanwhile_is_tried_no_more(world: World, standin: StandIn) -> None:
    trial = make_trial(world, proposal_id=proposed(world).pk)
    say_yes(open_ones(world), world.operator)
    turn = tried(world, trial, standin)
    assert (turn.status, turn.failure_code) == (Turn.Status.FAILED, "proposal_decided")
    assert "does not wait any more" in turn.failure
    with pytest.raises(Invalid, match="There is no open proposal"):
        make_trial(world, proposal_id=trial.trial_proposal_id)


@pytest.mark.slow
def test_a_draft_and_a_revision_are_read_as_they_would_be(world: World, standin: StandIn) -> None:
    draft = make_skill(world, name="greet-in-song")
    trial = make_trial(world, proposal_id=open_ones(world).pk)
    turn = tried(world, trial, standin, tool("get_skill", skill_id=draft.pk), reply("La."))
    [call] = calls(world, turn)
    assert not call["is_error"]
    assert "greet-in-song" in call["result"]
    assert "greet-in-song" in prompt(standin.requests()[-1])
    standing = make_skill(world, "approved", name="stands-there")
    propose_revision(standing, actor=world.bot, values={"body": f"{standing.body}\nThen sing."})
    revised = make_trial(world, proposal_id=open_ones(world).pk)
    turn = tried(world, revised, standin, tool("get_skill", skill_id=standing.pk), reply("La."))
    assert "Then sing." in calls(world, turn)[0]["result"]
    with acting(world.system):
        assert not SkillUse.objects.filter(use_count__gt=0).exists()
    # Another one of the agent's is read as it stands, and what is not approved not at all.
    turn = tried(world, revised, standin, tool("get_skill", skill_id=draft.pk), reply("La."))
    assert calls(world, turn)[0]["is_error"]


def test_a_skill_that_would_go_is_not_there(world: World, standin: StandIn) -> None:
    standing = make_skill(world, "approved", name="stands-there")
    propose_deprecation(standing, actor=world.bot, rationale="Nobody asks for it.")
    tried(world, make_trial(world, proposal_id=open_ones(world).pk), standin)
    assert "stands-there" not in prompt(standin.requests()[-1])


def test_what_is_no_proposal_about_this_agent_is_not_tried(world: World) -> None:
    proposal = proposed(world)
    with pytest.raises(Invalid, match="Choose that agent"):
        make_trial(replace(world, agent=make_neighbour(world)), proposal_id=proposal.pk)
    with pytest.raises(Invalid, match="There is no open proposal"):
        make_trial(make_world(), proposal_id=proposal.pk)
    propose_profile(make_profile(world), {"notes": "Has a dog."}, actor=world.bot, evidence=None)
    with pytest.raises(Invalid, match="is about one customer"):
        make_trial(world, proposal_id=open_ones(world).pk)


def test_nothing_that_writes_is_called_and_nothing_is_kept(world: World, standin: StandIn) -> None:
    script = (
        tool("update_memory", body="They sing."),
        tool("escalate", reason="policy", question="May I?"),
        reply("I could not."),
    )
    turn = tried(world, make_trial(world), standin, *script)
    made = calls(world, turn)
    assert [call["is_error"] for call in made] == [True, True]
    assert all("Nothing was called: this is the playground" in call["result"] for call in made), made
    assert turn.outcome == Turn.Outcome.REPLIED
    with acting(world.system):
        assert not AgentMemory.objects.exists()


def test_what_it_costs_counts_and_what_it_reaches_does_not(world: World, standin: StandIn) -> None:
    proposal = proposed(world)
    with acting(world.operator):
        before = foreseen(would_of(proposal, world), actor=world.operator, now=timezone.now())
    tried(world, make_trial(world, proposal_id=proposal.pk), standin)
    with acting(world.operator):
        after = foreseen(would_of(proposal, world), actor=world.operator, now=timezone.now())
        assert Spend.objects.get().calls == 1
        # What tells such calls from those for customers.
        assert ModelCall.objects.get().turn.conversation.is_trial
    assert (before.sessions, after.sessions) == (0, 0)


def test_a_bill_that_is_not_paid_stops_no_agent_from_the_playground(world: World, standin: StandIn) -> None:
    turn = tried(world, make_trial(world), standin, fault("spend_limit"))
    assert (turn.status, turn.failure_code) == (Turn.Status.RUNNING, "spend_limit_reached")
    with acting(world.operator):
        assert not KillSwitch.objects.visible_to(world.operator).exists()


def test_the_day_s_one_word_about_money_is_not_spent_on_who_tries(world: World) -> None:
    trial = make_trial(world)
    tell_assistant(trial, "Hello", world.operator)
    claimed = claim(trial.pk, actor=world.system)
    assert claimed is not None
    wait_for_money(claimed, DaySpent(), actor=world.system)
    with acting(world.operator):
        assert not Spend.objects.exclude(budget_escalated_at=None).exists()


def test_an_answer_is_heard_while_it_is_said_whatever_holds_those_to_customers(world: World) -> None:
    amend_agent(world.agent, actor=world.admin, send_mode="suggest")
    trial = make_trial(world)
    tell_assistant(trial, "Hello", world.operator)
    claimed = claim(trial.pk, actor=world.system)
    assert claimed is not None
    assert may_be_aired(claimed)


def test_who_tries_follows_the_talk_and_nobody_else_does(world: World, standin: StandIn) -> None:
    trial = make_trial(world)
    before = place_of(trial.pk, actor=world.operator)
    tried(world, trial, standin)
    assert [heard.event for heard in since(trial.pk, before, actor=world.operator)] == ["reply", "turn"]
    for actor in (world.admin, world.bot):
        with pytest.raises(NotVisible):
            place_of(trial.pk, actor=actor)


def test_what_was_said_goes_at_once_when_it_is_forgotten(world: World, standin: StandIn) -> None:
    trial = make_trial(world)
    tried(world, trial, standin)
    forget_due(trial.tenant_id, trial.pk)
    assert lines(world, trial.pk) != [("customer", ""), ("agent", "")]
    abandon_conversation(trial, actor=world.operator)
    forget_due(trial.tenant_id, trial.pk)
    assert lines(world, trial.pk) == [("customer", ""), ("agent", "")]
    with acting(world.system):
        assert [*InboundEvent.objects.values_list("text", flat=True)] == [""]
        assert [*ModelCall.objects.values_list("text", "assistant_message", "user_turn")] == [("", None, None)]


@pytest.mark.parametrize(("minutes", "is_due"), [(59, False), (61, True)])
def test_what_nobody_wrote_in_for_an_hour_goes_by_itself(world: World, minutes: int, is_due: bool) -> None:
    trial = make_trial(world)
    wrote(world, trial, minutes)
    assert due(world) == [trial.pk] * is_due


def test_nothing_of_a_customers_conversation_is_done_with_it(world: World) -> None:
    trial = make_trial(world)
    deeds: list[Callable[[], object]] = [
        lambda: resolve_conversation(trial, actor=world.operator),
        lambda: take_over_conversation(trial, actor=world.operator),
    ]
    for deed in deeds:
        with pytest.raises(IllegalTransition):
            deed()
