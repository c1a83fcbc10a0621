"""The role, tenant, agent and customer of a transaction: assumed, nested, restored."""

import pytest
from django.conf import settings
from django.db import connection, transaction

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import (
    acting_as,
    current_actor,
    execute_as,
    outside_tenant,
    tenant_id_of_key,
)
from apps.memory.models import CustomerProfile
from tests.support.worlds.world import World, make_profile, make_world

pytestmark = [pytest.mark.kernel, pytest.mark.django_db]


@pytest.fixture
def world() -> World:
    return make_world()


def current_settings() -> tuple[str, ...]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('role'), current_setting('app.tenant'), current_setting('app.agent'),"
            " current_setting('app.customer')"
        )
        return tuple(cursor.fetchone())


def expected_settings(actor: Actor, role: str) -> tuple[str, ...]:
    agent_id = str(actor.agent_id or "")
    customer = "" if actor.customer_key is None else f"={actor.customer_key}"
    return (f"{settings.DATABASE_ROLE_PREFIX}_{role}", str(actor.tenant_id), agent_id, customer)


NO_SETTINGS = ("none", "", "", "")


def test_the_database_knows_who_acts(world: World) -> None:
    # R013
    serving = world.bot.serving("http:abc123")
    for actor, role in (
        (world.operator, "operator"),
        (world.admin, "operator"),
        (serving, "agent"),
        (world.system, "worker"),
    ):
        with acting_as(actor):
            assert current_settings() == expected_settings(actor, role)
            assert current_actor() == actor
        assert current_settings() == NO_SETTINGS
        assert current_actor() is None


def test_nested_acting_restores_what_stood_before(world: World) -> None:
    # R013
    with acting_as(world.operator):
        with acting_as(world.bot):
            with acting_as(world.bot):
                assert current_settings() == expected_settings(world.bot, "agent")
            assert current_settings() == expected_settings(world.bot, "agent")
        assert current_settings() == expected_settings(world.operator, "operator")
        assert current_actor() == world.operator
    assert current_settings() == NO_SETTINGS


def test_an_exception_inside_restores_what_stood_before(world: World) -> None:
    with acting_as(world.operator):
        with pytest.raises(ZeroDivisionError), acting_as(world.bot):
            raise ZeroDivisionError
        assert current_settings() == expected_settings(world.operator, "operator")
        assert current_actor() == world.operator
    with pytest.raises(ZeroDivisionError), acting_as(world.bot):
        raise ZeroDivisionError
    assert current_settings() == NO_SETTINGS
    assert current_actor() is None


def test_a_rollback_inside_restores_what_stood_before(world: World) -> None:
    with acting_as(world.operator):
        with acting_as(world.bot):
            transaction.set_rollback(True)
        assert current_settings() == expected_settings(world.operator, "operator")
    assert current_settings() == NO_SETTINGS


def test_a_tenants_key_gives_its_id(world: World) -> None:
    # R006: one row by its key, and the settings are as before.
    with acting_as(world.operator):
        assert tenant_id_of_key(world.tenant.key) == world.tenant.pk
        assert tenant_id_of_key("nobody") is None
        assert current_settings() == expected_settings(world.operator, "operator")
    assert tenant_id_of_key(world.tenant.key) == world.tenant.pk
    assert current_settings() == NO_SETTINGS


def test_turn_that_names_nobody_sees_no_profile_while_an_agent_outside_a_turn_does(world: World) -> None:
    # R006, R009
    make_profile(world)
    for actor, seen in ((world.bot, 1), (world.bot.serving("http:abc123"), 1), (world.bot.serving(""), 0)):
        with acting_as(actor):
            assert CustomerProfile.objects.visible_to(actor).count() == seen


def test_outside_leaves_a_transaction_that_is_to_be_rolled_back_alone(world: World) -> None:
    with acting_as(world.operator):
        with outside_tenant():
            assert current_settings() == NO_SETTINGS
            transaction.set_rollback(True)
        assert current_settings() == expected_settings(world.operator, "operator")


ROLE_AND_TENANT = "SELECT current_setting('role'), current_setting('app.tenant'), count(*) FROM memory_customerprofile"


def test_one_statement_in_a_transaction_is_a_part_of_it_and_leaves_the_actor_as_it_was(world: World) -> None:
    make_profile(world)
    with acting_as(world.operator):
        [(role, tenant, seen)] = execute_as(world.system, ROLE_AND_TENANT, {})
        assert (role, tenant, seen) == (expected_settings(world.system, "worker")[0], str(world.tenant.pk), 1)
        assert current_settings() == expected_settings(world.operator, "operator")
