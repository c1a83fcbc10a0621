"""Write privileges of each database role on governed tables: derived from the policy, compared with the database, and synced.

Migrations grant the read privileges, and all privileges on tables without acts; `security_catalog.txt` records these.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from django.apps import apps
from django.conf import settings
from django.db import connections, transaction

from apps.governance.actors import Role
from apps.governance.authorization import columns_of, noun_written_by
from apps.governance.database.actor_transaction import DATABASE_ROLES
from apps.governance.database.migration_operations import role_name
from apps.governance.database.sql_files import load_query
from apps.governance.models import Governed
from apps.governance.policy.policy_table import POLICY, Act, RowEffect

# Removing a row locks it first, which requires UPDATE on some column. A trigger stamps this column anyway, so the privilege is
# harmless.
LOCK_COLUMN: Final = "updated_at"
_LIST_WRITE_RIGHTS: Final = load_query("apps/governance/database_drift/queries/list_write_rights.sql")


class RoleGrant(NamedTuple):
    """One privilege of a database role, such as `UPDATE (body)` on a table."""

    table: str
    role: str
    right: str

    def __str__(self) -> str:
        return f"{self.table}: {self.role} {self.right}"


def governed_models() -> dict[str, type[Governed]]:
    """Return every governed model by its noun."""
    return {model.noun: model for model in apps.get_models() if issubclass(model, Governed)}


def rights_of_policy() -> frozenset[RoleGrant]:
    """Return exactly the privileges that the acts of the policy need."""
    models = governed_models()
    rights = frozenset(
        RoleGrant(models[noun]._meta.db_table, DATABASE_ROLES[role], right)
        for act, rule in POLICY.items()
        for role in rule.allowed
        if (noun := noun_written_by(act, role)) in models and rule.does is not RowEffect.NOTHING
        for right in _rights_needed(act, role, models[noun])
    )
    changing = {(right.table, right.role) for right in rights if right.right.startswith("UPDATE")}
    removing = {(right.table, right.role) for right in rights if right.right == "DELETE"}
    return rights | {RoleGrant(table, role, f"UPDATE ({LOCK_COLUMN})") for table, role in removing - changing}


def _rights_needed(act: Act, role: Role, model: type[Governed]) -> Iterator[str]:
    rule = POLICY[act]
    if rule.makes:
        yield "INSERT"
    if rule.removes:
        yield "DELETE"
    if rule.changes:
        written = columns_of(act, role)
        yield from (f"UPDATE ({field.column})" for field in model._meta.concrete_fields if field.name in written)


def rights_held(using: str = "default") -> frozenset[RoleGrant]:
    """Return the write privileges that the actors' database roles hold on governed tables."""
    tables = [model._meta.db_table for model in governed_models().values()]
    names = {role_name(role): role for role in set(DATABASE_ROLES.values())}
    with connections[using].cursor() as cursor:
        cursor.execute(_LIST_WRITE_RIGHTS, {"tables": tables, "roles": list(names)})
        return frozenset(RoleGrant(table, names[name], right) for table, name, right in cursor.fetchall())


def rights_drift(using: str = "default") -> list[str]:
    """A sentence for each right that the database lacks, or grants beyond the policy."""
    wanted, held = rights_of_policy(), rights_held(using)
    lacking = [f"{right}: the policy gives it and the database does not." for right in sorted(wanted - held)]
    return [*lacking, *(f"{right}: held beyond the policy." for right in sorted(held - wanted))]


def sync_rights(using: str) -> int:
    """Revoke surplus rights, grant missing ones, and return the number of changed rights. Runs as the database's owner."""
    wanted, before = rights_of_policy(), rights_held(using)
    with transaction.atomic(using=using):
        # Revoking a right on a table revokes it on all its columns too.
        _execute(using, "REVOKE {} ON {} FROM {}", before - wanted)
        _execute(using, "GRANT {} ON {} TO {}", wanted - rights_held(using))
    return len(before ^ wanted)


def _execute(using: str, statement: str, rights: Iterable[RoleGrant]) -> None:
    # These are names from the catalog and the policy; no value from a request reaches this statement.
    with connections[using].cursor() as cursor:
        for table, role, right in sorted(rights):
            cursor.execute(statement.format(right, table, f'"{settings.DATABASE_ROLE_PREFIX}_{role}"'))
