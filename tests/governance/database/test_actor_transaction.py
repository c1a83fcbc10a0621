"""The role, tenant, agent and customer of a transaction: assumed, nested, restored."""

import pytest
from django.conf import settings
from django.db import connection, transaction

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting, acting_actor, one_shot, outside, tenant_id_named
from apps.memory.models import CustomerProfile
from tests.support.worlds.world import World, make_profile, make_world

pytestmark = [pytest.mark.kernel, pytest.mark.django_db]


@pytest.fixture
def world() -> World:
    return make_world()


def present() -> tuple[str, ...]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('role'), current_setting('app.tenant'), current_setting('app.agent'),"
            " current_setting('app.customer')"
        )
        return tuple(cursor.fetchone())


def expected(actor: Actor, role: str) -> tuple[str, ...]:
    agent_id = str(actor.agent_id or "")
    customer = "" if actor.customer_key is None else f"={actor.customer_key}"
    return (f"{settings.DATABASE_ROLE_PREFIX}_{role}", str(actor.tenant_id), agent_id, customer)


NOBODY = ("none", "", "", "")


def test_the_database_knows_who_acts(world: World) -> None:
    # R013
    serving = world.bot.serving("http:abc123")
    for actor, role in (
        (world.operator, "operator"),
        (world.admin, "operator"),
        (serving, "agent"),
        (world.system, "worker"),
    ):
        with acting(actor):
            assert present() == expected(actor, role)
            assert acting_actor() == actor
        assert present() == NOBODY
        assert acting_actor() is None


def test_nested_acting_restores_what_stood_before(world: World) -> None:
    # R013
    with acting(world.operator):
        with acting(world.bot):
            with acting(world.bot):
                assert present() == expected(world.bot, "agent")
            assert present() == expected(world.bot, "agent")
        assert present() == expected(world.operator, "operator")
        assert acting_actor() == world.operator
    assert present() == NOBODY


def test_an_exception_inside_restores_what_stood_before(world: World) -> None:
    with acting(world.operator):
        with pytest.raises(ZeroDivisionError), acting(world.bot):
            raise ZeroDivisionError
        assert present() == expected(world.operator, "operator")
        assert acting_actor() == world.operator
    with pytest.raises(ZeroDivisionError), acting(world.bot):
        raise ZeroDivisionError
    assert present() == NOBODY
    assert acting_actor() is None


def test_a_rollback_inside_restores_what_stood_before(world: World) -> None:
    with acting(world.operator):
        with acting(world.bot):
            transaction.set_rollback(True)
        assert present() == expected(world.operator, "operator")
    assert present() == NOBODY


def test_a_tenants_id_is_known_to_whoever_knows_its_key(world: World) -> None:
    # R006: one row by its key, and the settings are as before.
    with acting(world.operator):
        assert tenant_id_named(world.tenant.key) == world.tenant.pk
        assert tenant_id_named("nobody") is None
        assert present() == expected(world.operator, "operator")
    assert tenant_id_named(world.tenant.key) == world.tenant.pk
    assert present() == NOBODY


def test_turn_that_names_nobody_sees_no_profile_while_an_agent_outside_a_turn_does(world: World) -> None:
    # R006, R009
    make_profile(world)
    for actor, seen in ((world.bot, 1), (world.bot.serving("http:abc123"), 1), (world.bot.serving(""), 0)):
        with acting(actor):
            assert CustomerProfile.objects.visible_to(actor).count() == seen


def test_outside_leaves_a_transaction_that_is_to_be_rolled_back_alone(world: World) -> None:
    with acting(world.operator):
        with outside():
            assert present() == NOBODY
            transaction.set_rollback(True)
        assert present() == expected(world.operator, "operator")


WHO = "SELECT current_setting('role'), current_setting('app.tenant'), count(*) FROM memory_customerprofile"


def test_one_statement_in_a_transaction_is_a_part_of_it_and_leaves_the_actor_as_it_was(world: World) -> None:
    make_profile(world)
    with acting(world.operator):
        [(role, tenant, seen)] = one_shot(world.system, WHO, {})
        assert (role, tenant, seen) == (expected(world.system, "worker")[0], str(world.tenant.pk), 1)
        assert present() == expected(world.operator, "operator")
