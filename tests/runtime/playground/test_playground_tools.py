"""Tools of others in the playground: what reads is called, and what may write is offered and not called."""

import json
from collections.abc import Callable, Mapping

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.prompt.prompt_input import Slot
from apps.runtime.models import Turn
from apps.runtime.turns.tool_calls import NOT_IN_PLAYGROUND
from apps.skills.proposals import propose_revision
from apps.tenants.actions import amend_agent
from apps.tools.models import ToolApproval, ToolServer
from tests.review.test_impact_prediction import PROPOSAL_MAKERS, SLOTS
from tests.runtime.playground.test_playground import frozen_session, latest_open_proposal, owners, run_trial
from tests.support.drivers.conversation import calls, reply, tool
from tests.support.drivers.external_tool_turns import allow_agent_tool, offered_external_tools, steps
from tests.support.factories.member_talks import make_trial
from tests.support.servers.standin_model import StandIn
from tests.support.servers.tool_server import ToolServerProcess
from tests.support.worlds.world import World, make_persona, make_skill, make_world

pytestmark = pytest.mark.django_db


def test_what_reads_is_called_and_what_writes_is_not(
    reaching: World, asked_server: ToolServer, served: ToolServerProcess, standin: StandIn
) -> None:
    reads = str(allow_agent_tool(reaching, asked_server, "find_order"))
    writes = str(allow_agent_tool(reaching, asked_server, "refund", waits=True))
    before = len(served.seen())
    script = (tool(reads, number="7"), tool(writes, number="7"), reply("It is on its way."))
    turn = run_trial(reaching, make_trial(reaching), standin, *script)
    assert turn.status == Turn.Status.DONE
    assert offered_external_tools(standin) == [reads, writes]
    found, refused = steps(reaching, turn)
    assert not found.is_error
    assert (refused.is_error, refused.result) == (True, NOT_IN_PLAYGROUND.format(name=writes))
    assert [seen["name"] for seen in served.seen()[before:] if seen["name"] in {"find_order", "refund"}] == [
        "find_order"
    ]


def test_no_person_is_asked_to_let_a_call_of_the_playground(
    reaching: World, asked_server: ToolServer, served: ToolServerProcess, standin: StandIn
) -> None:
    guarded, before = str(allow_agent_tool(reaching, asked_server, "find_order", waits=True)), len(served.seen())
    turn = run_trial(reaching, make_trial(reaching), standin, tool(guarded, number="7"), reply("I could not look."))
    assert steps(reaching, turn)[0].result == NOT_IN_PLAYGROUND.format(name=guarded)
    assert "find_order" not in [seen["name"] for seen in served.seen()[before:]]
    with acting_as(reaching.operator):
        assert not ToolApproval.objects.visible_to(reaching.operator).exists()


TRIAL_PROPOSALS: Mapping[Proposal.Kind, Callable[[World], object]] = {
    kind: PROPOSAL_MAKERS[kind] for kind in PROPOSAL_MAKERS if kind != Proposal.Kind.PROFILE_CHANGE
}


@pytest.mark.parametrize("kind", TRIAL_PROPOSALS)
def test_every_kind_is_tried_and_its_words_are_its_own(standin: StandIn, kind: Proposal.Kind) -> None:
    world = make_world()
    make_persona(world)
    make_skill(world, "approved", name="stands-there")
    TRIAL_PROPOSALS[kind](world)
    proposal = latest_open_proposal(world)
    assert proposal.kind == kind
    trial = make_trial(world, proposal_id=proposal.pk)
    assert run_trial(world, trial, standin).status == Turn.Status.DONE
    waiting = {number for _, number in owners(world, trial)}
    assert waiting == (set() if kind == Proposal.Kind.SKILL_DEPRECATION else {proposal.pk})
    slots = [part.slot for part in frozen_session(world, trial).assembled.parts if part.slot is not Slot.PROFILE]
    assert SLOTS[kind] in slots


def test_a_runbook_that_is_tried_reads_the_same_by_both_tools(standin: StandIn) -> None:
    # R101
    world = make_world()
    amend_agent(world.agent, actor=world.admin, may_edit_skills=True)
    standing = make_skill(world, "approved", name="stands-there")
    propose_revision(standing, actor=world.bot, values={"body": f"{standing.body}\nThen sing."})
    trial = make_trial(world, proposal_id=latest_open_proposal(world).pk)
    turn = run_trial(world, trial, standin, tool("skill_view", skill_id=standing.pk), reply("La."))
    [call] = calls(world, turn)
    assert "Then sing." in json.loads(call["result"])["body"]
    assert "Nobody approved" not in call["result"]
