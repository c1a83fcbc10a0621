"""The protections of the product, each as the change that takes it away and the tests that have to notice."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.db import connection

from tests.support.database.catalog import forced_tables, tenant_tables

# The tests that are tried, in their order: what a protection is for first, and the list of all walls last.
DRIFT_TESTS = ("tests/governance/database/test_database_drift.py::test_a_fresh_database_has_the_declared_row_security",)
RIGHTS_TESTS = (
    "tests/governance/database/test_database_drift.py::test_a_database_set_up_by_the_commands_drifts_nowhere",
)
TENANT_TESTS = (
    "tests/governance/database/test_row_security.py::test_another_tenants_rows_are_invisible_in_every_table",
    "tests/governance/database/test_row_security.py::test_no_role_writes_a_row_into_another_tenant",
    "tests/governance/database/test_row_security.py::test_a_service_user_is_shown_and_made_for_its_own_tenant_only",
    "tests/governance/database/test_row_security_on_committed_rows.py::test_a_tenants_own_grants_replace_the_template_and_narrow_it",
    *DRIFT_TESTS,
)
AGENT_TESTS = (
    "tests/governance/database/test_agent_role.py::test_an_agent_sees_nothing_of_another_agent_of_its_tenant",
    "tests/governance/database/test_agent_role.py::test_an_agent_sees_the_rules_of_the_organisation_and_its_own",
    "tests/governance/database/test_agent_role.py::test_an_agent_that_may_ask_another_still_does_not_see_its_row",
    "tests/governance/isolation/test_isolation_of_customers.py",
    "tests/governance/database/test_verb_policies.py::test_no_table_shows_an_agent_a_row_of_another_agent",
    "tests/governance/database/test_verb_policies.py::test_an_agent_writes_into_the_books_in_its_own_name_alone",
    *DRIFT_TESTS,
)
NARROWING_TESTS = (
    "tests/governance/database/test_verb_policies.py",
    "tests/governance/database/test_row_security_bypasses.py::test_nobody_makes_an_agent_of_another_tenants_service_user",
    *DRIFT_TESTS,
)
OWNER_TESTS = (
    "tests/governance/database/test_row_security_under_owner.py::test_the_owner_of_the_tables_sees_no_row_of_any_table_without_its_tenant",
    *DRIFT_TESTS,
)
JOURNAL = (
    "tests/governance/database/test_row_security_under_owner.py::test_a_superuser_meets_the_journal_as_it_was_written",
    *DRIFT_TESTS,
)
STATE_TESTS = ("tests/governance/database/test_state_machines.py", *DRIFT_TESTS)
REFERENCES = (
    "tests/governance/database/test_row_security_under_owner.py::test_no_role_writes_a_reference_into_another_tenant",
    *DRIFT_TESTS,
)
SESSION_SETTING_TESTS = (
    "tests/governance/database/test_row_security_on_committed_rows.py::test_every_commit_leaves_the_connection_without_role_and_tenant",
    "tests/governance/database/test_actor_transaction.py",
)
DEFINER_TESTS = (
    "tests/governance/database/test_row_security.py::test_only_three_functions_bypass_row_security_without_a_tenant",
)


@dataclass(frozen=True)
class DatabaseMutant:
    """A protection of the database, and the SQL that takes it away."""

    kind: str
    name: str
    sql: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class CodeMutant:
    """A protection in the code: the words that are it, and what stands there without it."""

    kind: str
    name: str
    path: str
    words: str
    instead: str
    tests: tuple[str, ...]


Mutant = DatabaseMutant | CodeMutant

CODE_MUTANTS = (
    CodeMutant(
        *("LOCAL", "role and tenant for the session", "apps/governance/database/actor_transaction.py"),
        """SELECT set_config('role', %(as_role)s, true), set_config('app.tenant', %(as_tenant)s, true),""",
        """SELECT set_config('role', %(as_role)s, false), set_config('app.tenant', %(as_tenant)s, false),""",
        SESSION_SETTING_TESTS,
    ),
    CodeMutant(
        *("role switch", "every actor acts as the worker", "apps/governance/database/actor_transaction.py"),
        'f"{settings.DATABASE_ROLE_PREFIX}_{DATABASE_ROLES[actor.role]}"',
        'f"{settings.DATABASE_ROLE_PREFIX}_worker"',
        (
            "tests/governance/database/test_actor_transaction.py::test_the_database_knows_who_acts",
            "tests/governance/database/test_agent_role.py",
        ),
    ),
    CodeMutant(
        *("role switch", "the outer actor does not act again", "apps/governance/database/actor_transaction.py"),
        "        if nested and not connection.needs_rollback:\n            _set_actor_settings(before)",
        "        del nested",
        ("tests/governance/database/test_actor_transaction.py",),
    ),
    CodeMutant(
        *("customer", "a turn does not say whom it serves", "apps/governance/database/actor_transaction.py"),
        """return f"{'=' if actor.customer_is_proven else '~'}{actor.customer_key}\"""",
        'return ""',
        ("tests/governance/isolation/test_isolation_of_customers.py",),
    ),
    CodeMutant(
        *("guard", "writes outside an act pass", "apps/governance/models/base.py"),
        "    if not _is_write_open.get():\n",
        "    if model is None:\n",
        ("tests/governance/test_write_guard.py",),
    ),
    CodeMutant(
        *("guard", "the admin's way of deleting passes", "apps/governance/models/base.py"),
        "        refuse_ungoverned(self.model)\n        return super()._raw_delete(using)",
        "        return super()._raw_delete(using)",
        ("tests/governance/test_write_guard.py",),
    ),
    CodeMutant(
        *("visible_to", "without the tenant's filter", "apps/governance/models/base.py"),
        "return self.filter(tenant_id=actor.tenant_id)",
        "return self.all()",
        ("tests/governance/database/test_python_filter_alone.py",),
    ),
    CodeMutant(
        *("visible_to", "for an actor who does not act", "apps/governance/models/base.py"),
        "if current_actor() != actor:",
        "if actor is None:",
        ("tests/governance/test_governed_write.py::test_rows_are_read_only_as_the_actor_who_acts",),
    ),
    CodeMutant(
        *("floor", "grants lift it", "apps/governance/authorization.py"),
        "    if actor.role not in POLICY[act].allowed:\n",
        "    if actor is None:\n",
        ("tests/governance/test_governed_write.py::test_no_grant_lifts_the_role_floor",),
    ),
    CodeMutant(
        *("floor", "another tenant's row", "apps/governance/authorization.py"),
        "    if actor.tenant_id != tenant_id:\n",
        "    if actor is None:\n",
        ("tests/governance/test_governed_write.py::test_the_floor_itself_knows_whose_tenant_it_is",),
    ),
)


