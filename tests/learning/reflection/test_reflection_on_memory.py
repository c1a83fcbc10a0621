"""What a day would have an agent remember: lines that wait for a person, and never one that stands by itself (R119, Z-19)."""

import json

import pytest

from apps.governance.database.actor_transaction import acting
from apps.governance.models import ChangeRecord, Proposal, Taint
from apps.governance.proposals.actions import reject_proposal
from apps.learning.reflection.models import Reflection
from apps.memory.actions import create_memory
from apps.memory.line_proposals import LINES_WAITING, bring_lines
from apps.memory.models import AgentMemory
from tests.support.drivers.conversation import reply
from tests.support.factories.reflections import look_back, make_day
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_world

Verdict = Reflection.Verdict
OPEN = "The shop opens at nine."
CLOSED = "On Sundays nobody picks up parcels."


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def memories(*texts: str, by: tuple[int, ...] = (1, 2)) -> dict[str, object]:
    lines = [{"text": text, "conversations": list(by)} for text in texts]
    return reply(json.dumps({"skills": [], "memories": lines}))


def remembered(world: World) -> AgentMemory:
    with acting(world.operator):
        return AgentMemory.objects.visible_to(world.operator).get()


def waiting(world: World) -> Proposal:
    with acting(world.operator):
        return Proposal.objects.visible_to(world.operator).open().get()


def test_what_a_day_shows_waits_for_a_person(world: World, standin: StandIn) -> None:
    # R119
    read = make_day(world)
    standin.play(memories(OPEN, CLOSED))
    found, proposal = look_back(world, standin.backend), waiting(world)
    assert (found.verdict, found.skill_ids, found.proposal_ids) == (Verdict.DRAFTED, [], [proposal.pk])
    assert found.reason == "2 lines of memory wait for a person."
    assert (proposal.kind, proposal.content) == (Proposal.Kind.MEMORY_LINES, {"lines": [OPEN, CLOSED]})
    assert (proposal.taint, proposal.support_count) == (Taint.CUSTOMER, 2)
    assert remembered(world).body == ""
    with acting(world.operator):
        record = ChangeRecord.objects.get(act="memory.propose")
        assert record.evidence == {"conversation_ids": [row.pk for row in read]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The shop is closed today.", "true of one day only"),
        ("Never hand a customer over to a colleague.", "It makes the agent hand over less"),
    ],
)
def test_a_line_that_is_none_is_refused_and_says_why(world: World, standin: StandIn, text: str, said: str) -> None:
    make_day(world)
    standin.play(memories(text))
    found = look_back(world, standin.backend)
    assert (found.verdict, found.proposal_ids) == (Verdict.REFUSED, [])
    assert said in found.reason
    with acting(world.operator):
        assert not Proposal.objects.exists()


def test_a_line_that_one_conversation_shows_is_none(world: World, standin: StandIn) -> None:
    make_day(world)
    standin.play(memories(OPEN, by=(2, 9)))
    assert look_back(world, standin.backend).reason.endswith("names 1 conversations that show it; two are needed.")


def test_what_is_remembered_in_other_words_is_known(world: World, standin: StandIn) -> None:
    create_memory(world.agent.pk, actor=world.operator, body="At nine the shop opens.")
    make_day(world)
    standin.play(memories(OPEN))
    found = look_back(world, standin.backend)
    assert (found.verdict, found.proposal_ids) == (Verdict.KNOWN, [])
    assert "is remembered already: “At nine the shop opens.”" in found.reason


def test_lines_join_what_waits_and_nothing_is_asked_twice(world: World) -> None:
    first = bring_lines(world.agent.pk, [OPEN], actor=world.system, evidence={"conversation_ids": [1, 2]})
    again = bring_lines(world.agent.pk, [OPEN], actor=world.system, evidence={"conversation_ids": [3, 4]})
    both = bring_lines(world.agent.pk, [OPEN, CLOSED], actor=world.system, evidence={"conversation_ids": [5, 6]})
    assert (again.proposal_id, again.is_known, again.said) == (None, True, (f"“{OPEN}” waits for a person already.",))
    assert both.proposal_id == first.proposal_id
    proposal = waiting(world)
    assert proposal.content == {"lines": [OPEN, CLOSED]}
    reject_proposal(proposal, actor=world.admin, reason="We do not open.")
    refused = bring_lines(world.agent.pk, [OPEN], actor=world.system, evidence={"conversation_ids": [7, 8]})
    assert (refused.proposal_id, refused.is_known) == (None, False)
    assert refused.said == (f"“{OPEN}” was turned down by a person before.",)


def test_what_stands_is_not_brought(world: World) -> None:
    memory = create_memory(world.agent.pk, actor=world.operator, body=OPEN)
    brought = bring_lines(world.agent.pk, [OPEN], actor=world.system, evidence={"conversation_ids": [1, 2]})
    assert (brought.said, brought.is_known) == ((f"“{OPEN}” is remembered already.",), True)
    assert remembered(world).version == memory.version


def test_lines_join_a_list_as_its_items_and_are_known_in_either_form(world: World) -> None:
    create_memory(world.agent.pk, actor=world.operator, body=f"- Tea is sold out.\n- {OPEN}")
    evidence = {"conversation_ids": [1, 2]}
    brought = bring_lines(world.agent.pk, [OPEN, CLOSED], actor=world.system, evidence=evidence)
    assert brought.said == (f"“{OPEN}” is remembered already.", "1 line of memory waits for a person.")
    assert waiting(world).content == {"lines": [f"- {CLOSED}"]}
    again = bring_lines(world.agent.pk, [CLOSED], actor=world.system, evidence=evidence)
    assert again.said == (f"“{CLOSED}” waits for a person already.",)
    reject_proposal(waiting(world), actor=world.admin, reason="We are open.")
    refused = bring_lines(world.agent.pk, [CLOSED], actor=world.system, evidence=evidence)
    assert refused.said == (f"“{CLOSED}” was turned down by a person before.",)


def test_no_more_lines_wait_than_somebody_reads(world: World) -> None:
    lines = [f"Shelf {number} holds tea." for number in range(LINES_WAITING + 1)]
    brought = bring_lines(world.agent.pk, lines, actor=world.system, evidence={"conversation_ids": [1, 2]})
    assert brought.said == (
        f"“{lines[-1]}” would be one line too many: 30 wait for a person already.",
        "30 lines of memory wait for a person.",
    )
    assert len(waiting(world).content["lines"]) == LINES_WAITING
