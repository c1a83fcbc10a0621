"""What stands already gets its ledger; then the wall: an agent notes lines of its own texts, and never as a person's."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, ComposeKey, RaiseWall, RoleSQL, Wall

# A line that a person approved is a person's; of any other the whole text says whose words it may be.
STAND = """
ALTER TABLE memory_agentmemory NO FORCE ROW LEVEL SECURITY;
ALTER TABLE memory_memoryblock NO FORCE ROW LEVEL SECURITY;
INSERT INTO memory_memoryline (tenant_id, agent_id, memory_id, block_id, sha256, text, author, taint, first_version,
    last_version, status, began_at)
SELECT row.tenant_id, row.agent_id, row.memory_id, row.block_id, encode(sha256(convert_to(line, 'UTF8')), 'hex'), line,
    CASE WHEN row.taint = 'operator' OR line <> ALL (told_lines(row.approved_body)) THEN row.updated_by ELSE 'operator' END,
    CASE WHEN line = ANY (told_lines(row.approved_body)) THEN 'operator' ELSE row.taint END,
    row.version, row.version, 'standing', row.updated_at
FROM (
    SELECT tenant_id, agent_id, id AS memory_id, NULL::bigint AS block_id, body, approved_body, updated_by, taint, version,
        updated_at FROM memory_agentmemory
    UNION ALL
    SELECT tenant_id, agent_id, NULL, id, body, approved_body, updated_by, taint, version, updated_at FROM memory_memoryblock
) AS row CROSS JOIN LATERAL (SELECT DISTINCT unnest(told_lines(row.body)) AS line) AS lines;
ALTER TABLE memory_agentmemory FORCE ROW LEVEL SECURITY;
ALTER TABLE memory_memoryblock FORCE ROW LEVEL SECURITY
"""
_ENDS = "status, ended_at, last_version, superseded_by_id"
LINES = Wall(
    operator=f"SELECT, INSERT, UPDATE ({_ENDS}, taint, author)",
    worker=f"SELECT, INSERT, UPDATE ({_ENDS})",
    agent=f"SELECT, INSERT, UPDATE ({_ENDS})",
    agent_rows="agent_id = app_agent()",
    agent_checks=(
        "(memory_id IS NULL OR EXISTS (SELECT 1 FROM memory_agentmemory AS text WHERE text.id = memory_id))"
        " AND (block_id IS NULL OR EXISTS (SELECT 1 FROM memory_memoryblock AS text WHERE text.id = block_id))"
    ),
    versioned=False,
    states={"standing": ("superseded", "removed"), "superseded": (), "removed": ()},
    extra=(
        """CREATE FUNCTION sign_line() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_has_role(current_user, '@operator@'::regrole, 'USAGE') OR (NEW.taint <> 'operator' AND NEW.author = 'agent') THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'Only people sign as people.' USING ERRCODE = 'insufficient_privilege';
END $$""",
        "CREATE TRIGGER sign_line BEFORE INSERT ON memory_memoryline FOR EACH ROW EXECUTE FUNCTION sign_line()",
        """CREATE TRIGGER keep_ended BEFORE UPDATE ON memory_memoryline FOR EACH ROW
    WHEN (OLD.status <> 'standing') EXECUTE FUNCTION refuse_change()""",
    ),
)


class Migration(migrations.Migration):
    """The rows, row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("memory", "0010_lines"),
    ]
    operations: ClassVar = [
        RoleSQL(STAND),
        RaiseWall("memory_memoryline", LINES),
        ComposeKey("memory_agentmemory"),
        ComposeKey("memory_memoryblock"),
        ComposeKey("memory_memoryline"),
        ComposeForeignKey("memory_memoryline", "agent_id", "tenants_agent"),
        ComposeForeignKey("memory_memoryline", "memory_id", "memory_agentmemory"),
        ComposeForeignKey("memory_memoryline", "block_id", "memory_memoryblock"),
        ComposeForeignKey("memory_memoryline", "superseded_by_id", "memory_memoryline"),
    ]
