"""In the console: a conversation is put in quarantine on its page, with the reason for all to read, and released there."""

import pytest
from django.test import Client

from apps.conversations.actions import resolve_conversation
from tests.support.drivers.console_client import decide, page_of, page_words
from tests.support.worlds.world import World, make_conversation

pytestmark = pytest.mark.django_db


def test_a_person_puts_it_in_quarantine_on_its_page_and_releases_it(world: World, operator: Client) -> None:
    conversation = resolve_conversation(make_conversation(world), actor=world.bot)
    assert "Quarantine all of it" in page_words(operator.get(page_of(conversation)))
    assert decide(operator, conversation, "quarantine", reason="A customer planted it.").status_code == 303
    words = page_words(operator.get(page_of(conversation)))
    assert "A customer planted it." in words
    assert "Nothing is learned from this conversation." in words
    assert decide(operator, conversation, "release", reason="Read.").status_code == 303
    assert "Nothing is learned from this conversation." not in page_words(operator.get(page_of(conversation)))
