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
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import IllegalTransition, Invalid, NotPermitted, NotVisible
from apps.governance.models import Proposal, Taint
from apps.kill_switches.models import KillSwitch
from apps.memory.models import AgentMemory
from apps.memory.write_holds import propose_profile
from apps.personas.models import Persona
from apps.review.proposal_submission import submit_proposal
from apps.runtime.explain.impact import impact_of
from apps.runtime.limits.turn_budgets import DayBudgetSpent
from apps.runtime.models import ModelCall, Spend, Turn
from apps.runtime.off_the_record_erasure import erase_if_due
from apps.runtime.prompt_snapshot.playground_proposal import PROPOSAL_TYPE
from apps.runtime.sessions.session_prefix import SessionPrefix, load_prefix
from apps.runtime.streaming.conversation_feed import current_cursor, events_since
from apps.runtime.streaming.reply_pubsub import may_be_streamed
from apps.runtime.turn_store.turn_claim import claim_turn
from apps.runtime.turns.turn_completion import wait_for_budget
from apps.runtime.worker.sync_driver import answer_conversation
from apps.skills.models import SkillUse
from apps.skills.proposals import propose_deprecation, propose_revision
from apps.tenants.actions import amend_agent
from tests.conversations.test_off_the_record_erasure_due import due_erasures, insert_operator_message
from tests.review.test_impact_prediction import expected_change
from tests.support.drivers.conversation import (
    calls,
    fault,
    lines,
    prompt,
    reply,
    run_customer_turn,
    sessions,
    tool,
    without_cache_marks,
)
from tests.support.factories.approvals import approve_as_read
from tests.support.factories.member_talks import make_trial, message_assistant, turn_into_assistant
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_neighbour, make_persona, make_profile, make_skill, make_world

pytestmark = pytest.mark.django_db
STYLE = "Sing every answer."


@pytest.fixture
def world() -> World:
    world = make_world()
    make_persona(world)
    return world


def latest_open_proposal(world: World) -> Proposal:
    with acting_as(world.operator):
        return Proposal.objects.visible_to(world.operator).open().latest("pk")


def propose_style(world: World) -> Proposal:
    """The agent would speak otherwise, and nobody has said yes."""
    with acting_as(world.operator):
        persona = Persona.objects.get(agent=world.agent)
    content = {"style": STYLE}
    submit_proposal(Proposal.Kind.PERSONA_FIELDS, persona.pk, actor=world.bot, content=content, taint=Taint.AGENT)
    return latest_open_proposal(world)


def run_trial(
    world: World, trial: Conversation, standin: StandIn, *script: dict[str, object], text: str = "Hello"
) -> Turn:
    """The person says something as a customer would, and a worker takes the turn."""
    message_assistant(trial, text, world.operator)
    standin.play(*(script or (reply("Hello there."),)))
    answer_conversation(trial.tenant_id, trial.pk, backend=standin.backend)
    with acting_as(world.system):
        return Turn.objects.filter(conversation=trial).latest("pk")


def frozen_session(world: World, conversation: Conversation) -> SessionPrefix:
    with acting_as(world.system):
        return load_prefix(sessions(world, conversation)[-1])


def owners(world: World, conversation: Conversation) -> list[tuple[str, int]]:
    """What in a prompt waits for a yes: the words, and whose they are."""
    segments = [segment for part in frozen_session(world, conversation).assembled.parts for segment in part.segments]
    found = [(segment.text, segment.source) for segment in segments]
    return [(text, source.record_id) for text, source in found if source and source.record_type == PROPOSAL_TYPE]


def test_a_person_tries_an_agent_and_is_a_customer_to_it(world: World, standin: StandIn) -> None:
    trial = make_trial(world)
    assert (trial.channel, trial.member_user_id, trial.off_the_record) == ("playground", world.operator_user.pk, True)
    turn = run_trial(world, trial, standin)
    assert (turn.status, lines(world, trial.pk)) == (
        Turn.Status.DONE,
        [("customer", "Hello"), ("agent", "Hello there.")],
    )
    body = standin.requests()[-1]
    run_customer_turn(world, "Hello", standin)
    live = standin.requests()[-1]
    # To the byte what a customer of whom nothing is known would have got, tools included.
    assert prompt(body) == prompt(live)
    assert without_cache_marks(body["tools"]) == without_cache_marks(live["tools"])
    assert "off the record" not in str(body["messages"])
    assert owners(world, trial) == []


