"""Until when lines of memory hold: who says so, and which sessions carry them."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.db import ProgrammingError, connection
from django.utils import timezone

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid, NotPermitted, Stale
from apps.governance.models import ChangeRecord
from apps.memory.actions import amend_block, amend_memory
from apps.memory.line_dates import set_block_line_dates, set_memory_line_dates
from apps.memory.models import AgentMemory, MemoryBlock, MemoryLine
from apps.prompt.memory_lines.line_diff import line_sha256
from apps.prompt.memory_lines.line_expiry import LineDates
from apps.prompt.rendering.snapshot import render_snapshot
from apps.prompt.text_reuse.derived_lines import NO_RECEIVED_TEXTS
from apps.runtime.prompt_snapshot.prompt_input_builder import read_prompt_input, read_prompt_input_at
from apps.tenants.actions import amend_agent
from tests.support.drivers.conversation import (
    calls,
    prompt,
    reply,
    run_customer_turn,
    run_turn,
    send_customer_message,
    tool,
)
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_block, make_memory, make_world

pytestmark = pytest.mark.django_db

SALE = "The sale is on."
EXPIRED_DATES = LineDates(valid_until=datetime(2020, 1, 1, tzinfo=UTC))


@pytest.fixture
def world() -> World:
    return make_world()


def current_prompt(world: World) -> str:
    """The prompt of a session that opens now."""
    return render_snapshot(
        read_prompt_input(world.agent, "", actor=world.bot, system=world.system, now=timezone.now())
    ).text


def test_a_session_that_opens_after_the_end_does_not_carry_the_line_and_an_open_one_keeps_it(
    world: World, standin: StandIn
) -> None:
    # R062
    memory, block = make_memory(world, f"{SALE}\nParking is free."), make_block(world, body=f"{SALE}\nWe ship.")
    standin.play(reply("Hello."), reply("Hello."), reply("Hello."))
    run_turn(world, send_customer_message(world, "Hello"), standin.backend)
    set_memory_line_dates(memory, actor=world.operator, line=SALE, dates=EXPIRED_DATES)
    set_block_line_dates(block, actor=world.operator, line=SALE, dates=EXPIRED_DATES)
    run_turn(world, send_customer_message(world, "Hello again"), standin.backend)
    run_turn(world, send_customer_message(world, "Hello", thread="later"), standin.backend)
    opened, same, later = (prompt(body) for body in standin.requests()[-3:])
    assert SALE in opened
    assert same == opened
    assert SALE not in later
    assert "Parking is free." in later
    assert (memory.body, block.body) == (f"{SALE}\nParking is free.", f"{SALE}\nWe ship."), "the text stays the truth"


def test_a_prompt_of_the_past_has_what_held_then(world: World) -> None:
    memory = make_memory(world, f"{SALE}\nParking is free.")
    before = timezone.now()
    set_memory_line_dates(memory, actor=world.operator, line=SALE, dates=EXPIRED_DATES)
    assert SALE in render_snapshot(read_prompt_input_at(world.agent, "", before, system=world.system)).text
    assert SALE not in render_snapshot(read_prompt_input_at(world.agent, "", timezone.now(), system=world.system)).text


def test_dating_a_line_is_one_change_that_vouches_for_nothing_and_can_be_taken_back(world: World) -> None:
    memory = make_memory(world, SALE)
    tomorrow = LineDates(timezone.now() + timedelta(days=1), timezone.now())
    set_memory_line_dates(memory, actor=world.operator, line=f"  {SALE}", dates=tomorrow, read_at=1)
    assert (memory.version, memory.taint, memory.updated_by) == (2, "agent", "agent")
    with acting_as(world.operator):
        line = MemoryLine.objects.get()
        assert (line.valid_until, line.review_after) == (tomorrow.valid_until, tomorrow.review_after)
        assert (line.taint, line.last_version) == ("agent", 2)
        records = ChangeRecord.objects.filter(subject_type="memory.agentmemory").order_by("id")
        assert list(records.values_list("act", flat=True)) == ["memory.amend", "memory.set_line_dates"]
    assert SALE in current_prompt(world)
    set_memory_line_dates(memory, actor=world.operator, line=SALE, dates=LineDates())
    assert memory.line_dates == {}


def test_only_people_date_a_line_that_stands_and_that_they_read(world: World) -> None:
    memory, block = make_memory(world, SALE), make_block(world, body=SALE)
    with pytest.raises(Invalid, match="There is no such line in this text"):
        set_memory_line_dates(memory, actor=world.operator, line="Other.", dates=EXPIRED_DATES)
    with pytest.raises(Invalid, match="There is no such line in this text"):
        set_block_line_dates(block, actor=world.operator, line="", dates=EXPIRED_DATES)
    with pytest.raises(Stale):
        set_memory_line_dates(memory, actor=world.operator, line=SALE, dates=EXPIRED_DATES, read_at=7)
    with pytest.raises(NotPermitted):
        set_memory_line_dates(memory, actor=world.bot, line=SALE, dates=EXPIRED_DATES)


def test_a_line_that_goes_takes_its_date_along(world: World) -> None:
    block = make_block(world, body=f"{SALE}\nWe ship.")
    set_block_line_dates(block, actor=world.operator, line=SALE, dates=EXPIRED_DATES)
    amend_block(block, actor=world.bot, heard=NO_RECEIVED_TEXTS, body="We ship.")
    assert block.line_dates == {}
    amend_block(block, actor=world.bot, heard=NO_RECEIVED_TEXTS, body=f"We ship.\n{SALE}")
    assert SALE in current_prompt(world)


def test_an_agent_says_until_when_its_own_new_lines_hold(world: World, standin: StandIn) -> None:
    # R160
    amend_agent(world.agent, actor=world.admin, may_edit_memory=True)
    make_block(world, "Hours", body="Open from nine.")
    operations = [
        {"op": "add", "text": SALE, "valid_until": "2999-12-31"},
        {"op": "add", "block": "Hours", "text": "Closed today.", "valid_until": "2999-12-31"},
        {"op": "add", "block": "Hours", "text": "Open from nine.", "valid_until": "2999-12-31"},
    ]
    standin.play(tool("update_my_memory", operations=operations), tool("read_my_memory"), reply("Done."))
    saved, read = calls(world, run_customer_turn(world, "Hello", standin))
    assert saved["is_error"] is False
    assert read["result"].count("These hold only until the moment beside them:") == 2
    with acting_as(world.operator):
        memory, block = AgentMemory.objects.get(), MemoryBlock.objects.get()
    assert list(memory.line_dates) == [line_sha256(SALE)]
    assert list(block.line_dates) == [line_sha256("Closed today.")], "an agent sets no end to a person's line"
    for date_text, why in (
        ("soon", "Give `valid_until` and `review_after` as days"),
        ("2020-01-01", "2020-01-01 is past"),
    ):
        operations = [{"op": "add", "text": "More.", "valid_until": date_text}]
        standin.play(tool("update_my_memory", operations=operations), reply("Done."))
        [refused] = calls(world, run_customer_turn(world, f"Hello {date_text}", standin))
        assert (refused["is_error"], why in str(refused["result"])) == (True, True)


def test_an_agent_reads_no_line_that_holds_no_more(world: World, standin: StandIn) -> None:
    # R160
    amend_agent(world.agent, actor=world.admin, may_edit_memory=True)
    memory = make_memory(world, f"{SALE}\nParking is free.")
    set_memory_line_dates(memory, actor=world.operator, line=SALE, dates=EXPIRED_DATES)
    standin.play(tool("read_my_memory"), reply("Done."))
    [read] = calls(world, run_customer_turn(world, "Hello", standin))
    assert (SALE in read["result"], "Parking is free." in read["result"]) == (False, True)


def test_the_database_lets_no_agent_end_what_a_person_approved(world: World) -> None:
    block, memory = make_block(world, body=SALE), make_memory(world, SALE)
    end = {line_sha256(SALE): EXPIRED_DATES.wire}
    statement = "UPDATE memory_memoryblock SET line_dates = %s WHERE id = %s"
    with (
        pytest.raises(ProgrammingError, match="Only people set the expiry"),
        acting_as(world.bot),
        connection.cursor() as raw,
    ):
        raw.execute(statement, [json.dumps(end), block.pk])
    amend_memory(
        memory,
        actor=world.bot,
        heard=NO_RECEIVED_TEXTS,
        body=f"{SALE}\nMore.",
        dates={"More.": LineDates(timezone.now())},
    )
    assert list(memory.line_dates) == [line_sha256("More.")]
