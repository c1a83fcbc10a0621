"""What one agent asks another concerns the same customer on the same record, goes in no circle, and is asked by the house."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, RoleSQL

BELOW = """
CREATE FUNCTION born_below() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    parent conversations_conversation;
BEGIN
    SELECT * INTO parent FROM conversations_conversation WHERE tenant_id = NEW.tenant_id AND id = NEW.parent_id;
    IF app_agent() IS NOT NULL THEN
        RAISE EXCEPTION 'An agent asks another one through the house, in a turn.' USING ERRCODE = 'check_violation';
    END IF;
    IF parent.id IS NULL OR NEW.hops <> parent.hops + 1 OR NEW.off_the_record <> parent.off_the_record
            OR NEW.end_user_key <> parent.end_user_key THEN
        RAISE EXCEPTION 'A question to another agent concerns the same customer, on the same record, one step below.'
            USING ERRCODE = 'check_violation';
    END IF;
    IF NOT EXISTS (SELECT 1 FROM tenants_invokableagent
                    WHERE tenant_id = NEW.tenant_id AND agent_id = parent.agent_id AND callee_id = NEW.agent_id) THEN
        RAISE EXCEPTION 'Nobody let this agent ask that one.' USING ERRCODE = 'check_violation';
    END IF;
    IF EXISTS (
        WITH RECURSIVE above AS (
            SELECT parent.parent_id AS next_id, parent.agent_id
            UNION ALL
            SELECT thread.parent_id, thread.agent_id FROM above JOIN conversations_conversation AS thread
                ON thread.tenant_id = NEW.tenant_id AND thread.id = above.next_id)
        SELECT 1 FROM above WHERE above.agent_id = NEW.agent_id) THEN
        RAISE EXCEPTION 'Agents ask each other in no circle.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER born_below BEFORE INSERT ON conversations_conversation FOR EACH ROW
    WHEN (NEW.parent_id IS NOT NULL) EXECUTE FUNCTION born_below()
"""


class Migration(migrations.Migration):
    """Triggers, and a reference that cannot leave the tenant."""

    dependencies: ClassVar = [
        ("conversations", "0013_between_agents"),
    ]
    operations: ClassVar = [
        ComposeForeignKey("conversations_conversation", "parent_id", "conversations_conversation"),
        RoleSQL(BELOW),
    ]
