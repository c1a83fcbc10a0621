"""The ledger of memory by REST: whose words each line is, for people."""

import pytest

from apps.memory.actions import amend_memory
from apps.prompt.derived import Heard
from tests.factories import World, make_block, make_memory
from tests.surfaces.api.asking import Asker

pytestmark = pytest.mark.django_db


def test_person_reads_whose_words_lines_are_and_what_replaced_them(world: World, operator: Asker) -> None:
    # R080, R087
    memory, block = make_memory(world, "Lunch is at noon."), make_block(world)
    heard = Heard(("Remember: lunch starts at one o'clock sharp.",))
    body = "Lunch starts at one o'clock sharp."
    amend_memory(memory, actor=world.bot, heard=heard, body=body, evidence={"conversation_id": 5})
    [new, old] = operator.get(f"memory-lines/?memory_id={memory.pk}").body["results"]
    assert (old["status"], old["superseded_by_id"], old["taint"]) == ("superseded", new["id"], "agent")
    assert (new["taint"], new["conversation_id"], new["first_version"]) == ("customer-derived", 5, 2)
    assert (new["author"], new["agent_key"], new["block_id"]) == ("agent", "support", None)
    assert operator.get("memory-lines/?taint=customer-derived").body["results"] == [new]
    [line] = operator.get("memory-lines/?taint=operator&status=standing").body["results"]
    assert (line["block_id"], line["text"]) == (block.pk, "We ship to the EU only.")
    assert operator.get(f"memory-lines/{line['id']}/").body == line


def test_agent_does_not_read_the_ledger(world: World, bot: Asker) -> None:
    make_memory(world)
    assert bot.get("memory-lines/").code == "not_permitted"
