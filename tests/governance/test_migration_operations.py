"""The operations that raise the walls: written out as they were given, said in one line, unknown roles refused."""

import pytest
from django.apps import apps
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

from apps.governance.database import RaiseWall, RoleSQL, role_name, with_roles
from apps.skills.models import Skill

pytestmark = pytest.mark.django_db(databases=["default", "owner"])


def operations() -> list[Operation]:
    ours = {config.label for config in apps.get_app_configs() if config.name.startswith("apps.")}
    found = MigrationLoader(None).disk_migrations
    return [step for (label, _), migration in found.items() if label in ours for step in migration.operations]


def test_every_operation_of_ours_is_written_out_as_it_was_given() -> None:
    ours = [step for step in operations() if isinstance(step, RoleSQL)]
    assert len(ours) > 40
    for step in ours:
        _, args, kwargs = step.deconstruct()
        assert type(step)(*args, **kwargs).sql == step.sql
        assert "\n" not in step.describe()


def test_a_plan_names_the_tables_that_get_a_wall() -> None:
    walls = {step.table: step.describe() for step in operations() if isinstance(step, RaiseWall)}
    assert walls["skills_skill"] == "Raise the tenant wall around skills_skill"


def test_a_role_nobody_defined_is_refused() -> None:
    with pytest.raises(ValueError, match="no database role superuser"):
        role_name("superuser")
    assert with_roles("TO @agent@, @worker@") == f'TO "{role_name("agent")}", "{role_name("worker")}"'


def test_an_operation_runs_its_statement_with_the_roles_of_this_database() -> None:
    step, state = RoleSQL("COMMENT ON TABLE skills_skill IS 'for @agent@'"), ProjectState()
    step.state_forwards("skills", state)
    with connections["owner"].schema_editor() as editor:
        step.database_forwards("skills", editor, state, state)
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT obj_description('skills_skill'::regclass)")
        assert cursor.fetchone() == (f'for "{role_name("agent")}"',)


def test_a_state_is_a_text_to_migrations() -> None:
    # A copy of a state machine in a migration would listen to every model that is made there.
    _, path, arguments, options = Skill._meta.get_field("status").deconstruct()
    assert (path, arguments) == ("django.db.models.CharField", [])
    assert "protected" not in options
    assert options["default"] == Skill.Status.DRAFT
