"""The wall around refused attempts and the audit chain, and the trigger that links each entry of the books at its commit."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RaiseWall, RoleSQL, Wall

# An agent adds its own refused attempts and reads none.
REFUSALS = Wall(
    operator="SELECT, INSERT",
    worker="SELECT, INSERT",
    agent="INSERT",
    agent_rows="agent_id IS NOT DISTINCT FROM app_agent()",
    agent_checks="actor_role = 'agent'",
    versioned=False,
    append_only=True,
)
# Nobody writes a link but the trigger, which runs as the crossing role.
LINKS = Wall(operator="SELECT", worker="SELECT", agent="", crossing="SELECT, INSERT", versioned=False, append_only=True)
CHECKS = Wall(operator="SELECT", worker="SELECT, INSERT", agent="", versioned=False, append_only=True)

# A hash covers every column that is not null, by name and in the order of names, each part with its length: a column that is
# added later, and is null in what stands already, changes no old hash.
CHAIN = """
CREATE FUNCTION audit_sha256(entry jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT encode(sha256(convert_to(string_agg(
        octet_length(key) || ':' || key || octet_length(value) || ':' || value, '' ORDER BY key COLLATE "C"
    ), 'UTF8')), 'hex') FROM jsonb_each_text(entry) WHERE value IS NOT NULL
$$;
CREATE FUNCTION append_link(kind text, entry jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    link governance_auditlink;
BEGIN
    link.tenant_id := entry ->> 'tenant_id';
    PERFORM pg_advisory_xact_lock(hashtextextended('governance_auditlink ' || link.tenant_id, 0));
    SELECT last.position, last.sha256 INTO link.position, link.previous_sha256
        FROM governance_auditlink AS last WHERE last.tenant_id = link.tenant_id ORDER BY last.position DESC LIMIT 1;
    link.id := nextval('governance_auditlink_id_seq');
    link.position := coalesce(link.position, 0) + 1;
    link.previous_sha256 := coalesce(link.previous_sha256, '');
    link.entry_type := kind;
    link.entry_id := entry ->> 'id';
    link.entry_sha256 := audit_sha256(entry);
    link.at := clock_timestamp();
    link.sha256 := audit_sha256(to_jsonb(link));
    INSERT INTO governance_auditlink SELECT link.*;
END $$
"""
# Whoever committed before the chain began is linked tenant by tenant, in the order of ids. FORCE hides rows from their owner.
BEGINNING = """
ALTER TABLE governance_changerecord NO FORCE ROW LEVEL SECURITY;
DO $$
BEGIN
    PERFORM set_config('TimeZone', 'UTC', true);
    PERFORM append_link('change', to_jsonb(record))
        FROM (SELECT * FROM governance_changerecord ORDER BY tenant_id, id) AS record;
END $$;
SET CONSTRAINTS ALL IMMEDIATE;
SET CONSTRAINTS ALL DEFERRED;
ALTER TABLE governance_changerecord FORCE ROW LEVEL SECURITY
"""
# At commit and never before: whoever links holds up the other commits of the tenant until its own.
LINKING = """
GRANT USAGE ON SEQUENCE governance_auditlink_id_seq TO @crossing@;
CREATE FUNCTION link_entry() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp SET TimeZone = 'UTC' AS $$
BEGIN
    PERFORM append_link(TG_ARGV[0], to_jsonb(NEW));
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER link_at_commit AFTER INSERT ON governance_changerecord DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION link_entry('change');
CREATE CONSTRAINT TRIGGER link_at_commit AFTER INSERT ON governance_refusal DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION link_entry('refusal');
REVOKE ALL ON FUNCTION link_entry(), append_link(text, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION append_link(text, jsonb) TO @crossing@;
ALTER FUNCTION link_entry() OWNER TO @crossing@
"""
NO_TRUNCATION = ";\n".join(
    f"CREATE TRIGGER no_truncation BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
    for table in (
        *("governance_changerecord", "governance_changetext", "governance_refusal"),
        *("governance_auditlink", "governance_auditcheck"),
    )
)
# Whoever verifies all chains has to know which tenants there are.
TENANTS = """
GRANT SELECT (id, key) ON tenants_tenant TO @crossing@;
CREATE POLICY tenants_tenant_crossing ON tenants_tenant FOR SELECT TO @crossing@ USING (true)
"""


class Migration(migrations.Migration):
    """Functions, what stood before, row security, grants, triggers."""

    dependencies: ClassVar = [
        ("governance", "0005_audit_tables"),
    ]
    operations: ClassVar = [
        RoleSQL(CHAIN),
        RoleSQL(BEGINNING),
        RaiseWall("governance_refusal", REFUSALS),
        RaiseWall("governance_auditlink", LINKS),
        RaiseWall("governance_auditcheck", CHECKS),
        RoleSQL(LINKING),
        RoleSQL(NO_TRUNCATION),
        RoleSQL(TENANTS),
    ]
