"""The versions on a row's page, and any two of them side by side."""

import pytest
from django.test import Client

from apps.governance.database.actor_transaction import acting_as
from apps.launcher.postgres import Postgres
from apps.personas.actions import amend_persona
from apps.personas.models import Persona
from tests.governance.audit.test_row_history import erase_change
from tests.support.database.committing_fixture import committing
from tests.support.drivers.console_client import form_values, page_of, page_text, page_words, signed_in
from tests.support.worlds.furnished_tenant import make_console_rows
from tests.support.worlds.world import World, make_persona, make_skill, make_world

__all__ = ["committing"]


def versions_page(row: Persona) -> str:
    return page_of(row).replace("/change/", "/versions/")


def make_styled_persona(world: World, *styles: str) -> Persona:
    persona = make_persona(world, style=styles[0])
    for style in styles[1:]:
        amend_persona(persona, actor=world.operator, values={"style": style}, reason="Asked for.")
    return persona


def test_a_rows_page_lists_its_versions_and_compares_any_two(world: World, operator: Client) -> None:
    persona = make_styled_persona(world, "Brief.", "Warm and short.", "Warm and long.")
    page = operator.get(page_of(persona))
    assert "“Asked for.”" in page_words(page)
    assert form_values(page.content.decode(), versions_page(persona)).keys() == {"from", "to"}
    compared = operator.get(versions_page(persona), {"from": "2", "to": "3"})
    assert compared.status_code == 200
    assert "<del>short</del>" in page_text(compared)
    assert "<ins>long</ins>" in page_text(compared)
    assert "Version 2 and version 3" in page_words(compared)


def test_versions_name_people_and_not_their_numbers(world: World, operator: Client) -> None:
    skill = make_skill(world, "approved")
    compared = page_words(operator.get(versions_page(skill), {"from": "1", "to": "2"}))
    assert f"Approved by + added {world.operator_user.username}" in compared
    assert world.operator.label not in compared


@pytest.mark.slow
@pytest.mark.unmeasured
def test_every_governed_noun_has_the_page_and_strangers_have_none(world: World, operator: Client) -> None:  # R006
    stranger = signed_in(make_world().operator_user)
    for row in make_console_rows(world):
        path = page_of(row).replace("/change/", "/versions/")
        expected = 200 if hasattr(row, "taint") else 302
        assert operator.get(path).status_code == expected, row._meta.label
        assert stranger.get(path, follow=True).status_code in {200, 404}
        assert stranger.get(path).status_code in {302, 404}


def test_a_version_that_never_was_is_said_and_the_list_still_stands(world: World, operator: Client) -> None:
    persona = make_styled_persona(world, "Brief.", "Warm.")
    page = operator.get(versions_page(persona), {"from": "1", "to": "9"})
    assert page.status_code == 404
    assert "It has versions 1 to 2." in page_words(page)
    for nonsense in ({"from": "one", "to": "2"}, {"from": "1"}, {}):
        assert "What changed" in page_words(operator.get(versions_page(persona), nonsense))


def test_erased_words_are_said_where_they_would_be_compared(committing: str, postgres: Postgres) -> None:
    world = make_world()
    persona = make_styled_persona(world, "Brief.", "Warm.")
    erase_change(postgres, committing, world, persona, 1)
    page = signed_in(world.operator_user).get(versions_page(persona), {"from": "1", "to": "2"})
    assert page.status_code == 409
    assert "The words of version 1 were erased." in page_words(page)


def test_a_page_with_many_versions_shows_the_latest_and_leads_to_all(world: World, operator: Client) -> None:
    persona = make_styled_persona(world, *(f"Style {number}." for number in range(25)))
    assert "These are the latest 20." in page_words(operator.get(page_of(persona)))
    with acting_as(world.operator):
        persona.refresh_from_db()
    assert page_words(operator.get(versions_page(persona))).count("What changed") == persona.version
