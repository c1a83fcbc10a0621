"""An act writes rows of its own noun, does to them what its rule says, and changes no column beside those it names."""

import pytest

from apps.governance.errors import NotPermitted, UngovernedWrite
from apps.governance.governed_write import governed
from apps.governance.policy.policy_table import Act
from tests.support.worlds.world import World, make_memory, make_persona, make_skill, make_world

pytestmark = [pytest.mark.kernel, pytest.mark.django_db]


@pytest.fixture
def world() -> World:
    return make_world()


def test_an_act_of_one_noun_writes_no_row_of_another(world: World) -> None:
    # R017
    with pytest.raises(UngovernedWrite, match="writes a persona; AgentMemory is a memory"):  # noqa: SIM117
        with governed(Act.PERSONA_AMEND, make_memory(world), actor=world.operator):
            pass


def test_an_act_that_changes_does_not_remove(world: World) -> None:
    # R020
    with pytest.raises(UngovernedWrite, match="removes a persona here"):  # noqa: SIM117
        with governed(Act.PERSONA_AMEND, make_persona(world), actor=world.operator, removes=True):
            pass


def test_an_act_changes_no_column_that_it_neither_governs_nor_stamps(world: World) -> None:
    # R018
    skill = make_skill(world)
    with pytest.raises(NotPermitted, match="“amend a skill” does not change drafted_by"):  # noqa: SIM117
        with governed(Act.SKILL_AMEND, skill, actor=world.operator) as row:
            row.drafted_by = "operator:1"
