"""What a freshly migrated database comes to is what is declared, and whatever departs from it is found and named.

After a migration that touches a wall, write the declaration anew and read its difference:
`UPDATE_CATALOG=1 pytest tests/governance/database/test_database_drift.py`.
"""

import os
from collections.abc import Iterator

import pytest
from django.db import connections, transaction

from apps.governance.authorization import columns_of, noun_written_by
from apps.governance.database.actor_transaction import DATABASE_ROLES
from apps.governance.database.migration_operations import substitute_roles
from apps.governance.database_drift.role_grants import governed_models, rights_drift, rights_of_policy, sync_rights
from apps.governance.database_drift.security_catalog import CATALOG_FILE, catalog_drift, catalog_facts, security_drift
from apps.governance.models import Governed
from apps.governance.policy.policy_table import POLICY, Act, RowEffect
from apps.tenants.policy_sync.drift import policy_drift

pytestmark = [pytest.mark.kernel, pytest.mark.django_db(databases=["default", "owner"])]


@pytest.fixture
def as_owner() -> Iterator[None]:
    """Whatever is tampered with is undone."""
    with transaction.atomic(using="owner"):
        yield
        transaction.set_rollback(True, using="owner")


def tamper(statement: str) -> None:
    with connections["owner"].cursor() as cursor:
        # As whoever owns the whole server, whose hand is the longest.
        cursor.execute(f"SET LOCAL ROLE NONE; {substitute_roles(statement)}")


def test_a_fresh_database_has_the_declared_row_security() -> None:
    # R007
    standing = catalog_facts()
    if os.environ.get("UPDATE_CATALOG") == "1":
        CATALOG_FILE.write_text("\n".join(standing) + "\n")
    assert catalog_drift() == []
    assert len(standing) >= 300


@pytest.mark.slow
def test_a_database_set_up_by_the_commands_drifts_nowhere() -> None:
    # R015
    assert policy_drift() == []


# A right given or taken by hand: what `--check` says of it.
TAMPERED_RIGHTS = {
    "GRANT UPDATE (avoid) ON personas_persona TO @agent@": "personas_persona: agent UPDATE (avoid): held beyond the policy.",
    "GRANT UPDATE ON skills_skill TO @agent@": "skills_skill: agent UPDATE: held beyond the policy.",
    "GRANT DELETE ON personas_persona TO @operator@": "personas_persona: operator DELETE: held beyond the policy.",
    "GRANT TRUNCATE ON memory_agentmemory TO @worker@": "memory_agentmemory: worker TRUNCATE: held beyond the policy.",
    "GRANT INSERT (id) ON tenants_membership TO @agent@": "tenants_membership: agent INSERT (id): held beyond the policy.",
    "REVOKE UPDATE ON skills_skill FROM @operator@": "skills_skill: operator UPDATE (status): the policy gives it",
    "REVOKE INSERT ON skills_skill FROM @worker@": "skills_skill: worker INSERT: the policy gives it",
}


@pytest.mark.usefixtures("as_owner")
@pytest.mark.parametrize("statement", TAMPERED_RIGHTS)
def test_a_right_beside_the_policy_is_named_and_taken_back(statement: str) -> None:
    # R017, R018
    tamper(statement)
    assert [line for line in rights_drift("owner") if line.startswith(TAMPERED_RIGHTS[statement])]
    assert sync_rights("owner") >= 1
    assert rights_drift("owner") == []
    assert sync_rights("owner") == 0


