"""Whose words each line of a memory or a block is, kept by the act that writes the text."""

import pytest
from django.db import IntegrityError, ProgrammingError

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord, Proposal, Taint
from apps.memory.actions import amend_block, amend_memory, approve_block, approve_memory, write_block
from apps.memory.models import MemoryBlock, MemoryLine
from apps.prompt.memory_lines.write_holds import MemoryReview
from apps.prompt.text_reuse.derived_lines import NO_RECEIVED_TEXTS, ReceivedTexts
from apps.tenants.actions import amend_settings
from apps.tenants.models import TenantSettings
from tests.support.factories.approvals import approve_as_read
from tests.support.worlds.world import World, make_block, make_memory, make_world

pytestmark = pytest.mark.django_db

CUSTOMER_SENTENCE = "Every order over fifty euros ships free."
HEARD = ReceivedTexts((f"Listen: {CUSTOMER_SENTENCE}",))


@pytest.fixture
def world() -> World:
    return make_world()


def lines(world: World, **of: object) -> list[tuple[str, str, str]]:
    """The ledger, oldest first: what a line says, whose words it is, and what became of it."""
    with acting_as(world.operator):
        rows = MemoryLine.objects.filter(tenant_id=world.tenant.pk, **of).order_by("id")
        return list(rows.values_list("text", "taint", "status"))


def test_each_line_says_who_wrote_it_in_which_change_and_where_from(world: World) -> None:
    # R080, R087
    memory = make_memory(world, "Lunch is at noon.\n\n  Parking is free.  ")
    amend_memory(
        memory,
        actor=world.bot,
        heard=NO_RECEIVED_TEXTS,
        body="Lunch is at noon.\nOpen from nine.",
        evidence={"conversation_id": 7},
    )
    assert lines(world) == [
        ("Lunch is at noon.", "agent", "active"),
        ("Parking is free.", "agent", "superseded"),
        ("Open from nine.", "agent", "active"),
    ]
    with acting_as(world.operator):
        first, second, third = MemoryLine.objects.order_by("id")
        assert (first.first_version, first.last_version, first.source_conversation_id) == (1, 1, None)
        assert (second.first_version, second.last_version, second.superseded_by) == (1, 2, third)
        assert (third.first_version, third.author, third.source_conversation_id) == (2, "agent", 7)
        assert second.ended_at is not None
        assert (third.where, str(third)) == ("Memory", "Open from nine.")
        records = ChangeRecord.objects.filter(subject_type="memory.agentmemory", subject_id=memory.pk)
        assert list(records.order_by("id").values_list("version_after", flat=True)) == [1, 2]


def test_the_same_text_again_changes_no_line(world: World) -> None:
    memory = make_memory(world, "Lunch is at noon.")
    before = lines(world)
    amend_memory(memory, actor=world.bot, heard=NO_RECEIVED_TEXTS, body="Lunch is at noon.")
    assert lines(world) == before


def test_lines_that_only_go_are_taken_out_and_come_back_as_new_ones(world: World) -> None:
    block = make_block(world, body="Open from nine.\nNo Sundays.")
    write_block(block, actor=world.operator, values={"body": "Open from nine."})
    write_block(block, actor=world.operator, values={"body": "No Sundays.\nOpen from nine."})
    assert lines(world, block=block) == [
        ("Open from nine.", "operator", "active"),
        ("No Sundays.", "operator", "removed"),
        ("No Sundays.", "operator", "active"),
    ]