def test_nobody_else_reads_what_somebody_tries(world: World, standin: StandIn) -> None:
    trial = make_trial(world)
    run_trial(world, trial, standin)
    for actor, number in ((world.operator, 1), (world.admin, 0), (world.bot, 0)):
        with acting_as(actor):
            assert Conversation.objects.visible_to(actor).filter(channel="playground").count() == number
            assert InboundEvent.objects.count() == number
    with pytest.raises(NotVisible):
        message_assistant(trial, "I am not who you think", world.admin)
    with pytest.raises(NotPermitted):
        make_trial(world, world.bot)


def test_no_assistant_is_tried_and_no_agent_of_nowhere(world: World) -> None:
    with pytest.raises(Invalid, match="is an assistant"):
        make_trial(turn_into_assistant(make_world()))
    stranger = make_world()
    with pytest.raises(NotVisible, match="There is no such agent"):
        make_trial(stranger, world.operator)
    for actor in (world.bot, world.operator):
        with pytest.raises(Invalid, match="The channel playground is reserved for"):
            receive_message(
                world.agent.pk, actor=actor, channel="playground", conversation_key="t", text="Hi", idempotency_key="a"
            )


@pytest.mark.slow
def test_a_proposal_is_tried_by_one_person_and_reaches_no_customer(world: World, standin: StandIn) -> None:
    proposal = propose_style(world)
    trial = make_trial(world, proposal_id=proposal.pk)
    assert run_trial(world, trial, standin).status == Turn.Status.DONE
    assert STYLE in prompt(standin.requests()[-1])
    assert owners(world, trial) == [(STYLE, proposal.pk)]
    run_customer_turn(world, "Hello", standin)
    assert STYLE not in prompt(standin.requests()[-1])
    run_trial(world, make_trial(world), standin)
    assert STYLE not in prompt(standin.requests()[-1])
    # What it would then be is what was tried.
    approve_as_read(proposal, world.operator)
    if proposal.state == Proposal.State.OPEN:
        approve_as_read(proposal, world.admin)
    run_customer_turn(world, "And now?", standin, thread="after")
    assert prompt(standin.requests()[-1]) == frozen_session(world, trial).assembled.text


def test_what_is_decided_meanwhile_is_tried_no_more(world: World, standin: StandIn) -> None:
    trial = make_trial(world, proposal_id=propose_style(world).pk)
    approve_as_read(latest_open_proposal(world), world.operator)
    turn = run_trial(world, trial, standin)
    assert (turn.status, turn.failure_code) == (Turn.Status.FAILED, "proposal_decided")
    assert "is no longer open" in turn.failure
    with pytest.raises(Invalid, match="There is no open proposal"):
        make_trial(world, proposal_id=trial.trial_proposal_id)


@pytest.mark.slow
def test_a_draft_and_a_revision_are_read_as_they_would_be(world: World, standin: StandIn) -> None:
    draft = make_skill(world, name="greet-in-song")
    trial = make_trial(world, proposal_id=latest_open_proposal(world).pk)
    turn = run_trial(world, trial, standin, tool("get_skill", skill_id=draft.pk), reply("La."))
    [call] = calls(world, turn)
    assert not call["is_error"]
    assert "greet-in-song" in call["result"]
    assert "greet-in-song" in prompt(standin.requests()[-1])
    standing = make_skill(world, "approved", name="stands-there")
    propose_revision(standing, actor=world.bot, values={"body": f"{standing.body}\nThen sing."})
    revised = make_trial(world, proposal_id=latest_open_proposal(world).pk)
    turn = run_trial(world, revised, standin, tool("get_skill", skill_id=standing.pk), reply("La."))
    assert "Then sing." in calls(world, turn)[0]["result"]
    with acting_as(world.system):
        assert not SkillUse.objects.filter(use_count__gt=0).exists()
    # Another one of the agent's is read as it stands, and what is not approved not at all.
    turn = run_trial(world, revised, standin, tool("get_skill", skill_id=draft.pk), reply("La."))
    assert calls(world, turn)[0]["is_error"]


def test_a_skill_that_would_go_is_not_there(world: World, standin: StandIn) -> None:
    standing = make_skill(world, "approved", name="stands-there")
    propose_deprecation(standing, actor=world.bot, rationale="Nobody asks for it.")
    run_trial(world, make_trial(world, proposal_id=latest_open_proposal(world).pk), standin)
    assert "stands-there" not in prompt(standin.requests()[-1])


def test_what_is_no_proposal_about_this_agent_is_not_tried(world: World) -> None:
    proposal = propose_style(world)
    with pytest.raises(Invalid, match="Choose that agent"):
        make_trial(replace(world, agent=make_neighbour(world)), proposal_id=proposal.pk)
    with pytest.raises(Invalid, match="There is no open proposal"):
        make_trial(make_world(), proposal_id=proposal.pk)
    propose_profile(make_profile(world), {"notes": "Has a dog."}, actor=world.bot, evidence=None)
    with pytest.raises(Invalid, match="is about one customer"):
        make_trial(world, proposal_id=latest_open_proposal(world).pk)


