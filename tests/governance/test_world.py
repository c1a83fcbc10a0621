"""The test world itself stands."""

import pytest

from apps.governance.acting import acting
from apps.governance.models import ChangeRecord
from tests.factories import (
    make_conversation,
    make_event,
    make_memory,
    make_persona,
    make_profile,
    make_skill,
    make_world,
)


@pytest.mark.django_db
def test_every_factory_leaves_one_record_per_act() -> None:
    world = make_world()
    make_persona(world)
    make_skill(world, "deprecated")
    make_memory(world)
    make_profile(world)
    make_event(world)
    make_conversation(world)
    with acting(world.operator):
        acts = sorted(ChangeRecord.objects.values_list("act", flat=True))
    assert acts == sorted(
        [
            *("tenant.create", "member.add", "member.add", "agent.create", "token.issue", "persona.create"),
            *("skill.draft", "skill.approve", "skill.deprecate", "memory.amend", "profile.amend"),
            *("conversation.open", "conversation.open"),
        ]
    )
