"""No transaction is open while a model thinks: the client itself refuses (R126)."""

import asyncio
from collections.abc import Callable

import pytest
from django.db import connection, transaction
from pytest_django import Settings

from apps.governance.database.actor_transaction import acting_as
from apps.runtime.worker.model_backends import engine_backend, turn_backend, turn_backend_at
from apps.tenants.endpoints.decrypted_endpoint import OpenedEndpoint
from tests.support.drivers.async_backend import HELLO
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(standin: StandIn, settings: Settings) -> World:
    settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL = "a-key", standin.url
    return make_world()


def ask_model_within_loop() -> str:
    async def ask() -> str:
        backend = engine_backend()
        try:
            return (await backend.complete(HELLO)).text
        finally:
            await backend.aclose()

    return asyncio.run(ask())


def ask_model() -> str:
    return turn_backend().complete(HELLO).text


@pytest.mark.parametrize("call", [ask_model, ask_model_within_loop])
def test_a_model_is_asked_only_outside_of_transactions(world: World, call: Callable[[], str]) -> None:
    assert call()
    with acting_as(world.system), pytest.raises(RuntimeError, match="transaction is open"):
        call()
    assert connection.in_atomic_block
    assert call()


def test_a_transaction_that_nobody_acts_in_is_one_too(world: World) -> None:
    # On a loop no thread can open one: Django refuses to touch the database there.
    place = OpenedEndpoint(1, world.tenant.name, "")
    for call in (ask_model, lambda: turn_backend_at(place).complete(HELLO)):
        with transaction.atomic(), pytest.raises(RuntimeError, match="transaction is open"):
            call()
