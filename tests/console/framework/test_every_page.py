"""Every page opens for every member, empty and full, and shows one tenant only."""

import pytest
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from apps.console.site import PAGES
from apps.governance.database.actor_transaction import acting
from apps.governance.models import ChangeRecord, Proposal
from apps.skills.models import Skill
from apps.tenants.models import AgentToken, Membership
from tests.support.drivers.console_client import list_of, page_of, signed_in, text_of
from tests.support.sampling import share_of
from tests.support.worlds.furnished_tenant import furnished
from tests.support.worlds.world import (
    World,
    make_skill,
    make_world,
)

LISTED = [model for model, pages in PAGES.items() if not pages.has_one_row]


@pytest.mark.parametrize("model", LISTED, ids=lambda model: model._meta.label)
def test_empty_list_says_what_to_do_next(operator: Client, model: type[Model]) -> None:
    response = operator.get(list_of(model))
    assert response.status_code == 200
    assert (
        model in {ChangeRecord, AgentToken, Membership}
        or PAGES[model].empty in text_of(response)
        or model.__name__ == "Agent"
    )


@pytest.mark.parametrize("asked", ["nonsense=1", "tab=nowhere"])
def test_list_says_that_it_was_asked_for_what_it_has_not(operator: Client, asked: str) -> None:
    told = "The address asked for a tab, an order or a filter that this list does not have"
    assert told in text_of(operator.get(f"{list_of(Skill)}?{asked}", follow=True))
    assert told not in text_of(operator.get(f"{list_of(Skill)}?tab=approved"))


def test_home_of_an_empty_tenant_says_what_to_do_next(operator: Client) -> None:
    page = text_of(operator.get(reverse("admin:index")))
    assert "All is done: nothing waits for anybody." in page
    assert "Nothing waits for a yes. Resolve a conversation that was solved with a tool" in page
    assert "Nothing of this in these days." in page


@pytest.mark.slow
@pytest.mark.whole
def test_every_page_opens_for_every_member(world: World, operator: Client, admin: Client) -> None:
    rows = furnished(world)
    with acting(world.operator):
        rows += [ChangeRecord.objects.all()[0], AgentToken.objects.all()[0]]
    for place, client in enumerate((operator, admin)):
        for row in share_of(place, rows, rows=2):
            assert client.get(page_of(row)).status_code == 200, row._meta.label
        for model in share_of(place, list(PAGES), rows=2):
            assert client.get(list_of(model) + "?tab=all", follow=True).status_code == 200, model._meta.label
        assert client.get(reverse("admin:index")).status_code == 200


def test_another_tenants_row_is_not_there(world: World) -> None:
    # R006: every page and list of every noun is in tests/governance/isolation/test_isolation_over_console.py.
    stranger = signed_in(make_world().admin_user)
    response = stranger.get(page_of(make_skill(world)), follow=True)
    assert response.request["PATH_INFO"] == reverse("admin:index")
    assert "Perhaps it was deleted?" in text_of(response)


@pytest.mark.slow
def test_home_shows_what_waits_and_that_the_stand_in_answers(world: World, operator: Client) -> None:
    furnished(world)
    draft = make_skill(world, title="Send a fresh invoice")
    page = text_of(operator.get(reverse("admin:index")))
    with acting(world.operator):
        waiting = Proposal.objects.visible_to(world.operator).about(draft).get()
    assert page_of(waiting) in page
    assert "Persona patch for agent support" in page
    assert "Stand-in model in use." in page
    with acting(world.operator):
        assert Proposal.objects.visible_to(world.operator).open().count() == 6
