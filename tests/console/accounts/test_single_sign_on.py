"""Whoever an identity provider vouches for signs in by the hook that docs/single-sign-on.md describes; membership decides."""

from typing import Any

import pytest
from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from apps.tenants.accounts.people import person_signed_in
from apps.tenants.models import User
from tests.support.drivers.console_client import decide
from tests.support.worlds.world import World, make_user, member_of

HOME = reverse("admin:index")


class VerifiedEmailBackend(ModelBackend):
    """What an installation writes: its provider has verified the address before anybody comes here."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **credentials: Any
    ) -> User | None:
        del request, username, password
        return person_signed_in(credentials["verified_email"]) if credentials.get("verified_email") else None


@pytest.fixture(autouse=True)
def with_a_provider(settings: Settings) -> None:
    settings.AUTHENTICATION_BACKENDS = [f"{__name__}.VerifiedEmailBackend", *settings.AUTHENTICATION_BACKENDS]


def test_a_member_comes_in_by_the_providers_word(world: World) -> None:
    client = Client()
    assert client.login(verified_email=world.operator_user.username)
    assert client.get(HOME).status_code == 200


def test_the_providers_word_makes_nobody_a_member(world: World, admin: Client) -> None:
    make_user("guest@example.org")
    guest = Client()
    assert guest.login(verified_email="guest@example.org")
    assert guest.get(HOME).status_code == 302
    client = Client()
    client.login(verified_email=world.operator_user.username)
    decide(admin, member_of(world, world.operator_user), "deactivate")
    assert client.get(HOME).status_code == 302


@pytest.mark.parametrize("name", ["stranger@example.org", "agent", ""])
def test_nobody_unknown_and_no_agent_comes_in(world: World, name: str) -> None:
    # R016
    vouched = f"agent:{world.tenant.pk}:{world.agent.key}" if name == "agent" else name
    assert not Client().login(verified_email=vouched)
