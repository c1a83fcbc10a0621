"""Whose words the console shows, what came of a conversation, and the one button that takes it away."""

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.memory.actions import amend_memory
from apps.memory.models import AgentMemory
from apps.prompt.text_reuse.derived_lines import NO_RECEIVED_TEXTS
from apps.skills.models import Skill
from tests.learning.extraction.test_lineage import make_descendants
from tests.support.drivers.console_client import decision_of, page_of, page_text, signed_in
from tests.support.worlds.world import World, make_conversation, make_memory, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def test_a_line_in_a_customers_words_is_marked_and_leads_back(world: World) -> None:
    # Z-25
    conversation = make_conversation(world)
    memory = make_memory(world, "Known before.")
    body = "Known before.\nA parcel arrived broken once."
    amend_memory(
        memory, actor=world.bot, body=body, heard=NO_RECEIVED_TEXTS, evidence={"conversation_id": conversation.pk}
    )
    page = signed_in(world.operator_user).get(page_of(memory))
    assert "<mark>parcel arrived broken</mark>" in page.content.decode()
    assert "from a customer" in page_text(page)
    assert f"{page_of(conversation)}#lineage" in page.content.decode()
    assert "Agents write their memory freely" in page_text(page)


def test_every_page_says_what_of_memory_is_reviewed(world: World) -> None:
    # Z-19
    assert "Agents write their memory freely" in page_text(signed_in(world.operator_user).get("/admin/"))


def test_one_button_takes_away_all_that_came_of_a_conversation(world: World) -> None:
    conversation = make_conversation(world)
    make_descendants(world, conversation)
    client = signed_in(world.operator_user)
    page = page_text(client.get(page_of(conversation)))
    assert "What came of it" in page
    assert "Parcels arrive broken." in page
    given = {"read_at": conversation.version}
    assert client.post(decision_of(conversation, "quarantine"), {**given, "reason": ""}).status_code == 422
    assert client.post(decision_of(conversation, "quarantine"), {**given, "reason": "Planted."}).status_code == 303
    with acting_as(world.operator):
        assert AgentMemory.objects.visible_to(world.operator).get().body == "Known before."
        assert Skill.objects.visible_to(world.operator).get().is_quarantined
    after = page_text(client.get(page_of(conversation)))
    assert "(taken out)" in after
    assert "Quarantine all of it" not in after
