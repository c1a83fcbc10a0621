"""Every governed row has its versions, and any two of them can be compared."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.governance.audit.row_history import (
    RowVersion,
    field_differences,
    numbered_versions,
    record_of_version,
    records_of,
    version_of,
)
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import NotVisible, TextErased
from apps.governance.models import Governed
from apps.launcher.postgres import Postgres
from apps.personas.actions import amend_persona, archive_persona
from apps.personas.models import Persona
from apps.skills.actions import discard_skill
from apps.skills.models import Skill
from tests.governance.audit.test_row_history import erase_change
from tests.support.database.committing_fixture import committing
from tests.support.worlds.world import World, make_persona, make_skill, make_world

pytestmark = pytest.mark.kernel

__all__ = ["committing"]


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def versions_of(row: Governed) -> list[RowVersion]:
    return [version_of(record) for record in records_of(row._meta.label_lower, row.pk)]


def make_persona_history(world: World) -> Persona:
    persona = make_persona(world, style="Brief.")
    amend_persona(persona, actor=world.admin, values={"style": "Warm."}, reason="Customers found it cold.")
    return archive_persona(persona, actor=world.operator)


def test_each_change_of_a_row_left_a_version_that_says_who_made_it_and_why(world: World) -> None:
    persona = make_persona_history(world)
    with acting_as(world.operator):
        newest, middle, first = versions_of(persona)
    assert (newest.number, middle.number, first.number) == (3, 2, 1)
    assert (middle.act, middle.by, middle.role) == ("persona.amend", world.admin.label, "admin")
    assert (middle.reason, middle.taint) == ("Customers found it cold.", "operator")
    assert first.values is not None
    assert first.own_values == {name: value for name, value in first.values.items() if name != "tenant_id"}
    assert (first.values["style"], first.is_erased) == ("Brief.", False)


def test_a_long_history_is_read_by_one_statement(world: World) -> None:
    persona = make_persona(world)
    for number in range(10):
        amend_persona(persona, actor=world.operator, values={"style": f"Style {number}."})
    with acting_as(world.operator), CaptureQueriesContext(connection) as asked:
        assert len(versions_of(persona)) == 11
    assert len(asked) == 1


def test_any_two_versions_differ_in_the_fields_that_changed_between_them(world: World) -> None:
    persona = make_persona_history(world)
    with acting_as(world.operator):
        first, last = numbered_versions(persona, (1, 3))
        [backwards] = field_differences(*numbered_versions(persona, (2, 1)))
    assert [(each.field, each.before, each.after) for each in field_differences(first, last)] == [
        ("status", "active", "archived"),
        ("style", "Brief.", "Warm."),
    ]
    assert (backwards.before, backwards.after) == ("Warm.", "Brief.")
    assert field_differences(first, first) == ()


@pytest.mark.parametrize("number", [0, 4])
def test_a_version_that_never_was_is_refused(world: World, number: int) -> None:
    persona = make_persona_history(world)
    with acting_as(world.operator):
        with pytest.raises(NotVisible, match=f"There is no version {number} of this persona. It has versions 1 to 3"):
            numbered_versions(persona, (1, number))
        with pytest.raises(NotVisible, match=f"There is no version {number} of personas.persona"):
            record_of_version("personas.persona", persona.pk, number)
        assert record_of_version("personas.persona", persona.pk, 3).act == "persona.archive"


def test_a_row_that_was_removed_keeps_its_versions(world: World) -> None:
    skill = make_skill(world)
    gone = Skill(pk=skill.pk, tenant_id=skill.tenant_id)
    discard_skill(skill, actor=world.bot)
    with acting_as(world.operator):
        removal, first = versions_of(gone)
    assert (removal.number, removal.act, first.number) == (0, "skill.discard", 1)


def test_another_tenants_versions_are_not_there(world: World) -> None:  # R006
    persona = make_persona_history(world)
    stranger = make_world()
    with acting_as(stranger.operator):
        assert versions_of(persona) == []


def test_erased_words_are_named_as_erased_and_compared_with_nothing(committing: str, postgres: Postgres) -> None:
    world = make_world()
    persona = make_persona_history(world)
    erase_change(postgres, committing, world, persona, 2)
    with acting_as(world.operator):
        first, second = numbered_versions(persona, (1, 2))
        assert (second.is_erased, second.reason, second.own_values) == (True, "", None)
        for pair in ((first, second), (second, first)):
            with pytest.raises(TextErased, match="The words of version 2 were erased"):
                field_differences(*pair)