def test_nothing_that_writes_is_called_and_nothing_is_kept(world: World, standin: StandIn) -> None:
    script = (
        tool("update_memory", body="They sing."),
        tool("escalate", reason="policy", question="May I?"),
        reply("I could not."),
    )
    turn = run_trial(world, make_trial(world), standin, *script)
    made = calls(world, turn)
    assert [call["is_error"] for call in made] == [True, True]
    assert all("Nothing was called: this is the playground" in call["result"] for call in made), made
    assert turn.outcome == Turn.Outcome.REPLIED
    with acting_as(world.system):
        assert not AgentMemory.objects.exists()


def test_what_it_costs_counts_and_what_it_reaches_does_not(world: World, standin: StandIn) -> None:
    proposal = propose_style(world)
    with acting_as(world.operator):
        before = impact_of(expected_change(proposal, world), actor=world.operator, now=timezone.now())
    run_trial(world, make_trial(world, proposal_id=proposal.pk), standin)
    with acting_as(world.operator):
        after = impact_of(expected_change(proposal, world), actor=world.operator, now=timezone.now())
        assert Spend.objects.get().calls == 1
        # What tells such calls from those for customers.
        assert ModelCall.objects.get().turn.conversation.is_trial
    assert (before.sessions, after.sessions) == (0, 0)


def test_a_bill_that_is_not_paid_stops_no_agent_from_the_playground(world: World, standin: StandIn) -> None:
    turn = run_trial(world, make_trial(world), standin, fault("spend_limit"))
    assert (turn.status, turn.failure_code) == (Turn.Status.RUNNING, "spend_limit_reached")
    with acting_as(world.operator):
        assert not KillSwitch.objects.visible_to(world.operator).exists()


def test_the_day_s_one_word_about_money_is_not_spent_on_who_tries(world: World) -> None:
    trial = make_trial(world)
    message_assistant(trial, "Hello", world.operator)
    claimed = claim_turn(trial.pk, actor=world.system)
    assert claimed is not None
    wait_for_budget(claimed, DayBudgetSpent(), actor=world.system)
    with acting_as(world.operator):
        assert not Spend.objects.exclude(budget_escalated_at=None).exists()


def test_an_answer_is_heard_while_it_is_said_whatever_holds_those_to_customers(world: World) -> None:
    amend_agent(world.agent, actor=world.admin, send_mode="suggest")
    trial = make_trial(world)
    message_assistant(trial, "Hello", world.operator)
    claimed = claim_turn(trial.pk, actor=world.system)
    assert claimed is not None
    assert may_be_streamed(claimed)


def test_who_tries_follows_the_talk_and_nobody_else_does(world: World, standin: StandIn) -> None:
    trial = make_trial(world)
    before = current_cursor(trial.pk, actor=world.operator)
    run_trial(world, trial, standin)
    assert [heard.event for heard in events_since(trial.pk, before, actor=world.operator)] == ["reply", "turn"]
    for actor in (world.admin, world.bot):
        with pytest.raises(NotVisible):
            current_cursor(trial.pk, actor=actor)


def test_what_was_said_goes_at_once_when_it_is_forgotten(world: World, standin: StandIn) -> None:
    trial = make_trial(world)
    run_trial(world, trial, standin)
    erase_if_due(trial.tenant_id, trial.pk)
    assert lines(world, trial.pk) != [("customer", ""), ("agent", "")]
    abandon_conversation(trial, actor=world.operator)
    erase_if_due(trial.tenant_id, trial.pk)
    assert lines(world, trial.pk) == [("customer", ""), ("agent", "")]
    with acting_as(world.system):
        assert [*InboundEvent.objects.values_list("text", flat=True)] == [""]
        assert [*ModelCall.objects.values_list("text", "assistant_message", "user_turn")] == [("", None, None)]


@pytest.mark.parametrize(("minutes", "is_due"), [(59, False), (61, True)])
def test_an_idle_trial_is_deleted_after_an_hour(world: World, minutes: int, is_due: bool) -> None:
    trial = make_trial(world)
    insert_operator_message(world, trial, minutes)
    assert due_erasures(world) == [trial.pk] * is_due


def test_nothing_of_a_customers_conversation_is_done_with_it(world: World) -> None:
    trial = make_trial(world)
    deeds: list[Callable[[], object]] = [
        lambda: resolve_conversation(trial, actor=world.operator),
        lambda: take_over_conversation(trial, actor=world.operator),
    ]
    for deed in deeds:
        with pytest.raises(IllegalTransition):
            deed()
