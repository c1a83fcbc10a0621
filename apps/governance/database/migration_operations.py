"""Migration operations: tables in one go, and the SQL files that hold functions, triggers, row security and grants.

Database roles are named `<prefix>_owner|operator|agent|worker|staff|login|cross_tenant`, the prefix being `DATABASE_ROLE_PREFIX`;
SQL files and migrations write them as `@owner@` and so on. Nothing that a request carries comes here.

To add a table:
1. Declare the model and run `makemigrations`.
2. Write its row security, triggers and keys that carry the tenant into a file of its own beside `row_security.sql`, named by it.
   The first migrations load the files that stand there, and would not find a table that comes later.
3. Load that file in the same migration with `LoadSQL`.
4. Say in `column_privacy.csv` what each column holds about people.
5. Renew `security_catalog.txt` (`UPDATE_CATALOG=1 pytest tests/governance/database/test_database_drift.py`); read the diff.

To change a function: edit it in `functions.sql` and name it with `ReplaceFunction` in a new migration. A trigger or policy is
dropped in the new migration and created there with the text that its file now has.
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
# Where a reference carries the tenant, Django's plain one beside it only tells which ids exist elsewhere.
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

# A function that runs as the cross-tenant role belongs to it, and only its owner may replace it.
_ASSUME_OWNER: Final = """
SELECT set_config('role', pg_get_userbyid(proowner), true) FROM pg_proc
 WHERE proname = '@function@' AND pronamespace = 'public'::regnamespace"""


def role_name(role: str) -> str:
    """The database role behind one of `ROLES`."""
    if role not in ROLES:
        raise ValueError(f"There is no database role {role}.")
    return f"{settings.DATABASE_ROLE_PREFIX}_{role}"


def substitute_roles(sql: str) -> str:
    """Replace `@agent@` and its like by the quoted role names."""
    for role in ROLES:
        sql = sql.replace(f"@{role}@", f'"{role_name(role)}"')
    return sql


class TableMigration(Migration):
    """A migration that only creates tables, each from a model that is rendered once.

    For every `CreateModel` Django renders all related models anew, and here everything is related to the tenant: a hundred tables
    cost twelve thousand renderings and half a minute. To create a table, the models it refers to serve as they were rendered first.
    """

    def apply(
        self, project_state: ProjectState, schema_editor: BaseDatabaseSchemaEditor, collect_sql: bool = False
    ) -> ProjectState:
        """Add all models to the state, render these alone, then create the tables. References follow at the migration's end."""
        creations = [operation for operation in self.operations if type(operation) is CreateModel]
        if collect_sql or len(creations) < len(self.operations):
            return super().apply(project_state, schema_editor, collect_sql)
        # A state without its rendered models takes a model in without rendering anything.
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
    """Hand-written SQL in which `@operator@`, `@agent@`, ... stand for the installation's roles."""

    reduces_to_sql = True
    reversible = False

    def __init__(self, sql: str) -> None:
        self.sql = sql

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Models do not change."""

    def database_forwards(  # Django calls it by its own signature.
        self,
        app_label: str,  # noqa: ARG002
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,  # noqa: ARG002
        to_state: ProjectState,  # noqa: ARG002
    ) -> None:
        """Run the SQL as it stands, without parameters."""
        schema_editor.execute(substitute_roles(self.sql), params=None)

    def describe(self) -> str:
        """What `migrate --plan` prints."""
        return f"Run SQL: {self.sql.strip().splitlines()[0][:60]}"


class LoadSQL(RoleSQL):
    """Run one file `apps/<app>/sql/<name>.sql`, which holds the present text of its objects, once.

    Bodies of functions are not checked while they load, since they may name tables of apps that come later.
    """

    def __init__(self, app: str, name: str) -> None:
        self.app, self.name = app, name
        super().__init__(_skip_body_checks(sql_text(app, name)))

    def deconstruct(self) -> tuple[str, list[Any], Mapping[str, Any]]:  # type: ignore[override]  # Django's stub wants dict
        """As written in the migration."""
        return type(self).__name__, [self.app, self.name], {}

    def describe(self) -> str:
        """What `migrate --plan` prints."""
        return f"Load {self.name}.sql of {self.app}"


class ReplaceFunction(RoleSQL):
    """Run the present text of one function of `functions.sql`, with its rights, as the role that owns it already."""

    def __init__(self, app: str, function: str) -> None:
        self.app, self.function = app, function
        as_its_owner = _ASSUME_OWNER.replace("@function@", function)
        super().__init__(_skip_body_checks(f"{as_its_owner};\n{function_text(app, function)}\nRESET ROLE;"))

    def deconstruct(self) -> tuple[str, list[Any], Mapping[str, Any]]:  # type: ignore[override]  # Django's stub wants dict
        """As written in the migration."""
        return type(self).__name__, [self.app, self.function], {}

    def describe(self) -> str:
        """What `migrate --plan` prints."""
        return f"Replace the function {self.function} of {self.app}"


def sql_text(app: str, name: str) -> str:
    """The text of `apps/<app>/sql/<name>.sql`."""
    return read_sql_file(f"apps/{app}/sql/{name}.sql")


def function_text(app: str, function: str) -> str:
    """The statements about one function in `functions.sql`: its definition, and who may execute and who owns it."""
    sections = re.split(r"^(?=CREATE OR REPLACE FUNCTION )", sql_text(app, "functions"), flags=re.MULTILINE)
    found = [section for section in sections if section.startswith(f"CREATE OR REPLACE FUNCTION {function}(")]
    if len(found) != 1:
        raise ValueError(f"functions.sql of {app} defines {function} {len(found)} times; it has to be once.")
    return found[0]


def _skip_body_checks(sql: str) -> str:
    return f"SET LOCAL check_function_bodies = off;\n{sql}\nSET LOCAL check_function_bodies = on;"


class DropDuplicateForeignKeys(RoleSQL):
    """Drop each foreign key of Django's by the id alone where one beside it carries the tenant.

    Django's key is checked past row security and would tell which ids exist in other tenants.
    """

    def __init__(self) -> None:
        super().__init__(DROP_DUPLICATE_FOREIGN_KEYS)