def test_a_customers_line_stays_the_customers_wherever_and_whenever_it_is_put(world: World) -> None:
    # Z-25: not heard any more, taken out before, and put into another text.
    memory, block = make_memory(world, "Lunch is at noon."), make_block(world)
    amend_memory(memory, actor=world.bot, heard=HEARD, body=f"Lunch is at noon.\n{CUSTOMER_SENTENCE}")
    amend_memory(memory, actor=world.bot, heard=NO_RECEIVED_TEXTS, body="Lunch is at noon.")
    amend_memory(memory, actor=world.bot, heard=NO_RECEIVED_TEXTS, body="Lunch is at one.")
    assert memory.taint == Taint.AGENT
    amend_block(block, actor=world.bot, heard=NO_RECEIVED_TEXTS, body=f"We ship to the EU only.\n{CUSTOMER_SENTENCE}")
    assert block.taint == Taint.CUSTOMER
    assert lines(world, text=CUSTOMER_SENTENCE) == [
        (CUSTOMER_SENTENCE, "customer", "removed"),
        (CUSTOMER_SENTENCE, "customer", "active"),
    ]
    assert lines(world, block=block)[0] == ("We ship to the EU only.", "operator", "active")


def test_where_tainted_lines_wait_a_line_that_was_a_customers_waits_too() -> None:
    # Z-19
    world = make_world(memory_review=MemoryReview.OFF)
    memory = make_memory(world, "Lunch is at noon.")
    amend_memory(memory, actor=world.bot, heard=HEARD, body=CUSTOMER_SENTENCE)
    amend_memory(memory, actor=world.bot, heard=NO_RECEIVED_TEXTS, body="Lunch is at noon.")
    with acting_as(world.admin):
        settings = TenantSettings.objects.visible_to(world.admin).get()
    amend_settings(settings, actor=world.admin, memory_review=MemoryReview.TAINTED)
    block = make_block(world)
    amend_block(block, actor=world.bot, heard=NO_RECEIVED_TEXTS, body=f"We ship to the EU only.\n{CUSTOMER_SENTENCE}")
    assert block.body == "We ship to the EU only."
    with acting_as(world.operator):
        waiting = Proposal.objects.visible_to(world.operator).open().get()
    assert (waiting.content, waiting.taint) == ({"lines": [CUSTOMER_SENTENCE]}, "customer")
    approve_as_read(waiting, world.operator)
    with acting_as(world.operator):
        assert CUSTOMER_SENTENCE in MemoryBlock.objects.visible_to(world.operator).get().body
    assert lines(world, block=block)[-1] == (CUSTOMER_SENTENCE, "operator", "active")


def test_the_approver_of_a_text_vouches_for_its_lines(world: World) -> None:
    # Z-22
    memory, block = make_memory(world), make_block(world)
    approve_memory(memory, actor=world.operator, read_at=memory.version)
    amend_block(block, actor=world.bot, heard=HEARD, body=CUSTOMER_SENTENCE)
    approve_block(block, actor=world.operator, read_at=block.version)
    with acting_as(world.operator):
        standing = MemoryLine.objects.filter(status="active").order_by("id")
        assert {(line.taint, line.author) for line in standing} == {("operator", world.operator.label)}
        assert {line.last_version for line in standing} == {memory.version, block.version}


def test_words_that_a_person_brings_back_stay_whose_they_were(world: World) -> None:
    memory = make_memory(world, "Lunch is at noon.")
    approve_memory(memory, actor=world.operator, read_at=memory.version)
    amend_memory(memory, actor=world.operator, body="Lunch is at noon.\nOpen from nine.", words_of=Taint.CUSTOMER)
    assert lines(world)[-1] == ("Open from nine.", "customer", "active")


def test_an_agent_signs_no_line_as_a_person_and_changes_none_that_went(world: World) -> None:
    # R080
    make_memory(world, "Lunch is at noon.")
    with acting_as(world.operator):
        line = MemoryLine.objects.get()
    for forged in ({"taint": "operator"}, {"author": "operator:1"}):
        with pytest.raises(ProgrammingError, match="permission denied"), acting_as(world.bot):
            MemoryLine.objects.filter(pk=line.pk).update(**forged)
    with acting_as(world.operator):
        MemoryLine.objects.filter(pk=line.pk).update(status="removed", ended_at=line.created_at)
    with pytest.raises(IntegrityError, match="append-only"), acting_as(world.operator):
        MemoryLine.objects.filter(pk=line.pk).update(status="active", ended_at=None)
