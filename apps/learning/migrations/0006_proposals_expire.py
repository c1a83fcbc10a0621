"""What nobody decided on in time is due too."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

# The function belongs to the crossing role, so that role replaces it; a reset leads back to the owner of the tables.
DUE_WORK = """
SET LOCAL ROLE @crossing@;
CREATE OR REPLACE FUNCTION due_work(batch integer) RETURNS TABLE (kind text, tenant_id bigint, row_id bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH found AS (
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
    ), waiting AS (
        SELECT found.* FROM found WHERE NOT is_switched_off(
            CASE found.kind WHEN 'turn' THEN ARRAY['pause-agent', 'pause-sending'] ELSE ARRAY['freeze-learning'] END,
            found.tenant_id, found.row_id)
        UNION
        -- No switch stops time.
        SELECT 'expiry', proposal.tenant_id, proposal.id FROM governance_proposal AS proposal
            WHERE proposal.state = 'open' AND proposal.expires_at <= now()
    ), placed AS (
        -- One tenant's thousand must not keep another's one waiting.
        SELECT waiting.*, row_number() OVER (PARTITION BY waiting.kind, waiting.tenant_id ORDER BY waiting.row_id) AS place
            FROM waiting
    ), ranked AS (
        SELECT placed.*, row_number() OVER (PARTITION BY placed.kind ORDER BY placed.place, placed.row_id) AS rank FROM placed
    )
    SELECT ranked.kind, ranked.tenant_id, ranked.row_id FROM ranked WHERE ranked.rank <= batch
$$;
RESET ROLE
"""


class Migration(migrations.Migration):
    """One function anew."""

    dependencies: ClassVar = [
        ("learning", "0005_switches_hold_work"),
        ("governance", "0008_review_walls"),
    ]
    operations: ClassVar = [RoleSQL(DUE_WORK)]
