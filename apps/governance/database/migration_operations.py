"""Migration operations that create tables, and that load SQL files with functions, triggers, row security and grants.

Database roles are named `<prefix>_owner|operator|agent|worker|staff|login|cross_tenant`, where the prefix is the setting
`DATABASE_ROLE_PREFIX`. SQL files and migrations use placeholders such as `@owner@`. No value from a request reaches these
statements.

To add a table:
1. Declare the model and run `makemigrations`.
2. Write its row security, triggers and keys with the tenant into a new file beside `row_security.sql`, named after the table.
   The first migrations load the existing files, and would not find a table that a later migration creates.
3. Load that file in the same migration with `LoadSQL`.
4. Add a line for each column to `column_privacy.csv`.
5. Regenerate `security_catalog.txt` (`UPDATE_CATALOG=1 pytest tests/governance/database/test_database_drift.py`); read the diff.

To change a function: edit it in `functions.sql` and name it with `ReplaceFunction` in a new migration. A trigger or policy is
dropped in the new migration and created again with its current definition from the file.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import CreateModel, Migration
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

from apps.governance.database.sql_files import read_sql_file

ROLES = ("owner", "operator", "agent", "worker", "staff", "login", "cross_tenant")
# Next to a foreign key that includes the tenant, Django's own key is redundant, and it discloses which ids exist in other
# tenants.
DROP_DUPLICATE_FOREIGN_KEYS: Final = """
DO $$ DECLARE plain record; BEGIN
    FOR plain IN
        SELECT key.conname, key.conrelid::regclass AS source FROM pg_constraint AS key
            JOIN pg_constraint AS composed ON composed.conrelid = key.conrelid AND composed.contype = 'f'
                AND array_length(composed.conkey, 1) = 2 AND composed.conkey[2] = key.conkey[1]
                AND composed.conname LIKE '%_in_tenant'
            WHERE key.contype = 'f' AND array_length(key.conkey, 1) = 1
    LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', plain.source, plain.conname);
    END LOOP;
END $$"""

# A function that runs as the cross-tenant role is owned by that role, and only its owner may replace it.
_ASSUME_OWNER: Final = """
SELECT set_config('role', pg_get_userbyid(proowner), true) FROM pg_proc
 WHERE proname = '@function@' AND pronamespace = 'public'::regnamespace"""


def role_name(role: str) -> str:
    """Return the installation's name of a database role, which must be one of `ROLES`."""
    if role not in ROLES:
        raise ValueError(f"There is no database role {role}.")
    return f"{settings.DATABASE_ROLE_PREFIX}_{role}"


def substitute_roles(sql: str) -> str:
    """Replace placeholders such as `@agent@` by the quoted role names."""
    for role in ROLES:
        sql = sql.replace(f"@{role}@", f'"{role_name(role)}"')
    return sql


class TableMigration(Migration):
    """A migration that only creates tables, and renders each model only once.

    For every `CreateModel`, Django renders all related models again. In this project every model is related to the tenant, so a
    hundred tables would cost twelve thousand renderings and half a minute. Creating a table does not need the related models in
    their latest rendering.
    """

    def apply(
        self, project_state: ProjectState, schema_editor: BaseDatabaseSchemaEditor, collect_sql: bool = False
    ) -> ProjectState:
        """Add all models to the state, render each model once, then create the tables.

        Foreign keys are created at the end of the migration.
        """
        creations = [operation for operation in self.operations if type(operation) is CreateModel]
        if collect_sql or len(creations) < len(self.operations):
            return super().apply(project_state, schema_editor, collect_sql)
        # A project state without rendered models accepts a new model without rendering anything.
        rendered = project_state.apps
        del project_state.__dict__["apps"]
        before = project_state.clone()
        for creation in creations:
            creation.state_forwards(self.app_label, project_state)
        project_state.__dict__["apps"] = rendered
        rendered.render_multiple([project_state.models[self.app_label, each.name_lower] for each in creations])
        for creation in creations:
            creation.database_forwards(self.app_label, schema_editor, before, project_state)
        return project_state


class RoleSQL(Operation):
    """Hand-written SQL with placeholders such as `@operator@` and `@agent@` for the installation's roles."""

    reduces_to_sql = True
    reversible = False

    def __init__(self, sql: str) -> None:
        self.sql = sql

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Do nothing: the SQL does not change models."""

    def database_forwards(  # Django calls this method with this signature.
        self,
        app_label: str,  # noqa: ARG002
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,  # noqa: ARG002
        to_state: ProjectState,  # noqa: ARG002
    ) -> None:
        """Run the SQL unchanged, without parameters."""
        schema_editor.execute(substitute_roles(self.sql), params=None)

    def describe(self) -> str:
        """Return the line that `migrate --plan` prints."""
        return f"Run SQL: {self.sql.strip().splitlines()[0][:60]}"


class LoadSQL(RoleSQL):
    """Run the file `apps/<app>/sql/<name>.sql` once; it holds the current definition of its objects.

    PostgreSQL does not check function bodies while the file loads, since they may name tables of apps that are migrated later.
    """

    def __init__(self, app: str, name: str) -> None:
        self.app, self.name = app, name
        super().__init__(_skip_body_checks(sql_text(app, name)))

    def deconstruct(self) -> tuple[str, list[Any], Mapping[str, Any]]:  # type: ignore[override]  # Django's stub wants dict
        """Return the constructor arguments, as the migration writes them."""
        return type(self).__name__, [self.app, self.name], {}

    def describe(self) -> str:
        """Return the line that `migrate --plan` prints."""
        return f"Load {self.name}.sql of {self.app}"


class ReplaceFunction(RoleSQL):
    """Run the current definition of one function from `functions.sql`, with its grants, as the role that owns the function."""

    def __init__(self, app: str, function: str) -> None:
        self.app, self.function = app, function
        as_its_owner = _ASSUME_OWNER.replace("@function@", function)
        super().__init__(_skip_body_checks(f"{as_its_owner};\n{function_text(app, function)}\nRESET ROLE;"))

    def deconstruct(self) -> tuple[str, list[Any], Mapping[str, Any]]:  # type: ignore[override]  # Django's stub wants dict
        """Return the constructor arguments, as the migration writes them."""
        return type(self).__name__, [self.app, self.function], {}

    def describe(self) -> str:
        """Return the line that `migrate --plan` prints."""
        return f"Replace the function {self.function} of {self.app}"


def sql_text(app: str, name: str) -> str:
    """Return the text of `apps/<app>/sql/<name>.sql`."""
    return read_sql_file(f"apps/{app}/sql/{name}.sql")


def function_text(app: str, function: str) -> str:
    """Return the statements for one function in `functions.sql`: its definition, its owner, and who may execute it."""
    sections = re.split(r"^(?=CREATE OR REPLACE FUNCTION )", sql_text(app, "functions"), flags=re.MULTILINE)
    found = [section for section in sections if section.startswith(f"CREATE OR REPLACE FUNCTION {function}(")]
    if len(found) != 1:
        raise ValueError(f"functions.sql of {app} defines {function} {len(found)} times. Define it exactly once.")
    return found[0]


def _skip_body_checks(sql: str) -> str:
    return f"SET LOCAL check_function_bodies = off;\n{sql}\nSET LOCAL check_function_bodies = on;"


class DropDuplicateForeignKeys(RoleSQL):
    """Drop each of Django's foreign keys on the id alone if another foreign key also includes the tenant.

    PostgreSQL checks Django's key without row security, which would disclose the ids that exist in other tenants.
    """

    def __init__(self) -> None:
        super().__init__(DROP_DUPLICATE_FOREIGN_KEYS)
