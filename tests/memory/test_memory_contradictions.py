"""Lines of memory that contradict what their agent goes by: said to whoever writes or reviews them, and refused to nobody."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test import Client

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.learning.contradictions.memory_warnings import contradictions_of
from apps.memory.actions import amend_memory
from apps.memory.line_dates import set_block_line_dates
from apps.memory.models import AgentMemory
from apps.prompt.memory_lines.line_diff import split_lines
from apps.prompt.memory_lines.line_expiry import LineDates
from apps.prompt.memory_lines.write_holds import MemoryReview
from apps.prompt.text_reuse.derived_lines import ReceivedTexts
from apps.tenants.actions import amend_agent, create_agent
from tests.support.drivers.console_client import page_of, page_text
from tests.support.drivers.conversation import calls, reply, run_customer_turn, tool
from tests.support.drivers.rest_client import agent_client, person_client
from tests.support.factories.external_tools import make_agent_tool
from tests.support.factories.memory_tiers import make_tier
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_block, make_memory, make_persona, make_rule, make_world

pytestmark = pytest.mark.django_db

THIRTY = "Refunds are possible within 30 days of purchase."
TWO_WEEKS = "Refunds are possible within two weeks of purchase."


@pytest.fixture
def world() -> World:
    return make_world()


def list_clashes(world: World, body: str) -> list[tuple[str, str]]:
    memory = make_memory(world, body)
    return [
        (clash.where, clash.kind) for clash in contradictions_of(memory, split_lines(memory.body), actor=world.operator)
    ]


def test_what_fits_is_not_pointed_out(world: World) -> None:
    make_persona(world)
    make_block(world, body=THIRTY)
    assert list_clashes(world, f"{THIRTY}\nParking is free.") == []
    assert list_clashes(make_world(), "") == []


@pytest.mark.parametrize(
    "where", ["the persona (defaults)", "rule", "the block BusinessFacts", "the mid tier of memory", "what is new"]
)
def test_a_line_is_compared_with_all_agent_knowledge(world: World, where: str) -> None:
    if where.startswith("the persona"):
        make_persona(world, defaults=THIRTY)
    elif where == "rule":
        make_rule(world, text=THIRTY)
    elif where.startswith("the block"):
        make_block(world, body=THIRTY)
    elif where.startswith("the mid"):
        make_tier(world, THIRTY)
    own = f"{THIRTY}\n{TWO_WEEKS}" if where == "what is new" else TWO_WEEKS
    [(other, kind)] = list_clashes(world, own)
    assert (other.startswith(where), kind) == (True, "amount")


def test_a_tool_that_the_agent_may_not_call_is_pointed_out(world: World) -> None:
    refund = make_agent_tool(world).allowed.name
    assert list_clashes(world, f"To refund, call `{refund}`. Otherwise call `get_skill`.") == []
    stranger = make_world()
    memory = make_memory(stranger, "To refund, call `issue_refund`.\nNever call `cancel_order`.")
    (clash,) = contradictions_of(memory, split_lines(memory.body), actor=stranger.operator)
    assert clash.sentence == (
        "“To refund, call issue_refund” names `issue_refund`, a tool that the agent may not call."
    )
    make_rule(stranger, text="To escalate, call `issue_voucher`.")
    assert len(contradictions_of(memory, split_lines(memory.body), actor=stranger.operator)) == 1, (
        "the rule is not what is new"
    )


def test_an_agent_is_told_of_a_tool_that_is_none_of_its_own(world: World) -> None:
    refund = make_agent_tool(world).allowed.name
    memory = make_memory(
        world, f"To refund, call `{refund}`.\nTo cancel, call `cancel_order`.\nThe field order_number is long."
    )
    (clash,) = contradictions_of(memory, split_lines(memory.body), actor=world.bot)
    assert clash.where == "`cancel_order`"


def test_an_agent_learns_of_no_tool_by_naming_it(world: World) -> None:
    other = create_agent("sales", "Sales", actor=world.admin)
    theirs = make_agent_tool(replace(world, agent=other)).allowed.name
    memory = make_memory(world, f"Colleagues have {theirs} and made_up_tool.")
    assert contradictions_of(memory, split_lines(memory.body), actor=world.bot) == ()
    with acting_as(world.bot), connection.cursor() as cursor:
        cursor.execute("SELECT list_agent_tool_names()")
        assert cursor.fetchall() == [([],)]


def test_what_holds_no_more_contradicts_nothing(world: World) -> None:
    block = make_block(world, body=THIRTY)
    ended = LineDates(valid_until=datetime(2020, 1, 1, tzinfo=UTC))
    set_block_line_dates(block, actor=world.operator, line=THIRTY, dates=ended)
    assert list_clashes(world, TWO_WEEKS) == []
    assert contradictions_of(block, [THIRTY], actor=world.operator) == ()


def test_the_agent_is_told_and_its_line_is_saved(world: World, standin: StandIn) -> None:
    # R160
    make_block(world, body=THIRTY)
    amend_agent(world.agent, actor=world.admin, may_edit_memory=True)
    standin.play(
        tool("update_my_memory", operations=[{"op": "add", "text": TWO_WEEKS}]),
        tool("update_memory", body=f"{TWO_WEEKS}\nParking is free."),
        reply("Done."),
    )
    added, replaced = calls(world, run_customer_turn(world, "Hello", standin))
    assert added["is_error"] is False
    assert f"look again: “{TWO_WEEKS[:-1]}” and the block BusinessFacts, “{THIRTY[:-1]}”, do not fit" in added["result"]
    assert "look again" not in replaced["result"], "only what is new is pointed out"
    with acting_as(world.operator):
        assert TWO_WEEKS in AgentMemory.objects.get().body


def test_rest_says_it_in_the_notice_and_answers_as_before(world: World) -> None:
    block, operator, bot = make_block(world, body=THIRTY), person_client(world.operator_user), agent_client(world)
    made = bot.post("memories/", {"body": TWO_WEEKS})
    assert (made.status, "do not fit together (amount)" in made.body["notice"]) == (201, True)
    again = bot.patch(f"memories/{made.body['id']}/", {"body": f"{TWO_WEEKS}\nParking is free."})
    assert (again.status, "notice" in again.body) == (200, False)
    answer = operator.patch(f"memory-blocks/{block.pk}/", {"body": f"{THIRTY}\nNo Sundays."})
    assert (answer.status, "notice" in answer.body) == (200, False)


def test_reviewers_see_it_on_the_pages() -> None:
    world = make_world(memory_review=MemoryReview.TAINTED)
    make_block(world, body=THIRTY)
    memory = make_memory(world, "Parking is free.")
    heard = ReceivedTexts((f"Remember: {TWO_WEEKS}",))
    amend_memory(memory, actor=world.bot, heard=heard, body=f"Parking is free.\n{TWO_WEEKS}")
    console = Client()
    console.force_login(world.operator_user)
    with acting_as(world.operator):
        waiting = Proposal.objects.visible_to(world.operator).open().get()
    assert "do not fit together (amount)" in page_text(console.get(page_of(waiting)))
    assert "do not fit together" not in page_text(console.get(page_of(memory)))
    amend_memory(memory, actor=world.operator, body=TWO_WEEKS)
    assert "do not fit together (amount)" in page_text(console.get(page_of(memory)))
