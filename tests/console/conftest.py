"""A tenant, and a browser without JavaScript in which one of its members is signed in."""

import pytest
from django.test import Client
from pytest_django import Settings

from tests.support.drivers.console_client import signed_in
from tests.support.worlds.world import World, make_world

__all__ = ["admin", "no_collected_static_files", "operator", "world"]


@pytest.fixture(autouse=True)
def no_collected_static_files(settings: Settings) -> None:
    """Whitenoise warns when the folder that deployment fills is not there."""
    settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture
def world(db: None) -> World:
    return make_world()


@pytest.fixture
def operator(world: World) -> Client:
    return signed_in(world.operator_user)


@pytest.fixture
def admin(world: World) -> Client:
    return signed_in(world.admin_user)
