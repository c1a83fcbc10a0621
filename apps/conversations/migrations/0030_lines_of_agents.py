"""What comes in on a line is told to the agent whose line it is; a line without a card is anybody's (R133)."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

# An agent reads no card of another one, so the look crosses; it answers about the tenant at hand, and yes or no alone.
LINES = """
CREATE FUNCTION is_line_of_another(line text, agent bigint) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT EXISTS (SELECT 1 FROM personas_identitycard
                    WHERE tenant_id = app_tenant() AND line_key = line AND line <> '' AND agent_id <> agent)
$$;
CREATE FUNCTION keep_to_its_line() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF is_line_of_another(NEW.line_key, (SELECT agent_id FROM conversations_conversation
                                          WHERE tenant_id = NEW.tenant_id AND id = NEW.conversation_id)) THEN
        RAISE EXCEPTION 'What comes in on a line is for the agent whose line it is.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER keep_to_its_line BEFORE INSERT ON conversations_inboundevent FOR EACH ROW
    WHEN (NEW.line_key <> '') EXECUTE FUNCTION keep_to_its_line();
GRANT SELECT (tenant_id, line_key, agent_id) ON personas_identitycard TO @crossing@;
CREATE POLICY personas_identitycard_crossing ON personas_identitycard FOR SELECT TO @crossing@ USING (true);
REVOKE ALL ON FUNCTION is_line_of_another(text, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION is_line_of_another(text, bigint) TO @operator@, @staff@, @agent@, @worker@;
ALTER FUNCTION is_line_of_another(text, bigint) OWNER TO @crossing@
"""


class Migration(migrations.Migration):
    """A function and a trigger."""

    dependencies: ClassVar = [
        ("conversations", "0029_runs_elsewhere"),
        ("personas", "0008_line_of_one_agent"),
    ]
    operations: ClassVar = [
        RoleSQL(LINES),
    ]
