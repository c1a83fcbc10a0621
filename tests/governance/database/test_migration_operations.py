"""The operations that raise the walls: written out as they were given, said in one line, unknown roles refused."""

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import pytest
from django.apps import apps
from django.db import connections, models, transaction
from django.db.migrations import CreateModel, Migration
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ModelState, ProjectState

from apps.governance.database.migration_operations import (
    LoadSQL,
    ReplaceFunction,
    RoleSQL,
    TableMigration,
    role_name,
    substitute_roles,
)
from apps.governance.database_drift.security_catalog import catalog_facts
from apps.launcher.data_folders import PROJECT
from apps.skills.models import Skill

DEFINES = re.compile(
    r"^CREATE (?:OR REPLACE |CONSTRAINT |UNIQUE )?(?:(FUNCTION|INDEX) (\w+)|(TRIGGER|POLICY) (\w+)\s[^;]*?\bON\s+(\w+))",
    re.MULTILINE,
)
pytestmark = [pytest.mark.kernel, pytest.mark.django_db(databases=["default", "owner"])]


def migrations() -> list[Migration]:
    ours = {config.label for config in apps.get_app_configs() if config.name.startswith("apps.")}
    return [migration for (label, _), migration in MigrationLoader(None).disk_migrations.items() if label in ours]


def operations() -> list[Operation]:
    return [step for migration in migrations() for step in migration.operations]


def catalog_of(function: str) -> list[str]:
    return [line for line in catalog_facts("owner") if line.startswith(f"function {function}(")]


def test_every_operation_of_ours_is_written_out_as_it_was_given() -> None:
    ours = [step for step in operations() if isinstance(step, RoleSQL)]
    assert len(ours) > 40
    for step in ours:
        _, args, kwargs = step.deconstruct()
        assert type(step)(*args, **kwargs).sql == step.sql
        assert "\n" not in step.describe()


def test_a_plan_names_the_files_that_a_migration_loads() -> None:
    loaded = {(step.app, step.name): step.describe() for step in operations() if isinstance(step, LoadSQL)}
    assert loaded["skills", "row_security"] == "Load row_security.sql of skills"


def test_every_sql_file_is_loaded_by_one_migration() -> None:
    files = {(path.parent.parent.name, path.stem) for path in Path(PROJECT, "apps").glob("*/sql/*.sql")}
    loads = [(step.app, step.name) for step in operations() if isinstance(step, LoadSQL)]
    assert sorted(loads) == sorted(files)


def test_every_object_in_an_sql_file_is_defined_once() -> None:
    texts = [path.read_text(encoding="utf-8") for path in Path(PROJECT, "apps").glob("*/sql/*.sql")]
    defined = [" ".join(filter(None, found.groups())) for text in texts for found in DEFINES.finditer(text)]
    assert len(defined) > 400
    assert [name for name, count in Counter(defined).items() if count > 1] == []


def test_every_section_of_an_sql_file_begins_with_a_comment() -> None:
    for path in Path(PROJECT, "apps").glob("*/sql/*.sql"):
        for above, line in pairwise(["", *path.read_text(encoding="utf-8").splitlines()]):
            if line.startswith("CREATE OR REPLACE FUNCTION"):
                assert above.startswith("-- "), f"{path}: {line}"
            elif line and not above and path.name != "functions.sql":
                assert line.startswith("-- "), f"{path}: {line}"


# One of the owner's functions, and one that runs as the cross-tenant role.
@pytest.mark.parametrize(("app", "function"), [("governance", "stamp_version"), ("tenants", "resolve_agent_token")])
def test_a_function_is_replaced_by_its_present_text_with_its_rights(app: str, function: str) -> None:
    before, state = catalog_of(function), ProjectState()
    with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
        cursor.execute("SELECT prosrc FROM pg_proc WHERE proname = %s", [function])
        (source,) = cursor.fetchone()
        cursor.execute(
            "RESET ROLE; SET LOCAL ROLE NONE; UPDATE pg_proc SET prosrc = ' SELECT 1 ', proacl = NULL WHERE proname = %s",
            [function],
        )
        cursor.execute("RESET ROLE")
        assert catalog_of(function) != before
        step = ReplaceFunction(app, function)
        assert source in step.sql
        assert ReplaceFunction(*step.deconstruct()[1]).sql == step.sql
        assert step.describe() == f"Replace the function {function} of {app}"
        with connections["owner"].schema_editor(atomic=False) as editor:
            step.database_forwards(app, editor, state, state)
        after = catalog_of(function)
        transaction.set_rollback(True, using="owner")
    assert after == before


