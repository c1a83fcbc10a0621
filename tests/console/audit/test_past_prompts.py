"""The prompt of an agent at a moment, beside the one of now."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.personas.actions import amend_persona
from tests.restore.restore_scenario import CUSTOMER, current_prompt, make_prompt_rows
from tests.support.drivers.console_client import page_of, page_text, page_words, signed_in
from tests.support.worlds.world import World, make_persona, make_world


def path(world: World) -> str:
    return reverse("admin:agent_prompt", args=[world.agent.pk])


def test_the_page_shows_what_the_next_session_is_told(world: World, operator: Client) -> None:
    make_prompt_rows(world)
    assert path(world) in page_text(operator.get(page_of(world.agent)))
    page = operator.get(path(world), {"end_user_key": CUSTOMER})
    assert current_prompt(world) in page_text(page)
    assert "The prompt: Now" in page_words(page)
    assert "the fifty listed are chosen by today's use" in page_words(page)


def test_a_moment_is_shown_beside_now(world: World, operator: Client) -> None:
    persona = make_persona(world, style="Brief and warm.")
    moment = timezone.now().isoformat()
    assert "Nothing differs" in page_words(operator.get(path(world), {"at": moment}))
    amend_persona(persona, actor=world.operator, values={"style": "Brief and cold."})
    page = page_text(operator.get(path(world), {"at": moment}))
    assert "<del>warm</del>" in page
    assert "<ins>cold</ins>" in page


@pytest.mark.parametrize(
    ("asked", "status", "message"),
    [
        ({"at": "yesterday"}, 422, "yesterday is not a date and time."),
        ({"at": "2020-01-01"}, 422, "There was no agent support then"),
        ({"end_user_key": "nobody"}, 200, "An end user's key is the channel"),
    ],
)
def test_nonsense_is_said(world: World, operator: Client, asked: dict[str, str], status: int, message: str) -> None:
    page = operator.get(path(world), asked)
    assert page.status_code == status
    assert message in page_words(page)


def test_another_tenants_agent_has_no_prompt(world: World) -> None:  # R006
    assert signed_in(make_world().admin_user).get(path(world)).status_code == 404
