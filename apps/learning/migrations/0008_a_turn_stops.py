"""A turn waits while answering is paused, and where a colleague answers; paused sending makes drafts of replies."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

IS_STOPPED = """
GRANT SELECT (held_at) ON conversations_conversation TO @crossing@;
-- Asked by workers alone, of their own tenant, in the statement that writes.
CREATE FUNCTION is_stopped(kinds text[], of_tenant bigint, of_conversation bigint) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT cardinality(kinds) > 0 AND (is_switched_off(kinds, of_tenant, of_conversation) OR EXISTS (
        SELECT 1 FROM conversations_conversation AS thread
        WHERE thread.tenant_id = of_tenant AND thread.id = of_conversation AND thread.held_at IS NOT NULL))
$$;
REVOKE ALL ON FUNCTION is_stopped(text[], bigint, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION is_stopped(text[], bigint, bigint) TO @worker@
"""
# The function belongs to the crossing role, so that role replaces it; a reset leads back to the owner of the tables.
DUE_WORK = """
SET LOCAL ROLE @crossing@;
CREATE OR REPLACE FUNCTION due_work(batch integer) RETURNS TABLE (kind text, tenant_id bigint, row_id bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH found AS (
        SELECT 'turn' AS kind, event.tenant_id, event.conversation_id AS row_id, event.due_at AS since
            FROM conversations_inboundevent AS event
            WHERE event.turn_id IS NULL AND event.due_at <= statement_timestamp() AND NOT EXISTS (
                -- What a colleague answers waits for them.
                SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = event.conversation_id
                    AND thread.tenant_id = event.tenant_id AND thread.held_at IS NOT NULL)
            AND NOT EXISTS (
                SELECT 1 FROM runtime_turn AS turn WHERE turn.conversation_id = event.conversation_id
                    AND turn.tenant_id = event.tenant_id AND turn.status = 'running'
                    AND greatest(turn.lease_until, turn.run_at) > statement_timestamp())
        UNION ALL
        SELECT 'turn', turn.tenant_id, turn.conversation_id, turn.run_at FROM runtime_turn AS turn
            WHERE turn.status = 'running' AND greatest(turn.lease_until, turn.run_at) <= statement_timestamp()
        UNION ALL
        SELECT 'extraction', thread.tenant_id, thread.id, thread.resolved_at FROM conversations_conversation AS thread
            WHERE thread.status = 'resolved' AND thread.origin = 'live' AND NOT EXISTS (
                SELECT 1 FROM learning_extraction AS extraction WHERE extraction.conversation_id = thread.id)
    ), once AS (
        SELECT found.kind, found.tenant_id, found.row_id, min(found.since) AS since
            FROM found GROUP BY found.kind, found.tenant_id, found.row_id
    ), waiting AS (
        SELECT once.* FROM once WHERE NOT is_switched_off(
            CASE once.kind WHEN 'turn' THEN ARRAY['pause-agent'] ELSE ARRAY['freeze-learning'] END,
            once.tenant_id, once.row_id)
        UNION ALL
        -- No switch stops time.
        SELECT 'expiry', proposal.tenant_id, proposal.id, proposal.expires_at FROM governance_proposal AS proposal
            WHERE proposal.state = 'open' AND proposal.expires_at <= now()
    ), placed AS (
        -- One tenant's thousand must not keep another's one waiting.
        SELECT waiting.*, row_number()
            OVER (PARTITION BY waiting.kind, waiting.tenant_id ORDER BY waiting.since, waiting.row_id) AS place FROM waiting
    ), ranked AS (
        SELECT placed.*, row_number() OVER (PARTITION BY placed.kind ORDER BY placed.place, placed.since, placed.row_id)
            AS rank FROM placed
    )
    SELECT ranked.kind, ranked.tenant_id, ranked.row_id FROM ranked WHERE ranked.rank <= batch ORDER BY ranked.rank
$$;
RESET ROLE
"""


class Migration(migrations.Migration):
    """Two functions."""

    dependencies: ClassVar = [
        ("learning", "0007_turns_wait"),
        ("conversations", "0006_held"),
    ]
    operations: ClassVar = [RoleSQL(IS_STOPPED), RoleSQL(DUE_WORK)]
