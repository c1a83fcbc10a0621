"""Seeing what slot 1 would say before it is saved: the words that were typed, on the page that saves them."""

from typing import Any

import pytest
from django.test import Client

from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.personas.actions import archive_persona, create_overlay
from apps.personas.models import Persona
from apps.tenants.actions import amend_agent
from tests.support.drivers.console_client import form_values, page_of, page_words
from tests.support.worlds.world import World, make_persona


def preview(client: Client, path: str, **typed: str) -> Any:
    """Type into the form and press Preview."""
    values = form_values(client.get(path).content.decode(), path)
    return client.post(path, values | typed | {"_preview": "1"})


def preview_text(page: Any) -> str:
    """What stands under the heading of the preview."""
    return page_words(page).partition("Slot 1 as it would read")[2].partition("History")[0]


def test_what_is_typed_is_previewed_and_nothing_is_kept(world: World, operator: Client) -> None:
    persona = make_persona(world)
    with acting_as(world.operator):
        before = ChangeRecord.objects.count()
    page = preview(operator, page_of(persona), style="Answer in <one> line.")
    assert page.status_code == 200
    assert "Not saved. What you typed is still here." in page_words(page)
    assert "The preview below reads what you typed. Save to keep it." in page_words(page)
    assert "Answer in <one> line." in preview_text(page)
    assert "You are Ada" in preview_text(page)
    with acting_as(world.operator):
        assert ChangeRecord.objects.count() == before
        assert Persona.objects.get(pk=persona.pk).style == persona.style
    assert "Answer in" not in page_words(operator.get(page_of(persona)))


def test_the_form_is_saved_as_it_stands_after_the_preview(world: World, operator: Client) -> None:
    persona = make_persona(world)
    page = preview(operator, page_of(persona), goals="Sell nothing.")
    values = form_values(page.content.decode(), page_of(persona))
    assert values["goals"] == "Sell nothing."
    assert operator.post(page_of(persona), values | {"_save": "1"}).status_code == 302
    with acting_as(world.operator):
        assert Persona.objects.get(pk=persona.pk).goals == "Sell nothing."


def test_what_could_not_be_saved_says_so_before(world: World, operator: Client) -> None:
    page = preview(operator, page_of(make_persona(world)), style="x" * 20_001)
    assert "Ensure this value has at most" in page_words(page)


def test_an_overlay_is_previewed_behind_the_persona(world: World, operator: Client) -> None:
    make_persona(world)
    overlay = create_overlay(world.agent.pk, actor=world.operator, text="Speak formally.")
    text = preview_text(preview(operator, page_of(overlay), text="Speak plainly."))
    assert text.index("You are Ada") < text.index("Speak plainly.")
    assert "formally" not in text


@pytest.mark.parametrize("has_learning", [True, False])
def test_no_preview_is_offered_where_no_session_would_carry_it(
    world: World, operator: Client, has_learning: bool
) -> None:
    persona = make_persona(world)
    if has_learning:
        persona = archive_persona(persona, actor=world.operator)
    else:
        amend_agent(world.agent, actor=world.admin, has_learning=False)
    assert "Preview" not in page_words(operator.get(page_of(persona)))
