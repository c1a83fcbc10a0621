"""The wall around extractions, and the third crossing: which ids have work waiting."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, RaiseWall, RoleSQL, Wall

EXTRACTIONS = Wall(
    operator="SELECT",
    worker="SELECT, INSERT",
    agent="",
    crossing="SELECT (id, conversation_id)",
    versioned=False,
    append_only=True,
)
# Imported conversations are mined by command, not by the sweep.
DUE_WORK = """
CREATE FUNCTION due_work(batch integer) RETURNS TABLE (kind text, tenant_id bigint, row_id bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH waiting AS (
        SELECT 'turn' AS kind, event.tenant_id, event.conversation_id AS row_id FROM conversations_inboundevent AS event
            WHERE event.turn_id IS NULL AND NOT EXISTS (
                SELECT 1 FROM runtime_turn AS turn WHERE turn.conversation_id = event.conversation_id
                    AND turn.tenant_id = event.tenant_id AND turn.status = 'running' AND turn.lease_until > now())
        UNION
        SELECT 'turn', turn.tenant_id, turn.conversation_id FROM runtime_turn AS turn
            WHERE turn.status = 'running' AND turn.lease_until <= now()
        UNION
        SELECT 'extraction', thread.tenant_id, thread.id FROM conversations_conversation AS thread
            WHERE thread.status = 'resolved' AND thread.origin = 'live' AND NOT EXISTS (
                SELECT 1 FROM learning_extraction AS extraction WHERE extraction.conversation_id = thread.id)
    ), placed AS (
        -- One tenant's thousand must not keep another's one waiting.
        SELECT waiting.*, row_number() OVER (PARTITION BY waiting.kind, waiting.tenant_id ORDER BY waiting.row_id) AS place
            FROM waiting
    ), ranked AS (
        SELECT placed.*, row_number() OVER (PARTITION BY placed.kind ORDER BY placed.place, placed.row_id) AS rank FROM placed
    )
    SELECT ranked.kind, ranked.tenant_id, ranked.row_id FROM ranked WHERE ranked.rank <= batch
$$;
REVOKE ALL ON FUNCTION due_work(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION due_work(integer) TO @login@;
ALTER FUNCTION due_work(integer) OWNER TO @crossing@
"""


class Migration(migrations.Migration):
    """Row security, grants, triggers and composite keys."""

    dependencies: ClassVar = [
        ("learning", "0001_tables"),
        ("runtime", "0002_walls"),
        ("skills", "0002_walls"),
    ]
    operations: ClassVar = [
        RaiseWall("learning_extraction", EXTRACTIONS),
        ComposeForeignKey("learning_extraction", "agent_id", "tenants_agent"),
        ComposeForeignKey("learning_extraction", "conversation_id", "conversations_conversation"),
        RoleSQL(DUE_WORK),
    ]