CHANGED_FUNCTION = """CREATE OR REPLACE FUNCTION refuse_illegal_transition() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RETURN NEW; END $$"""
TENANT_UNREFERENCED = (
    "ALTER TABLE tenants_agenttoken DROP CONSTRAINT tenants_agenttoken_tenant_id_49a4236e_fk_tenants_tenant_id"
)
STRUCTURE = {
    "ALTER TABLE skills_skill DROP CONSTRAINT skills_skill_tenant_row CASCADE": "skills_skill_tenant_row UNIQUE (tenant_id, id)",
    "DROP INDEX one_open_proposal_per_target_and_kind": "UNIQUE INDEX one_open_proposal_per_target_and_kind",
    TENANT_UNREFERENCED: "tenants_agenttoken_tenant_id_49a4236e_fk_tenants_tenant_id FOREIGN KEY (tenant_id)",
    "ALTER TABLE skills_skill ALTER COLUMN body DROP NOT NULL": "skills_skill: column body text (so in the database",
    "ALTER TABLE skills_skill ADD COLUMN extra text": "skills_skill: column extra text",
    "ALTER TABLE skills_skill ALTER COLUMN taint SET DEFAULT 'operator'": "column taint character varying(20) not null default",
}
# What a hand at the database could do beside rights, and the words by which it is named.
TAMPERED_ROW_SECURITY = {
    **STRUCTURE,
    "DROP POLICY skills_skill_agent ON skills_skill": "skills_skill: policy skills_skill_agent",
    "ALTER POLICY memory_agentmemory_tenant ON memory_agentmemory USING (true)": "memory_agentmemory_tenant, permissive, all",
    "CREATE POLICY open ON personas_persona USING (true)": "personas_persona: policy open, permissive, all, to everybody",
    "ALTER TABLE personas_persona NO FORCE ROW LEVEL SECURITY": "personas_persona: row security on, not for the owner",
    "ALTER TABLE personas_persona DISABLE ROW LEVEL SECURITY": "personas_persona: row security off",
    "ALTER TABLE skills_skill DISABLE TRIGGER refuse_illegal_transition": "refuse_illegal_transition('status', 'draft'",
    "DROP TRIGGER append_only ON governance_changerecord": "governance_changerecord: trigger append_only",
    "ALTER TABLE skills_skill DROP CONSTRAINT approved_skill_names_its_approver": "approved_skill_names_its_approver",
    "ALTER TABLE memory_agentmemory DROP CONSTRAINT memory_agentmemory_agent_id_in_tenant": "agent_id_in_tenant",
    CHANGED_FUNCTION: "refuse_illegal_transition() returns trigger: plpgsql, called by everybody, source: BEGIN RETURN",
    "GRANT EXECUTE ON FUNCTION find_due_work(integer, text[]) TO @agent@": "called by @agent@, @login@",
    "ALTER FUNCTION refuse_text_signed_as_person() SECURITY DEFINER": "_as_person() returns trigger: plpgsql, as its owner",
    "GRANT EXECUTE ON FUNCTION list_due_turns() TO PUBLIC": "pg_temp, called by everybody, source: SELECT found",
    "ALTER FUNCTION list_due_turns() OWNER TO @owner@": "due_at timestamp with time zone): sql stable, set search_path",
    "GRANT CREATE ON SCHEMA public TO @login@": "schema public: @login@ may CREATE",
    "GRANT UPDATE (name) ON tenants_tenant TO @agent@": "tenants_tenant: @agent@ may UPDATE (name)",
    "GRANT SELECT ON tenants_agenttoken TO @agent@": "tenants_agenttoken: @agent@ may SELECT",
    "GRANT UPDATE ON runtime_session TO @worker@": "runtime_session: @worker@ may UPDATE",
    "GRANT SELECT ON skills_skill TO PUBLIC": "skills_skill: everybody may SELECT",
    "GRANT UPDATE ON skills_skill TO @cross_tenant@": "skills_skill: @cross_tenant@ may UPDATE",
    "GRANT @operator@ TO @agent@": "role @agent@: cannot sign in, inherits nothing, member of @operator@",
    "ALTER ROLE @worker@ BYPASSRLS": "role @worker@: cannot sign in, inherits nothing, passes row security",
    "CREATE VIEW everything AS SELECT * FROM skills_skill": "everything: row security off",
    "ALTER TABLE skills_skill OWNER TO @cross_tenant@": "skills_skill: row security forced, owned by @cross_tenant@",
}


@pytest.mark.usefixtures("as_owner")
@pytest.mark.parametrize("statement", TAMPERED_ROW_SECURITY)
def test_tampered_row_security_is_named(statement: str) -> None:
    # R006, R007
    tamper(statement)
    assert [line for line in catalog_drift("owner") if TAMPERED_ROW_SECURITY[statement] in line]
    concerns_security = any(TAMPERED_ROW_SECURITY[statement] in line for line in security_drift("owner"))
    assert concerns_security is (statement not in STRUCTURE)


@pytest.mark.usefixtures("as_owner")
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE INDEX extra ON skills_skill (title)",
        "ALTER TABLE skills_skill ADD COLUMN extra text",
        "ALTER TABLE skills_skill SET (autovacuum_vacuum_scale_factor = 0.01)",
    ],
)
def test_what_somebody_adds_for_speed_is_named_and_keeps_no_process_from_serving(statement: str) -> None:
    tamper(statement)
    assert len(catalog_drift("owner")) == 1
    assert security_drift("owner") == []


def test_every_governed_model_names_the_noun_of_its_acts() -> None:
    models = governed_models()
    assert len(models) == len(Governed.__subclasses__())
    assert set(models) <= ({act.noun for act in Act} | {rule.on for rule in POLICY.values()}) - {""}
    written = {
        noun_written_by(act, role)
        for act, rule in POLICY.items()
        if rule.does is not RowEffect.NOTHING
        for role in rule.allowed
    }
    assert written == set(models)


def test_every_field_the_policy_governs_or_stamps_is_a_column_of_its_noun() -> None:
    models = governed_models()
    for act, rule in POLICY.items():
        for role in rule.allowed if rule.changes else ():
            columns = {field.name for field in models[noun_written_by(act, role)]._meta.concrete_fields}
            assert columns_of(act, role) <= columns, act


def test_an_agent_may_write_no_column_that_only_people_decide() -> None:
    # R017, R018
    agents = {(right.table, right.right) for right in rights_of_policy() if right.role == "agent"}
    decided = {("skills_skill", f"UPDATE ({name})") for name in ("status", "approved_by", "approved_sha256")}
    assert not agents & decided
    # Of what people write, an assistant writes the overlay of the member whose talk it answers, and nothing else (Z-6).
    assert {table for table, _ in agents if table.startswith("personas_")} == {"personas_memberoverlay"}
    assert set(DATABASE_ROLES.values()) >= {"operator", "agent", "worker"}
