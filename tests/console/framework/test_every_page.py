"""Every page opens for every member, empty and full, and shows one tenant only."""

import pytest
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from apps.console.site import ADMINS_BY_MODEL
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord, Proposal
from apps.skills.models import Skill
from apps.tenants.models import AgentToken, Membership
from tests.support.drivers.console_client import list_of, page_of, page_text, signed_in
from tests.support.parameter_sampling import share_of
from tests.support.worlds.furnished_tenant import make_console_rows
from tests.support.worlds.world import (
    World,
    make_skill,
    make_world,
)

LIST_MODELS = [model for model, pages in ADMINS_BY_MODEL.items() if not pages.has_one_row]


@pytest.mark.parametrize("model", LIST_MODELS, ids=lambda model: model._meta.label)
def test_empty_list_says_what_to_do_next(operator: Client, model: type[Model]) -> None:
    response = operator.get(list_of(model))
    assert response.status_code == 200
    assert (
        model in {ChangeRecord, AgentToken, Membership}
        or ADMINS_BY_MODEL[model].empty in page_text(response)
        or model.__name__ == "Agent"
    )


@pytest.mark.parametrize("asked", ["nonsense=1", "tab=nowhere"])
def test_list_says_that_it_was_asked_for_what_it_has_not(operator: Client, asked: str) -> None:
    message = "The address asked for a tab, an order or a filter that this list does not have"
    assert message in page_text(operator.get(f"{list_of(Skill)}?{asked}", follow=True))
    assert message not in page_text(operator.get(f"{list_of(Skill)}?tab=approved"))


def test_home_of_an_empty_tenant_says_what_to_do_next(operator: Client) -> None:
    page = page_text(operator.get(reverse("admin:index")))
    assert "All is done: nothing waits for anybody." in page
    assert "Nothing waits for a yes. Resolve a conversation that was solved with a tool" in page
    assert "Nothing of this in these days." in page


@pytest.mark.slow
@pytest.mark.whole
def test_every_page_opens_for_every_member(world: World, operator: Client, admin: Client) -> None:
    rows = make_console_rows(world)
    with acting_as(world.operator):
        rows += [ChangeRecord.objects.all()[0], AgentToken.objects.all()[0]]
    for place, client in enumerate((operator, admin)):
        for row in share_of(place, rows, rows=2):
            assert client.get(page_of(row)).status_code == 200, row._meta.label
        for model in share_of(place, list(ADMINS_BY_MODEL), rows=2):
            assert client.get(list_of(model) + "?tab=all", follow=True).status_code == 200, model._meta.label
        assert client.get(reverse("admin:index")).status_code == 200


def test_another_tenants_row_is_not_there(world: World) -> None:
    # R006: every page and list of every noun is in tests/governance/isolation/test_isolation_over_console.py.
    stranger = signed_in(make_world().admin_user)
    response = stranger.get(page_of(make_skill(world)), follow=True)
    assert response.request["PATH_INFO"] == reverse("admin:index")
    assert "Perhaps it was deleted?" in page_text(response)


@pytest.mark.slow
def test_home_shows_what_waits_and_that_the_stand_in_answers(world: World, operator: Client) -> None:
    make_console_rows(world)
    draft = make_skill(world, title="Send a fresh invoice")
    page = page_text(operator.get(reverse("admin:index")))
    with acting_as(world.operator):
        waiting = Proposal.objects.visible_to(world.operator).about(draft).get()
    assert page_of(waiting) in page
    assert "Persona patch for agent support" in page
    assert "Stand-in model in use." in page
    with acting_as(world.operator):
        assert Proposal.objects.visible_to(world.operator).open().count() == 6
