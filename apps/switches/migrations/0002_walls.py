"""The wall around switches, and the database's half of a freeze: what learns is not written while one is on."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, RaiseWall, RoleSQL, Wall

# An agent learns that something is stopped, not why: the reason is people's business.
SWITCHES = Wall(
    operator="SELECT, INSERT, UPDATE (status, lifted_by, lifted_at)",
    worker="SELECT, INSERT, UPDATE (status, lifted_by, lifted_at)",
    agent="SELECT (id, tenant_id, kind, agent_id, channel, status)",
    agent_rows="agent_id IS NULL OR agent_id = app_agent()",
    crossing="SELECT (tenant_id, kind, agent_id, channel, status)",
    states={"on": ("lifted",)},
)
# A channel is not known to a row; the runtime asks for it. People correct what was learned while learning is frozen.
FREEZE = """
CREATE FUNCTION learning_is_frozen(of_agent bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT 1 FROM switches_switch AS switch WHERE switch.kind = 'freeze-learning' AND switch.status = 'on'
        AND switch.channel = '' AND (switch.agent_id IS NULL OR switch.agent_id = of_agent))
$$;
CREATE FUNCTION refuse_frozen_learning() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (pg_has_role(current_user, '@agent@'::regrole, 'USAGE') OR pg_has_role(current_user, '@worker@'::regrole, 'USAGE'))
        AND learning_is_frozen(coalesce((to_jsonb(NEW) ->> 'agent_id')::bigint, app_agent())) THEN
        RAISE EXCEPTION 'Learning is frozen by an operator for now. Nothing was written; go on without it.'
            USING ERRCODE = 'insufficient_privilege', CONSTRAINT = 'frozen';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF name, title, description, category, body ON skills_skill
    FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF content ON governance_proposal
    FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF body ON memory_agentmemory
    FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF body ON memory_memoryblock
    FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning();
CREATE TRIGGER freeze_learning BEFORE INSERT OR UPDATE OF preferences, notes ON memory_customerprofile
    FOR EACH ROW EXECUTE FUNCTION refuse_frozen_learning()
"""


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("switches", "0001_tables"),
        ("skills", "0002_walls"),
        ("memory", "0004_block_walls"),
        ("governance", "0003_walls"),
    ]
    operations: ClassVar = [
        RaiseWall("switches_switch", SWITCHES),
        ComposeForeignKey("switches_switch", "agent_id", "tenants_agent"),
        RoleSQL(FREEZE),
    ]
