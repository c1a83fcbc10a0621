"""Where a tenant wants memory reviewed, PostgreSQL holds agents to it: all of it, or what a person approved."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

# Lines are counted as the application counts them: by line ends, without the white space around them.
HOLD = r"""
CREATE FUNCTION told_lines(body text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(array_agg(told), '{}') FROM (
        SELECT btrim(line, E' \t') AS told FROM regexp_split_to_table(body, E'\r\n|\r|\n') AS line) AS lines
    WHERE told <> ''
$$;
CREATE FUNCTION hold_memory() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    review text;
    before text := '';
    approved text := '';
BEGIN
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE') THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        before := OLD.body;
        approved := OLD.approved_body;
    END IF;
    IF NEW.approved_body <> approved THEN
        RAISE EXCEPTION 'Only people approve lines.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT pg_has_role(current_user, '@agent@'::regrole, 'USAGE') THEN
        RETURN NEW;
    END IF;
    SELECT memory_review INTO review FROM tenants_tenantsettings WHERE tenant_id = NEW.tenant_id;
    IF review = 'all' AND NEW.body <> before THEN
        RAISE EXCEPTION 'Memory is reviewed here; an agent proposes it.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF review = 'tainted' AND TG_OP = 'UPDATE' AND EXISTS (
        SELECT line FROM unnest(told_lines(OLD.approved_body)) AS line
        INTERSECT SELECT line FROM unnest(told_lines(OLD.body)) AS line
        EXCEPT SELECT line FROM unnest(told_lines(NEW.body)) AS line) THEN
        RAISE EXCEPTION 'A line that a person approved stays.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER hold_memory BEFORE INSERT OR UPDATE OF body, approved_body ON memory_agentmemory
    FOR EACH ROW EXECUTE FUNCTION hold_memory();
CREATE TRIGGER hold_memory BEFORE INSERT OR UPDATE OF body, approved_body ON memory_memoryblock
    FOR EACH ROW EXECUTE FUNCTION hold_memory();
CREATE FUNCTION hold_profile() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before text[] := ARRAY['', ''];
BEGIN
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE')
        OR NOT pg_has_role(current_user, '@agent@'::regrole, 'USAGE') THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        before := ARRAY[OLD.preferences, OLD.notes];
    END IF;
    IF ARRAY[NEW.preferences, NEW.notes] <> before
        AND EXISTS (SELECT FROM tenants_tenantsettings WHERE tenant_id = NEW.tenant_id AND memory_review = 'all') THEN
        RAISE EXCEPTION 'Memory is reviewed here; an agent proposes it.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER hold_profile BEFORE INSERT OR UPDATE OF preferences, notes ON memory_customerprofile
    FOR EACH ROW EXECUTE FUNCTION hold_profile();
GRANT UPDATE (approved_body) ON memory_agentmemory, memory_memoryblock TO @operator@
"""
# What a person answers for already is approved, line by line.
STAND = """
ALTER TABLE memory_agentmemory NO FORCE ROW LEVEL SECURITY, DISABLE TRIGGER USER;
UPDATE memory_agentmemory SET approved_body = body WHERE taint = 'operator';
ALTER TABLE memory_agentmemory FORCE ROW LEVEL SECURITY, ENABLE TRIGGER USER;
ALTER TABLE memory_memoryblock NO FORCE ROW LEVEL SECURITY, DISABLE TRIGGER USER;
UPDATE memory_memoryblock SET approved_body = body WHERE taint = 'operator';
ALTER TABLE memory_memoryblock FORCE ROW LEVEL SECURITY, ENABLE TRIGGER USER
"""


class Migration(migrations.Migration):
    """Triggers, rights, and what stands already."""

    dependencies: ClassVar = [
        ("memory", "0006_approved_lines"),
        ("tenants", "0011_memory_review"),
    ]
    operations: ClassVar = [
        RoleSQL(HOLD),
        RoleSQL(STAND),
    ]
