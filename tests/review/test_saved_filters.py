"""Saved filters as rows: whose they are, how many, and what PostgreSQL keeps from everybody else."""

import pytest

from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid, NotPermitted
from apps.governance.models import ChangeRecord
from apps.review.models import SavedFilter
from apps.review.rules import FILTERS_KEPT
from apps.review.saved_filters import delete_filter, save_filter
from apps.tenants.authentication.actor_resolution import person_actor
from tests.support.database.raw_sql_as_role import run_and_undo
from tests.support.factories.saved_filters import HIGH_RISK_QUERY, make_filter
from tests.support.worlds.world import World, make_member, make_world

pytestmark = pytest.mark.django_db

SELECT_FILTERS = "SELECT id FROM review_savedfilter"
WRITE = """INSERT INTO review_savedfilter (tenant_id, user_id, quota_slot, name, query, is_shared)
    VALUES (%s, %s, %s, %s, %s, %s)"""
UNIQUE, CHECK, NO_RIGHT = "23505", "23514", "42501"


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def colleague(world: World) -> Actor:
    """An operator like the one who saves."""
    return person_actor(make_member(world).user_id, world.tenant.pk, Role.OPERATOR)


def visible_filter_names(actor: Actor) -> set[str]:
    with acting_as(actor):
        return set(SavedFilter.objects.visible_to(actor).values_list("name", flat=True))


def filter_ids_by_sql(actor: Actor) -> set[object]:
    """What this actor's database role is shown, whatever the application asks."""
    return {pk for (pk,) in run_and_undo(actor, SELECT_FILTERS).found}


def test_own_filters_are_ones_own_and_shared_ones_the_tenants(world: World, colleague: Actor) -> None:
    own, shared = make_filter(world, "Mine", is_shared=False), make_filter(world, "Ours")
    assert visible_filter_names(world.operator) == {"Mine", "Ours"}
    assert visible_filter_names(colleague) == visible_filter_names(world.admin) == {"Ours"}
    assert visible_filter_names(make_world().operator) == set()
    # PostgreSQL says the same to whoever asks for everything.
    assert filter_ids_by_sql(world.operator) == {own.pk, shared.pk}
    assert filter_ids_by_sql(colleague) == filter_ids_by_sql(world.admin) == {shared.pk}
    assert filter_ids_by_sql(make_world().admin) == set()


def test_agents_and_workers_have_no_right_to_the_table(world: World) -> None:
    make_filter(world)
    for actor in (world.bot, world.system):
        assert run_and_undo(actor, SELECT_FILTERS).sqlstate == NO_RIGHT
        assert visible_filter_names(actor) == set()
        with pytest.raises(NotPermitted, match="Only members of the tenant can save filters"):
            make_filter(world, "Another", actor=actor)


def test_a_shared_filter_is_deleted_by_its_maker_or_an_admin(world: World, colleague: Actor) -> None:
    by_maker, by_admin = make_filter(world), make_filter(world, "Another")
    with pytest.raises(NotPermitted, match="Only the person who saved a shared filter, or an admin, can delete it"):
        delete_filter(by_maker, actor=colleague)
    removing = "DELETE FROM review_savedfilter WHERE id = %s"
    assert run_and_undo(colleague, removing, [by_maker.pk]).rows == 0
    assert run_and_undo(world.admin, removing, [by_maker.pk]).rows == 1
    delete_filter(by_maker, actor=world.operator)
    delete_filter(by_admin, actor=world.admin)
    assert visible_filter_names(world.operator) == set()
    # Whoever was slower finds it gone.
    delete_filter(by_admin, actor=world.admin)


def test_nobody_deletes_what_another_keeps_for_themselves(world: World) -> None:
    own = make_filter(world, is_shared=False)
    with pytest.raises(NotPermitted):
        delete_filter(own, actor=world.admin)
    assert run_and_undo(world.admin, "DELETE FROM review_savedfilter").rows == 0
    assert visible_filter_names(world.operator) == {"High tier"}


def test_a_person_keeps_so_many_and_a_place_that_is_free_is_taken_again(world: World) -> None:
    kept = [make_filter(world, f"Filter {number}") for number in range(FILTERS_KEPT)]
    with pytest.raises(Conflict, match="You have 20 saved filters, which is the limit"):
        make_filter(world, "One more")
    make_filter(world, "Of another person", actor=world.admin)
    delete_filter(kept[3], actor=world.operator)
    assert make_filter(world, "One more").quota_slot == kept[3].quota_slot
    of_operator = [world.tenant.pk, world.operator.user_id]
    assert run_and_undo(world.operator, WRITE, [*of_operator, 21, "x", HIGH_RISK_QUERY, False]).sqlstate == CHECK
    assert run_and_undo(world.operator, WRITE, [*of_operator, 4, "x", HIGH_RISK_QUERY, False]).sqlstate == UNIQUE


def test_a_name_is_taken_once_by_each_person(world: World) -> None:
    make_filter(world, "Ours")
    with pytest.raises(Conflict, match="You already have a filter with this name"):
        make_filter(world, " Ours ", is_shared=False)
    assert make_filter(world, "Ours", actor=world.admin).name == "Ours"
    with pytest.raises(Invalid, match="The filter has no name"):
        make_filter(world, "  ")


def test_postgresql_refuses_what_no_page_writes(world: World, colleague: Actor) -> None:
    row = [world.tenant.pk, world.operator.user_id, 1, "x", HIGH_RISK_QUERY, False]
    assert run_and_undo(world.operator, WRITE, row).passed
    # In the name of another, in another tenant, with a page number, with nothing to narrow by; and no filter changes.
    assert run_and_undo(colleague, WRITE, row).sqlstate == NO_RIGHT
    assert run_and_undo(world.operator, WRITE, [make_world().tenant.pk, *row[1:]]).sqlstate == NO_RIGHT
    for query in ("", "p=2", f"p=2&{HIGH_RISK_QUERY}", f"{HIGH_RISK_QUERY}&p=2"):
        assert run_and_undo(world.operator, WRITE, [*row[:4], query, False]).sqlstate == CHECK
    make_filter(world)
    assert run_and_undo(world.operator, "UPDATE review_savedfilter SET is_shared = true").sqlstate == NO_RIGHT


def test_a_saved_filter_leaves_no_record(world: World) -> None:
    with acting_as(world.operator):
        before = ChangeRecord.objects.count()
    delete_filter(save_filter(actor=world.operator, name="Ada", query="q=ada", is_shared=False), actor=world.operator)
    with acting_as(world.operator):
        assert ChangeRecord.objects.count() == before
