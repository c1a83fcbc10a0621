"""Only people sign as people; blocks are no worker's business; a memory stays with its agent and a profile with its customer."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

# A trigger, where a policy's check sees the new row alone: an agent that saves a customer's unchanged profile moves
# `last_seen_at` and leaves a person's signature standing.
SIGNATURES = """
CREATE FUNCTION sign_as_agent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE')
        OR (NEW.taint <> 'operator' AND NEW.updated_by = 'agent') THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'Only people sign as people.' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER sign_as_agent BEFORE INSERT OR UPDATE OF body, updated_by, taint ON memory_agentmemory
    FOR EACH ROW EXECUTE FUNCTION sign_as_agent();
CREATE TRIGGER sign_as_agent BEFORE INSERT OR UPDATE OF body, updated_by, taint ON memory_memoryblock
    FOR EACH ROW EXECUTE FUNCTION sign_as_agent();
CREATE TRIGGER sign_as_agent BEFORE INSERT OR UPDATE OF preferences, notes, updated_by, taint ON memory_customerprofile
    FOR EACH ROW EXECUTE FUNCTION sign_as_agent();
ALTER POLICY memory_customerprofile_agent ON memory_customerprofile
    WITH CHECK (app_customer() IS NULL OR end_user_key = app_customer())
"""
RIGHTS = """
REVOKE UPDATE (body, updated_by, taint) ON memory_memoryblock FROM @worker@;
REVOKE UPDATE ON memory_agentmemory, memory_customerprofile FROM @operator@, @worker@;
GRANT UPDATE (body, updated_by, taint) ON memory_agentmemory TO @operator@, @worker@;
GRANT UPDATE (preferences, notes, last_seen_at, updated_by, taint) ON memory_customerprofile TO @operator@, @worker@
"""


class Migration(migrations.Migration):
    """Triggers and rights."""

    dependencies: ClassVar = [
        ("memory", "0004_block_walls"),
    ]
    operations: ClassVar = [
        RoleSQL(SIGNATURES),
        RoleSQL(RIGHTS),
    ]
