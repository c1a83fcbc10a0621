"""The versions on a row's page, and any two of them side by side."""

import pytest
from django.test import Client

from apps.governance.database.actor_transaction import acting
from apps.launcher.postgres import Postgres
from apps.personas.actions import amend_persona
from apps.personas.models import Persona
from tests.governance.audit.test_row_history import erase
from tests.support.database.committing_fixture import committing
from tests.support.drivers.console_client import form_values, page_of, signed_in, text_of, words_of
from tests.support.worlds.furnished_tenant import furnished
from tests.support.worlds.world import World, make_persona, make_skill, make_world

__all__ = ["committing"]


def versions_page(row: Persona) -> str:
    return page_of(row).replace("/change/", "/versions/")


def styled(world: World, *styles: str) -> Persona:
    persona = make_persona(world, style=styles[0])
    for style in styles[1:]:
        amend_persona(persona, actor=world.operator, values={"style": style}, reason="Asked for.")
    return persona


def test_a_rows_page_lists_its_versions_and_compares_any_two(world: World, operator: Client) -> None:
    persona = styled(world, "Brief.", "Warm and short.", "Warm and long.")
    page = operator.get(page_of(persona))
    assert "“Asked for.”" in words_of(page)
    assert form_values(page.content.decode(), versions_page(persona)).keys() == {"from", "to"}
    compared = operator.get(versions_page(persona), {"from": "2", "to": "3"})
    assert compared.status_code == 200
    assert "<del>short</del>" in text_of(compared)
    assert "<ins>long</ins>" in text_of(compared)
    assert "Version 2 and version 3" in words_of(compared)


def test_versions_name_people_and_not_their_numbers(world: World, operator: Client) -> None:
    skill = make_skill(world, "approved")
    compared = words_of(operator.get(versions_page(skill), {"from": "1", "to": "2"}))
    assert f"Approved by + added {world.operator_user.username}" in compared
    assert world.operator.label not in compared


@pytest.mark.slow
@pytest.mark.unmeasured
def test_every_governed_noun_has_the_page_and_strangers_have_none(world: World, operator: Client) -> None:  # R006
    stranger = signed_in(make_world().operator_user)
    for row in furnished(world):
        path = page_of(row).replace("/change/", "/versions/")
        expected = 200 if hasattr(row, "taint") else 302
        assert operator.get(path).status_code == expected, row._meta.label
        assert stranger.get(path, follow=True).status_code in {200, 404}
        assert stranger.get(path).status_code in {302, 404}


def test_a_version_that_never_was_is_said_and_the_list_still_stands(world: World, operator: Client) -> None:
    persona = styled(world, "Brief.", "Warm.")
    page = operator.get(versions_page(persona), {"from": "1", "to": "9"})
    assert page.status_code == 404
    assert "It has versions 1 to 2." in words_of(page)
    for nonsense in ({"from": "one", "to": "2"}, {"from": "1"}, {}):
        assert "What changed" in words_of(operator.get(versions_page(persona), nonsense))


def test_erased_words_are_said_where_they_would_be_compared(committing: str, postgres: Postgres) -> None:
    world = make_world()
    persona = styled(world, "Brief.", "Warm.")
    erase(postgres, committing, world, persona, 1)
    page = signed_in(world.operator_user).get(versions_page(persona), {"from": "1", "to": "2"})
    assert page.status_code == 409
    assert "The words of version 1 were erased." in words_of(page)


def test_a_page_with_many_versions_shows_the_latest_and_leads_to_all(world: World, operator: Client) -> None:
    persona = styled(world, *(f"Style {number}." for number in range(25)))
    assert "These are the latest 20." in words_of(operator.get(page_of(persona)))
    with acting(world.operator):
        persona.refresh_from_db()
    assert words_of(operator.get(versions_page(persona))).count("What changed") == persona.version
