"""The test world itself is lawful."""

import pytest
from django.apps import apps

from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord
from apps.tenants.models import RoleTemplate
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.filled_world import fill_world
from tests.support.worlds.world import (
    make_conversation,
    make_event,
    make_identity_card,
    make_memory,
    make_overlay,
    make_persona,
    make_profile,
    make_rule,
    make_skill,
    make_world,
)

pytestmark = pytest.mark.kernel


@pytest.mark.django_db
def test_every_factory_leaves_one_record_per_act() -> None:
    world = make_world()
    make_persona(world)
    make_skill(world, "deprecated")
    make_overlay(world)
    make_identity_card(world)
    make_rule(world)
    make_memory(world)
    make_profile(world)
    make_event(world)
    make_conversation(world)
    with acting_as(world.operator):
        acts = sorted(ChangeRecord.objects.values_list("act", flat=True))
    assert acts == sorted(
        [
            *("tenant.create", "member.add", "member.add", "agent.create", "token.issue", "persona.create"),
            *(
                "skill.draft",
                "proposal.submit",
                "proposal.approve",
                "skill.approve",
                "proposal.apply",
                "skill.deprecate",
            ),
            *("memory.amend", "profile.amend"),
            *("conversation.open", "conversation.open", "overlay.write", "identity_card.write", "rule.add"),
        ]
    )


@pytest.mark.slow
@pytest.mark.django_db
def test_every_row_says_in_words_what_it_is(standin: StandIn) -> None:
    filled = fill_world(standin.backend)
    with acting_as(filled.world.operator):
        for model in apps.get_models():
            if any(field.name == "tenant" for field in model._meta.fields):
                row = model._default_manager.first()
                assert row is not None, model
                assert not str(row).startswith(f"{model.__name__} object"), model
    assert str(filled.world.tenant) == filled.world.tenant.name
    assert {str(template) for template in RoleTemplate.objects.all()} == {role.value for role in Role}
