"""Another tenant's rows are nobody's: every noun, every act, every surface."""

from dataclasses import replace
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import Model
from django.test import Client
from pytest_django import Settings

from apps.api.urls import router
from apps.console.site import site
from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.database.migration_operations import role_name
from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet
from apps.governance.policy.policy_table import POLICY, Act
from tests.governance.surfaces.base import ActionSurface, Surface
from tests.governance.surfaces.console import ConsoleSurface
from tests.governance.surfaces.rest import RestSurface
from tests.governance.surfaces.test_act_matrix import OFFERED_CELLS, SURFACES
from tests.support.parameter_sampling import covering_cells
from tests.support.worlds.filled_world import Filled
from tests.support.worlds.lawful_acts import MAKING_ACTS, make_scene
from tests.support.worlds.world import World, make_world

# Walks what other tests already cover, thousands of times: measuring that would only make it slower.
pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured, pytest.mark.usefixtures("beside_filled")]

NOUNS = [model for model in apps.get_models() if any(field.name == "tenant" for field in model._meta.fields)]
# Acts that name their row by a key of the actor's own tenant.
OWN_TENANT_ACTS = dict.fromkeys(
    (Act.MESSAGE_RECEIVE, Act.SESSION_OPEN), "a thread's key is looked up in the sender's own tenant"
)


@pytest.fixture(autouse=True)
def no_collected_static_files(settings: Settings) -> None:
    settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture
def other() -> World:
    return make_world()


def actors(world: World) -> list[Actor]:
    return [world.operator, world.admin, world.bot, world.system]


def first_row(model: type[Model], world: World) -> Any:  # Any: a row of any noun
    with acting_as(world.operator):
        return model._default_manager.filter(tenant_id=world.tenant.pk).first()


def readable(model: type[Model], actor: Actor) -> bool:
    """Whether this role reads the noun at all in its own tenant; PostgreSQL answers."""
    role = role_name({Role.AGENT: "agent", Role.SYSTEM: "worker"}.get(actor.role, "operator"))
    with connection.cursor() as cursor:
        columns = [role, model._meta.db_table, "tenant_id"]
        cursor.execute("SELECT has_column_privilege(%s, %s, %s, 'SELECT')", columns)
        return bool(cursor.fetchone()[0])


@pytest.mark.slow
def test_no_noun_of_another_tenant_is_listed_or_read_by_its_id(filled: Filled, other: World) -> None:
    # R006
    for model in NOUNS:
        row = first_row(model, filled.world)
        assert row is not None, f"the filled world has a row of every noun, {model} too"
        for actor in actors(other):
            if not readable(model, actor):
                continue
            with acting_as(actor):
                rows = model._default_manager.all()
                assert not rows.filter(pk=row.pk).exists(), model
                assert not rows.exclude(tenant_id=other.tenant.pk).exists(), model
                if isinstance(rows, GovernedQuerySet):
                    assert not rows.visible_to(actor).filter(pk=row.pk).exists(), model


def foreign_cells() -> list[Any]:  # Any: pytest's own parameter sets
    # REST and the console are walked address by address, with every body and form, in test_isolation_over_*.
    inner = [
        cell
        for cell in OFFERED_CELLS
        if isinstance(cell[0], ActionSurface) and cell[1] not in {*OWN_TENANT_ACTS, *MAKING_ACTS}
    ]
    chosen = covering_cells(inner, lambda cell: cell[1], lambda cell: cell[2])
    return [pytest.param(*cell, id=f"{cell[1].value}-{cell[2].value}") for cell in chosen]


@pytest.mark.whole
@pytest.mark.parametrize(("surface", "act", "role"), foreign_cells())
def test_no_act_reaches_a_row_of_another_tenant(surface: Surface, act: Act, role: Role) -> None:
    # R006
    scene = make_scene(act)
    assert isinstance(scene.subject, Governed)
    intruder = replace(scene, world=make_world())
    refusal = surface.perform(intruder, role)
    # The console leads back to its first page, as Django's admin does where nothing is.
    expected = {"not_found", ""} if surface.name == ConsoleSurface.name else {"not_found"}
    assert refusal in (expected if role in POLICY[act].allowed else expected | {"not_permitted", "nothing_permitted"})
    with acting_as(scene.world.operator):
        row = type(scene.subject)._default_manager.get(pk=scene.subject.pk)
    assert row.version == scene.subject.version
    with acting_as(intruder.world.operator):
        assert not type(scene.subject)._default_manager.filter(pk=scene.subject.pk).exists()


# The console's pages and lists: test_isolation_over_console.
# Any: the router's stubs know no queryset.
REST_NOUNS: dict[str, Any] = {prefix: view for prefix, view, _ in router.registry}
# A member's own, who is asked for them in tests/api/protocol/test_other_tenant.py.
MEMBER_PREFIXES = {"talks", "trials", "member-overlays"}


@pytest.mark.slow
def test_rest_lists_and_shows_nothing_of_another_tenant(filled: Filled, other: World) -> None:
    # R006
    own, foreign = Client(), Client()
    own.force_login(filled.world.admin_user)
    foreign.force_login(other.admin_user)
    bot = Client(headers={"Authorization": f"Bearer {other.token}"})
    for prefix, view in REST_NOUNS.items():
        row = first_row(view.queryset.model, filled.world)
        query = {"conversation_id": row.conversation_id} if prefix == "messages" else {}
        assert own.get(f"/api/v1/{prefix}/{row.pk}").status_code == (404 if prefix in MEMBER_PREFIXES else 200), prefix
        assert (row.pk in listed_ids(own.get(f"/api/v1/{prefix}", query))) is (prefix not in MEMBER_PREFIXES), prefix
        for client in (foreign, bot):
            assert client.get(f"/api/v1/{prefix}/{row.pk}").status_code in {403, 404}, prefix
            assert row.pk not in listed_ids(client.get(f"/api/v1/{prefix}", query)), prefix
        assert foreign.get(f"/api/v1/{prefix}/{row.pk}").status_code == 404, prefix


def listed_ids(response: Any) -> list[int]:  # Any: the test client's response
    body = response.json()
    return [line["id"] for line in body.get("results", [])]


PAGES = [model for model in site._registry if model in NOUNS]


def test_every_noun_with_a_page_or_an_address_is_tested_here() -> None:
    assert {view.queryset.model for view in REST_NOUNS.values()} <= set(NOUNS)
    assert set(PAGES) <= set(NOUNS)
    assert len(NOUNS) >= 18
    # Commands and tasks: test_isolation_of_tasks. MCP: test_isolation_over_mcp. Bring your own agent: test_isolation_elsewhere.
    walked = {
        ActionSurface.name,
        RestSurface.name,
        ConsoleSurface.name,
        "commands",
        "tasks",
        "MCP",
        "REST bulk",
        "bring-your-own-agent",
    }
    assert walked == {each.name for each in SURFACES}
