"""Every way past the door: each is refused in Python, and the refusal says where the door is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import transaction

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import UngovernedWrite
from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet, governed_write_open
from apps.skills.models import Skill
from apps.tenants.models import AgentToken
from tests.support.worlds.world import World, make_skill, make_world

pytestmark = [pytest.mark.kernel, pytest.mark.django_db]


@dataclass(frozen=True)
class WriteTarget:
    """What a write beside the door is aimed at."""

    world: World
    skill: Skill

    @property
    def rows(self) -> GovernedQuerySet[Skill]:
        return Skill.objects.filter(pk=self.skill.pk)

    @property
    def key(self) -> dict[str, Any]:  # Any: whatever a query takes
        return {"tenant": self.world.tenant, "agent": self.world.agent, "name": "fresh"}

    @property
    def tokens(self) -> Any:  # Any: a related manager is made at run time
        return self.world.agent.tokens


TEXTS = {"title": "X", "description": "X", "body": "X"}
PATHS: dict[str, Callable[[WriteTarget], object]] = {
    "save": lambda aim: aim.skill.save(),
    "save of a new row": lambda aim: Skill(**aim.key, **TEXTS).save(),
    "delete": lambda aim: aim.skill.delete(),
    "create": lambda aim: Skill.objects.create(**aim.key, **TEXTS),
    "bulk_create": lambda aim: Skill.objects.bulk_create([Skill(**aim.key, **TEXTS)]),
    "bulk_update": lambda aim: Skill.objects.bulk_update([aim.skill], ["body"]),
    "update": lambda aim: aim.rows.update(body="x"),
    "queryset delete": lambda aim: aim.rows.delete(),
    "get_or_create": lambda aim: Skill.objects.get_or_create(**aim.key, defaults=TEXTS),
    "update_or_create": lambda aim: Skill.objects.update_or_create(**aim.key, defaults=TEXTS),
    "base manager update": lambda aim: Skill._base_manager.filter(pk=aim.skill.pk).update(body="x"),
    "related update": lambda aim: aim.tokens.update(revoked_at=None),
    "related create": lambda aim: aim.tokens.create(tenant=aim.world.tenant, name="x", digest="x"),
    "related add": lambda aim: aim.tokens.add(AgentToken(tenant=aim.world.tenant, name="x", digest="x"), bulk=False),
    "related add in bulk": lambda aim: aim.tokens.add(*aim.tokens.all()),
    "raw delete": lambda aim: aim.rows._raw_delete("default"),
}


@pytest.mark.parametrize("path", PATHS)
def test_an_ungoverned_write_is_refused(path: str) -> None:
    # R017, R018
    world = make_world()
    skill = make_skill(world)
    with acting_as(world.admin):
        with pytest.raises(UngovernedWrite, match="write it through a function of its actions"), transaction.atomic():
            PATHS[path](WriteTarget(world, skill))
        assert Skill.objects.visible_to(world.admin).get().body == skill.body


# PostgreSQL refuses every role to move a token to an agent, and to write a row's every column, by whatever path.
REFUSED_BY_DATABASE = {"related add in bulk", "save"}


@pytest.mark.parametrize("path", sorted(PATHS.keys() - REFUSED_BY_DATABASE))
def test_the_same_write_passes_when_governed(path: str) -> None:
    world = make_world()
    skill = make_skill(world)
    with acting_as(world.admin), governed_write_open():
        PATHS[path](WriteTarget(world, skill))


def test_every_governed_model_is_guarded_on_all_its_managers() -> None:
    for model in Governed.__subclasses__():
        for manager in (model._default_manager, model._base_manager):
            with pytest.raises(UngovernedWrite):
                manager.none().update(version=1)
