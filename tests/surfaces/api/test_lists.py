"""A list costs the same whether it is short or long."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.conversations.actions import import_conversation
from apps.conversations.models import Conversation
from apps.conversations.rules import Line
from apps.governance.acting import acting
from apps.governance.door import authorize
from apps.governance.errors import NotPermitted
from apps.governance.policy import Act
from apps.learning.models import Extraction
from apps.tenants.actions import create_agent
from tests.factories import (
    World,
    make_block,
    make_conversation,
    make_event,
    make_identity_card,
    make_profile,
    make_rule,
    make_skill,
)
from tests.surfaces.api.asking import Asker, answer_event, person_of


def agents(world: World, number: int) -> None:
    create_agent(f"agent-{number}", "One more", actor=world.system)


def personas(world: World, number: int) -> None:
    create_agent(f"agent-{number}", "One more", actor=world.system)
    asker = person_of(world.operator_user)
    persona = asker.post("personas/", {"agent_key": f"agent-{number}", "identity": "x"}).body
    asker.patch(f"personas/{persona['id']}/", {"proposed_patch": "y"})


def overlays(world: World, number: int) -> None:
    create_agent(f"agent-{number}", "One more", actor=world.system)
    person_of(world.operator_user).post("overlays/", {"agent_key": f"agent-{number}", "text": "x"})


def identity_cards(world: World, number: int) -> None:
    make_identity_card(world, line_key=f"line-{number}")


def rules(world: World, number: int) -> None:
    make_rule(world, of_agent=bool(number % 2))


def memories(world: World, number: int) -> None:
    create_agent(f"agent-{number}", "One more", actor=world.system)
    person_of(world.operator_user).post("memories/", {"agent_key": f"agent-{number}", "body": "x"})


def memory_blocks(world: World, number: int) -> None:
    make_block(world, f"Block{number}")


def skills(world: World, number: int) -> None:
    make_skill(world, "approved")


def profiles(world: World, number: int) -> None:
    make_profile(world, f"http:{number}")


def proposals(world: World, number: int) -> None:
    make_skill(world)


def conversations(world: World, number: int) -> None:
    make_conversation(world)


def sessions(world: World, number: int) -> None:
    answer_event(world, make_event(world))


def extractions(world: World, number: int) -> None:
    conversation = make_conversation(world)
    with acting(world.system):
        Extraction.objects.create(
            tenant_id=world.tenant.pk, agent=world.agent, conversation=conversation, verdict="trivial", reason="x"
        )


def refusals(world: World, number: int) -> None:
    with pytest.raises(NotPermitted):
        authorize(world.bot, Act.SKILL_APPROVE, world.tenant.pk)


MAKERS: list[Callable[[World, int], None]] = [
    agents,
    personas,
    overlays,
    identity_cards,
    rules,
    memories,
    memory_blocks,
    skills,
    profiles,
    proposals,
    conversations,
    sessions,
    extractions,
    refusals,
]


def count_queries(ask: Callable[[], Any], rows: int) -> int:
    with CaptureQueriesContext(connection) as captured:
        answer = ask()
    assert len(answer.body["results"]) == rows
    return len(captured)


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_fifty_rows_cost_no_more_queries_than_five(
    world: World, operator: Asker, make: Callable[[World, int], None]
) -> None:
    path = f"{make.__name__.replace('_', '-')}/?page_size=100"
    for number in range(5):
        make(world, number)
    extra = 1 if make is agents else 0
    few = count_queries(lambda: operator.get(path), 5 + extra)
    for number in range(5, 50):
        make(world, number)
    assert count_queries(lambda: operator.get(path), 50 + extra) == few


def test_transcript_costs_the_same_at_any_length(world: World, operator: Asker) -> None:
    lengths = {}
    for length in (4, 50):
        lines = [Line("customer", f"Line {number}.") for number in range(length)]
        conversation = import_conversation(
            world.agent.pk,
            actor=world.operator,
            transcript_id=f"transcript-{length}",
            lines=lines,
            outcome=Conversation.Outcome.SOLVED,
        )
        assert conversation is not None
        path = f"messages/?conversation_id={conversation.pk}"
        lengths[length] = count_queries(partial(operator.get, path), length)
    assert lengths[4] == lengths[50]