def database_mutants() -> Iterator[DatabaseMutant]:
    """Each protection that the catalog knows of, so that a new one joins by being there."""
    yield from _policies()
    for table in sorted(forced_tables()):
        yield DatabaseMutant("FORCE", table, f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY", OWNER_TESTS)
    yield from _triggers()
    yield from _references()
    yield from _grants()
    yield from _definer_mutants()


def _policies() -> Iterator[DatabaseMutant]:
    rows = _query(
        "SELECT tablename, policyname, permissive, with_check IS NOT NULL, EXISTS (SELECT"
        " FROM unnest(roles) AS role WHERE role::text LIKE '%%\\_cross\\_tenant') FROM pg_policies ORDER BY 1, 2"
    )
    for table, name, permissive, checks, crosses in rows:
        if permissive == "RESTRICTIVE":
            tried = AGENT_TESTS if name == f"{table}_agent" else NARROWING_TESTS
            yield DatabaseMutant("policy", f"{table}: {name}", f"DROP POLICY {name} ON {table}", tried)
        elif crosses == "False" and name not in DEFINER_FUNCTIONS:
            opened = f"ALTER POLICY {name} ON {table} USING (true)" + " WITH CHECK (true)" * (checks == "True")
            if name == "service_user_of_tenant":
                opened = f"ALTER POLICY {name} ON {table} WITH CHECK (true)"
            yield DatabaseMutant("policy", f"{table}: {name}", opened, TENANT_TESTS)


# Policies that let everything through, by the reason why.
DEFINER_FUNCTIONS = {
    "user_signs_in": "the login alone, before any tenant is chosen, finds who signs in",
    "tenant_by_key": "whoever knows a tenant's key finds its number, and nothing else of it",
}


def _triggers() -> Iterator[DatabaseMutant]:
    rows = _query(
        "SELECT tgrelid::regclass::text, tgname FROM pg_trigger WHERE NOT tgisinternal"
        " AND (tgname LIKE 'append_only%%' OR tgname LIKE 'refuse_illegal_transition%%') ORDER BY 1, 2"
    )
    for table, name in rows:
        tried = STATE_TESTS if name.startswith("refuse_illegal_transition") else JOURNAL
        yield DatabaseMutant("trigger", f"{table}: {name}", f"DROP TRIGGER {name} ON {table}", tried)


def _references() -> Iterator[DatabaseMutant]:
    rows = _query(
        "SELECT conrelid::regclass::text, conname FROM pg_constraint WHERE contype = 'f' AND conname LIKE '%%_in_tenant'"
        " ORDER BY 1, 2"
    )
    for table, name in rows:
        yield DatabaseMutant("composite key", name, f"ALTER TABLE {table} DROP CONSTRAINT {name}", REFERENCES)


def _grants() -> Iterator[DatabaseMutant]:
    agent = f"{settings.DATABASE_ROLE_PREFIX}_agent"
    for table, noun in (
        ("personas_persona", "persona"),
        ("skills_skill", "skill"),
        ("governance_proposal", "proposal"),
        ("memory_memoryblock", "block"),
        ("tenants_agent", "agent"),
    ):
        fields = "tests/governance/test_governed_fields.py"
        written = f"{fields}::test_a_database_role_writes_the_columns_of_its_acts_and_no_others[{noun}]"
        yield DatabaseMutant("column grants", table, f"GRANT UPDATE ON {table} TO {agent}", (written, *RIGHTS_TESTS))
    for table in (table.name for table in tenant_tables()):
        given = f"GRANT TRUNCATE ON {table} TO {agent}"
        tried = ("tests/governance/database/test_row_security.py::test_nobody_but_the_owner_truncates", *RIGHTS_TESTS)
        yield DatabaseMutant("column grants", f"{table}, TRUNCATE", given, tried)
    sequence = f"GRANT SELECT ON SEQUENCE memory_agentmemory_id_seq TO {agent}"
    yield DatabaseMutant(
        "column grants",
        "a sequence",
        sequence,
        ("tests/governance/database/test_row_security_bypasses.py::test_no_role_of_a_tenant_reads_a_sequence",),
    )


def _definer_mutants() -> Iterator[DatabaseMutant]:
    before = (("resolve_agent_token", "text"), ("list_memberships", "bigint"), ("find_due_work", "integer, text[]"))
    for name, arguments in (
        *before,
        ("find_parts_with_record", "text, bigint, integer"),
        ("find_sessions_with_parts", "bigint[], integer"),
        ("find_change_records_by_evidence", "jsonb[]"),
        ("list_agent_tool_names", ""),
        ("is_line_of_another_agent", "text, bigint"),
        ("count_due_work", "text[]"),
        ("search_rows", "text, text[], integer"),
    ):
        open_to_all = f"GRANT EXECUTE ON FUNCTION {name}({arguments}) TO PUBLIC"
        yield DatabaseMutant("crossing", name, open_to_all, DEFINER_TESTS)
    members = (
        "CREATE OR REPLACE FUNCTION list_memberships(for_user_id bigint) RETURNS TABLE (tenant_id bigint, role text) LANGUAGE sql"
        " STABLE SECURITY DEFINER SET search_path = public, pg_temp AS"
        " 'SELECT member.tenant_id, member.role FROM tenants_membership AS member ORDER BY member.id'"
    )
    yield DatabaseMutant(
        "crossing", "list_memberships, of anybody", members, ("tests/api/protocol/test_authentication.py",)
    )


def _query(statement: str) -> list[tuple[str, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return [tuple(str(each) for each in row) for row in cursor.fetchall()]
