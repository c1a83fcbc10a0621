"""What a day would have an agent remember: lines that wait for a person, and never one that stands by itself (R119, Z-19)."""

import json

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord, Proposal, Taint
from apps.governance.proposals.actions import reject_proposal
from apps.learning.reflection.models import Reflection
from apps.memory.actions import create_memory
from apps.memory.line_proposals import LINES_WAITING, propose_new_lines
from apps.memory.models import AgentMemory
from tests.support.drivers.conversation import reply
from tests.support.factories.reflections import make_day, run_reflection
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_world

Verdict = Reflection.Verdict
OPENING_HOURS = "The shop opens at nine."
SUNDAY_NOTE = "On Sundays nobody picks up parcels."


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def memories_reply(*texts: str, by: tuple[int, ...] = (1, 2)) -> dict[str, object]:
    lines = [{"text": text, "conversations": list(by)} for text in texts]
    return reply(json.dumps({"skills": [], "memories": lines}))


def agent_memory(world: World) -> AgentMemory:
    with acting_as(world.operator):
        return AgentMemory.objects.visible_to(world.operator).get()


def open_proposal(world: World) -> Proposal:
    with acting_as(world.operator):
        return Proposal.objects.visible_to(world.operator).open().get()


def test_what_a_day_shows_waits_for_a_person(world: World, standin: StandIn) -> None:
    # R119
    read = make_day(world)
    standin.play(memories_reply(OPENING_HOURS, SUNDAY_NOTE))
    found, proposal = run_reflection(world, standin.backend), open_proposal(world)
    assert (found.verdict, found.skill_ids, found.proposal_ids) == (Verdict.DRAFTED, [], [proposal.pk])
    assert found.reason == "2 lines of memory wait for a person."
    assert (proposal.kind, proposal.content) == (Proposal.Kind.MEMORY_LINES, {"lines": [OPENING_HOURS, SUNDAY_NOTE]})
    assert (proposal.taint, proposal.support_count) == (Taint.CUSTOMER, 2)
    assert agent_memory(world).body == ""
    with acting_as(world.operator):
        record = ChangeRecord.objects.get(act="memory.propose")
        assert record.evidence == {"conversation_ids": [row.pk for row in read]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("The shop is closed today.", "true for one day only"),
        ("Never hand a customer over to a colleague.", "It makes the agent hand over less"),
    ],
)
def test_a_line_that_is_none_is_refused_and_says_why(world: World, standin: StandIn, text: str, message: str) -> None:
    make_day(world)
    standin.play(memories_reply(text))
    found = run_reflection(world, standin.backend)
    assert (found.verdict, found.proposal_ids) == (Verdict.REFUSED, [])
    assert message in found.reason
    with acting_as(world.operator):
        assert not Proposal.objects.exists()


def test_a_line_that_one_conversation_shows_is_none(world: World, standin: StandIn) -> None:
    make_day(world)
    standin.play(memories_reply(OPENING_HOURS, by=(2, 9)))
    assert run_reflection(world, standin.backend).reason.endswith("names 1 conversations that show it; two are needed.")


def test_what_is_remembered_in_other_words_is_known(world: World, standin: StandIn) -> None:
    create_memory(world.agent.pk, actor=world.operator, body="At nine the shop opens.")
    make_day(world)
    standin.play(memories_reply(OPENING_HOURS))
    found = run_reflection(world, standin.backend)
    assert (found.verdict, found.proposal_ids) == (Verdict.KNOWN, [])
    assert "is remembered already: “At nine the shop opens.”" in found.reason


def test_lines_join_what_waits_and_nothing_is_asked_twice(world: World) -> None:
    first = propose_new_lines(
        world.agent.pk, [OPENING_HOURS], actor=world.system, evidence={"conversation_ids": [1, 2]}
    )
    again = propose_new_lines(
        world.agent.pk, [OPENING_HOURS], actor=world.system, evidence={"conversation_ids": [3, 4]}
    )
    both = propose_new_lines(
        world.agent.pk, [OPENING_HOURS, SUNDAY_NOTE], actor=world.system, evidence={"conversation_ids": [5, 6]}
    )
    assert (again.proposal_id, again.is_known, again.said) == (
        None,
        True,
        (f"“{OPENING_HOURS}” waits for a person already.",),
    )
    assert both.proposal_id == first.proposal_id
    proposal = open_proposal(world)
    assert proposal.content == {"lines": [OPENING_HOURS, SUNDAY_NOTE]}
    reject_proposal(proposal, actor=world.admin, reason="We do not open.")
    refused = propose_new_lines(
        world.agent.pk, [OPENING_HOURS], actor=world.system, evidence={"conversation_ids": [7, 8]}
    )
    assert (refused.proposal_id, refused.is_known) == (None, False)
    assert refused.said == (f"“{OPENING_HOURS}” was turned down by a person before.",)


def test_what_stands_is_not_brought(world: World) -> None:
    memory = create_memory(world.agent.pk, actor=world.operator, body=OPENING_HOURS)
    brought = propose_new_lines(
        world.agent.pk, [OPENING_HOURS], actor=world.system, evidence={"conversation_ids": [1, 2]}
    )
    assert (brought.said, brought.is_known) == ((f"“{OPENING_HOURS}” is remembered already.",), True)
    assert agent_memory(world).version == memory.version


def test_lines_join_a_list_as_its_items_and_are_known_in_either_form(world: World) -> None:
    create_memory(world.agent.pk, actor=world.operator, body=f"- Tea is sold out.\n- {OPENING_HOURS}")
    evidence = {"conversation_ids": [1, 2]}
    brought = propose_new_lines(world.agent.pk, [OPENING_HOURS, SUNDAY_NOTE], actor=world.system, evidence=evidence)
    assert brought.said == (f"“{OPENING_HOURS}” is remembered already.", "1 line of memory waits for a person.")
    assert open_proposal(world).content == {"lines": [f"- {SUNDAY_NOTE}"]}
    again = propose_new_lines(world.agent.pk, [SUNDAY_NOTE], actor=world.system, evidence=evidence)
    assert again.said == (f"“{SUNDAY_NOTE}” waits for a person already.",)
    reject_proposal(open_proposal(world), actor=world.admin, reason="We are open.")
    refused = propose_new_lines(world.agent.pk, [SUNDAY_NOTE], actor=world.system, evidence=evidence)
    assert refused.said == (f"“{SUNDAY_NOTE}” was turned down by a person before.",)


def test_no_more_lines_wait_than_somebody_reads(world: World) -> None:
    lines = [f"Shelf {number} holds tea." for number in range(LINES_WAITING + 1)]
    brought = propose_new_lines(world.agent.pk, lines, actor=world.system, evidence={"conversation_ids": [1, 2]})
    assert brought.said == (
        f"“{lines[-1]}” would be one line too many: 30 wait for a person already.",
        "30 lines of memory wait for a person.",
    )
    assert len(open_proposal(world).content["lines"]) == LINES_WAITING
