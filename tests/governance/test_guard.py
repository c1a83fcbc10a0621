"""Every way past the door: each is refused in Python, and by its words says where the door is."""

from collections.abc import Callable

import pytest
from django.db import transaction

from apps.governance.acting import acting
from apps.governance.errors import UngovernedWrite
from apps.governance.models import Governed
from apps.skills.models import Skill
from tests.factories import World, make_skill, make_world

pytestmark = pytest.mark.django_db


def fresh(world: World) -> Skill:
    return Skill(tenant_id=world.tenant.pk, agent_id=world.agent.pk, name="x", title="X", description="X", body="X")


VALUES = {"name": "x", "title": "X", "description": "X", "body": "X"}
PATHS: dict[str, Callable[[World, Skill], object]] = {
    "save": lambda world, skill: skill.save(),
    "save of a new row": lambda world, skill: fresh(world).save(),
    "delete": lambda world, skill: skill.delete(),
    "create": lambda world, skill: Skill.objects.create(tenant=world.tenant, agent=world.agent, **VALUES),
    "bulk_create": lambda world, skill: Skill.objects.bulk_create([fresh(world)]),
    "bulk_update": lambda world, skill: Skill.objects.bulk_update([skill], ["body"]),
    "update": lambda world, skill: Skill.objects.filter(pk=skill.pk).update(body="x"),
    "queryset delete": lambda world, skill: Skill.objects.filter(pk=skill.pk).delete(),
    "get_or_create": lambda world, skill: Skill.objects.get_or_create(tenant=world.tenant, agent=world.agent, name="y"),
    "update_or_create": lambda world, skill: Skill.objects.update_or_create(
        defaults={"body": "x"}, tenant=world.tenant, agent=world.agent, name=skill.name
    ),
    "base manager update": lambda world, skill: Skill._base_manager.filter(pk=skill.pk).update(body="x"),
    "default manager delete": lambda world, skill: Skill._default_manager.all().delete(),
    "related update": lambda world, skill: world.agent.tokens.update(name="x"),
    "related create": lambda world, skill: world.agent.tokens.create(tenant=world.tenant, name="x", digest="x"),
    "related delete": lambda world, skill: world.agent.tokens.all().delete(),
    "related add": lambda world, skill: world.agent.tokens.add(world.agent.tokens.model(name="x"), bulk=False),
    "related add in bulk": lambda world, skill: world.agent.tokens.add(*world.agent.tokens.all()),
    "raw delete": lambda world, skill: Skill.objects.filter(pk=skill.pk)._raw_delete("default"),
}


@pytest.mark.parametrize("path", PATHS)
def test_a_write_beside_the_door_is_refused(path: str) -> None:
    # R017, R018
    world = make_world()
    skill = make_skill(world)
    with acting(world.admin):
        with (
            pytest.raises(UngovernedWrite, match="write it through a function of its actions.py"),
            transaction.atomic(),
        ):
            PATHS[path](world, skill)
        assert Skill.objects.visible_to(world.admin).get().body == skill.body


def test_every_governed_model_is_guarded_on_all_its_managers() -> None:
    for model in Governed.__subclasses__():
        for manager in (model._default_manager, model._base_manager):
            with pytest.raises(UngovernedWrite):
                manager.none().update(version=1)