def test_a_function_that_no_file_defines_cannot_be_replaced() -> None:
    with pytest.raises(ValueError, match="defines no_such_function 0 times"):
        ReplaceFunction("governance", "no_such_function")


def test_every_function_can_be_made_with_its_body_checked() -> None:
    # Migrations load bodies unchecked, so one that names a column nobody has would fail only when it is called.
    with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
        cursor.execute("SET LOCAL ROLE NONE")
        cursor.execute(
            "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prokind = 'f'"
        )
        definitions = [definition for (definition,) in cursor.fetchall()]
        assert len(definitions) > 90
        for definition in definitions:
            cursor.execute(definition.replace("%", "%%"), [])
        transaction.set_rollback(True, using="owner")


class TwoTables(TableMigration):
    operations: ClassVar = [
        CreateModel("Shelf", fields=[("id", models.BigAutoField(primary_key=True))]),
        CreateModel(
            "Lamp",
            fields=[
                ("id", models.BigAutoField(primary_key=True)),
                ("shelf", models.ForeignKey("skills.Shelf", models.CASCADE)),
            ],
        ),
    ]


class TablesAndMore(TwoTables):
    operations: ClassVar = [*TwoTables.operations, RoleSQL("COMMENT ON TABLE skills_lamp IS 'lit by @agent@'")]


# Of tables alone each model is rendered once; with anything else besides they are made one by one, as Django does it.
@pytest.mark.parametrize("kind", [TwoTables, TablesAndMore])
def test_a_migration_of_tables_makes_them_with_their_references(kind: type[TableMigration]) -> None:
    state = ProjectState()
    assert state.apps.get_models() == []
    with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
        with connections["owner"].schema_editor(atomic=False) as editor:
            after = kind("0009_lamps", "skills").apply(state, editor)
        assert {model._meta.db_table for model in after.apps.get_models()} == {"skills_shelf", "skills_lamp"}
        cursor.execute("SELECT count(*) FROM pg_constraint WHERE conrelid = 'skills_lamp'::regclass AND contype = 'f'")
        assert cursor.fetchone() == (1,)
        transaction.set_rollback(True, using="owner")


def test_a_migration_of_tables_renders_no_model_that_stands_already() -> None:
    state = ProjectState()
    state.add_model(ModelState("tenants", "Room", [("id", models.BigAutoField(primary_key=True))]))
    room_model = state.apps.get_model("tenants", "Room")
    shelf = CreateModel(
        "Shelf",
        [("id", models.BigAutoField(primary_key=True)), ("room", models.ForeignKey("tenants.Room", models.CASCADE))],
    )

    class Shelves(TableMigration):
        operations: ClassVar = [shelf]

    with transaction.atomic(using="owner"):
        with connections["owner"].schema_editor(atomic=False) as editor:
            editor.create_model(room_model)
            after = Shelves("0009_shelves", "skills").apply(state, editor)
        transaction.set_rollback(True, using="owner")
    assert after.apps.get_model("tenants", "Room") is room_model
    assert after.apps.get_model("skills", "Shelf")._meta.get_field("room").related_model is room_model


def test_tables_of_ours_are_made_by_migrations_that_do_nothing_else() -> None:
    ours = [migration for migration in migrations() if issubclass(type(migration), TableMigration)]
    assert len(ours) > 10
    assert {type(step) for migration in ours for step in migration.operations} == {CreateModel}


def test_a_role_nobody_defined_is_refused() -> None:
    with pytest.raises(ValueError, match="no database role superuser"):
        role_name("superuser")
    assert substitute_roles("TO @agent@, @worker@") == f'TO "{role_name("agent")}", "{role_name("worker")}"'


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
