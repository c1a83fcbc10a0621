"""Whose words the console shows, what came of a conversation, and the one button that takes it away."""

import pytest

from apps.memory.actions import amend_memory
from tests.actions.test_lineage import reach
from tests.factories import World, make_conversation, make_memory, make_world
from tests.surfaces.console.browsing import page_of, signed_in, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def test_a_line_in_a_customers_words_is_marked_and_leads_back(world: World) -> None:
    # Z-25
    conversation = make_conversation(world)
    memory = make_memory(world, "Known before.")
    body = "Known before.\nA parcel arrived broken once."
    amend_memory(memory, actor=world.bot, body=body, evidence={"conversation_id": conversation.pk})
    page = signed_in(world.operator_user).get(page_of(memory))
    assert "<mark>parcel arrived broken</mark>" in page.content.decode()
    assert "from a customer" in text_of(page)
    assert f"{page_of(conversation)}#lineage" in page.content.decode()


def test_the_page_of_a_conversation_lists_what_came_of_it(world: World) -> None:
    conversation = make_conversation(world)
    reach(world, conversation)
    page = text_of(signed_in(world.operator_user).get(page_of(conversation)))
    assert "What came of it" in page
    assert "Parcels arrive broken." in page
    assert "No session carried any of it." in page
