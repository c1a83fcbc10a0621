"""What looks like somebody's in agents' own words is told to the agent and shown to reviewers, and stays as it stands."""

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.memory.actions import amend_memory, approve_memory
from apps.memory.models import AgentMemory
from apps.prompt.memory_lines.write_holds import MemoryReview
from apps.prompt.text_reuse.derived_lines import ReceivedTexts
from apps.skills.models import Skill
from apps.tenants.actions import amend_agent, amend_settings
from apps.tenants.models import TenantSettings
from apps.tenants.pii_flags import PiiFlag, find_pii, pii_warning
from tests.support.drivers.console_client import page_of, page_words, signed_in
from tests.support.drivers.conversation import calls, reply, run_customer_turn, tool
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_block, make_memory, make_profile, make_skill, make_world

pytestmark = pytest.mark.django_db

LINE = "Ada writes from ada@example.org."
SHOWN = "It holds what looks like somebody's (e-mail). “ada@example.org”"


@pytest.fixture
def world() -> World:
    return make_world()


def page(world: World, row: AgentMemory | Skill | Proposal) -> str:
    return page_words(signed_in(world.operator_user).get(page_of(row)))


def test_known_forms_and_the_tenants_own_are_found_once_each(world: World) -> None:
    with acting_as(world.admin):
        settings = TenantSettings.objects.get()
    amend_settings(settings, actor=world.admin, pii_patterns="policy-number: POL-######")
    texts = {"body": f"{LINE} Or ada@example.org.", "title": "POL-482113", "empty": " "}
    assert find_pii(texts, actor=world.bot) == (
        PiiFlag("body", "e-mail", "ada@example.org"),
        PiiFlag("title", "policy-number", "POL-482113"),
    )
    assert find_pii({"body": ""}, actor=world.bot) == ()
    assert pii_warning("Refunds take 5 days.", actor=world.bot) == ""
    assert "“ada@example.org” (e-mail)" in pii_warning(LINE, actor=world.bot)


def test_an_agent_is_told_of_what_it_wrote_for_everybody(world: World, standin: StandIn) -> None:
    amend_agent(world.agent, actor=world.admin, may_edit_memory=True, may_edit_skills=True)
    skill = {"title": "Write to Ada", "description": "How to reach her.", "body": f"## Procedure\n1. {LINE}"}
    standin.play(
        tool("update_my_memory", operations=[{"op": "add", "text": LINE}]),
        tool("update_my_memory", operations=[{"op": "add", "text": "Parking is free tomorrow."}]),
        tool("draft_skill", **skill),
        tool("skill_save", **skill | {"title": "Reach Ada"}),
        reply("Done."),
    )
    results = [str(call["result"]) for call in calls(world, run_customer_turn(world, "Hello", standin))]
    assert ["“ada@example.org” (e-mail)" in each for each in results] == [True, False, True, True]
    assert ["write its date" in each for each in results] == [False, True, False, False]
    with acting_as(world.operator):
        assert LINE in AgentMemory.objects.get().body, "what an agent words itself stays as it stands"


@pytest.mark.slow
def test_a_reviewer_is_shown_it_until_a_person_has_vouched_for_the_words(world: World) -> None:
    memory, draft = make_memory(world, LINE), make_skill(world, body=LINE)
    assert SHOWN in page(world, memory)
    assert SHOWN in page(world, draft)
    assert SHOWN not in page(world, make_skill(world, "approved", body=LINE))
    approve_memory(memory, actor=world.operator, read_at=memory.version)
    assert SHOWN not in page(world, memory)
    assert SHOWN not in page_words(signed_in(world.operator_user).get(page_of(make_block(world, body=LINE))))
    assert SHOWN not in page_words(signed_in(world.operator_user).get(page_of(make_profile(world, notes=LINE))))


def test_a_proposal_shows_it_while_it_waits() -> None:
    world = make_world(memory_review=MemoryReview.TAINTED)
    amend_memory(make_memory(world), actor=world.bot, body=LINE, heard=ReceivedTexts((LINE,)))
    with acting_as(world.operator):
        proposal = Proposal.objects.get()
    assert SHOWN in page(world, proposal)
