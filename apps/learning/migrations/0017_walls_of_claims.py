"""The wall around claims of extraction, and a look for what is due that leaves alone what is held or put off."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import ComposeForeignKey, RaiseWall, RoleSQL, UniqueInTenant, Wall

CLAIMS = Wall(
    operator="SELECT",
    worker="SELECT, INSERT, UPDATE (lease_until, next_look_at, failures, failure)",
    agent="",
    crossing="SELECT (id, tenant_id, conversation_id, lease_until, next_look_at)",
    versioned=False,
)
# As before but for the claims.
DUE_WORK = """
SET LOCAL ROLE @crossing@;
CREATE OR REPLACE FUNCTION due_work(batch integer, kinds text[]) RETURNS TABLE (kind text, tenant_id bigint, row_id bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH found AS (
        SELECT 'turn' AS kind, event.tenant_id, event.conversation_id AS row_id, event.due_at AS since
            FROM conversations_inboundevent AS event
            WHERE 'turn' = ANY (kinds) AND event.turn_id IS NULL AND event.due_at <= statement_timestamp() AND NOT EXISTS (
                -- What a colleague answers waits for them.
                SELECT 1 FROM conversations_conversation AS thread WHERE thread.id = event.conversation_id
                    AND thread.tenant_id = event.tenant_id AND thread.held_at IS NOT NULL)
            AND NOT EXISTS (
                SELECT 1 FROM runtime_turn AS turn WHERE turn.conversation_id = event.conversation_id
                    AND turn.tenant_id = event.tenant_id AND turn.status = 'running'
                    AND greatest(turn.lease_until, turn.run_at) > statement_timestamp())
        UNION ALL
        SELECT 'turn', turn.tenant_id, turn.conversation_id, turn.run_at FROM runtime_turn AS turn
            WHERE 'turn' = ANY (kinds) AND turn.status = 'running' AND greatest(turn.lease_until, turn.run_at) <= statement_timestamp()
        UNION ALL
        SELECT 'extraction', thread.tenant_id, thread.id, thread.resolved_at FROM conversations_conversation AS thread
            WHERE 'extraction' = ANY (kinds) AND thread.status = 'resolved' AND thread.origin = 'live' AND NOT EXISTS (
                SELECT 1 FROM learning_extraction AS extraction WHERE extraction.conversation_id = thread.id)
            -- Nobody looks at it just now, and after a failure its next look is due.
            AND NOT EXISTS (SELECT 1 FROM learning_extractionclaim AS held WHERE held.tenant_id = thread.tenant_id
                AND held.conversation_id = thread.id AND greatest(held.lease_until, held.next_look_at) > statement_timestamp())
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
            WHERE 'expiry' = ANY (kinds) AND proposal.state = 'open' AND proposal.expires_at <= now()
        UNION ALL
        -- A paused agent begins nothing by itself; what it misses meanwhile, its schedule says what becomes of.
        SELECT 'schedule', clock.tenant_id, clock.schedule_id, clock.next_run_at FROM schedules_scheduleclock AS clock
            JOIN schedules_schedule AS plan ON plan.tenant_id = clock.tenant_id AND plan.id = clock.schedule_id
            WHERE 'schedule' = ANY (kinds) AND plan.status = 'approved' AND clock.next_run_at <= statement_timestamp() AND NOT EXISTS (
                SELECT 1 FROM switches_switch AS switch WHERE switch.tenant_id = plan.tenant_id AND switch.status = 'on'
                    AND switch.kind = 'pause-agent' AND (switch.agent_id IS NULL OR switch.agent_id = plan.agent_id)
                    AND switch.channel IN ('', plan.channel))
        UNION ALL
        SELECT 'listing', server.tenant_id, server.id, coalesce(listing.due_at, '-infinity') FROM tools_toolserver AS server
            LEFT JOIN tools_toollisting AS listing ON listing.tenant_id = server.tenant_id AND listing.server_id = server.id
            WHERE 'listing' = ANY (kinds) AND server.is_active AND coalesce(listing.due_at, '-infinity') <= statement_timestamp()
        UNION ALL
        -- What was said first is told first; a webhook that only fails is left alone for a while.
        SELECT 'delivery', delivery.tenant_id, delivery.id, delivery.next_try_at FROM webhooks_delivery AS delivery
            JOIN webhooks_webhook AS webhook ON webhook.tenant_id = delivery.tenant_id AND webhook.id = delivery.webhook_id
            LEFT JOIN webhooks_webhookhealth AS health
                ON health.tenant_id = delivery.tenant_id AND health.webhook_id = delivery.webhook_id
            WHERE 'delivery' = ANY (kinds) AND delivery.status = 'waiting' AND greatest(delivery.next_try_at, delivery.lease_until) <= statement_timestamp()
                AND webhook.is_active AND coalesce(health.rests_until <= statement_timestamp(), true) AND NOT EXISTS (
                SELECT 1 FROM webhooks_delivery AS before WHERE before.tenant_id = delivery.tenant_id
                    AND before.webhook_id = delivery.webhook_id AND before.conversation_id = delivery.conversation_id
                    AND before.status = 'waiting' AND before.id < delivery.id)
        UNION ALL
        -- What was said off the record goes when the conversation has ended, or nobody wrote for a quarter of an hour; see there.
        SELECT 'forget', thread.tenant_id, thread.id, said.since FROM conversations_conversation AS thread
            CROSS JOIN LATERAL forgetting_due(thread.tenant_id, thread.id) AS said WHERE 'forget' = ANY (kinds) AND thread.off_the_record
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
    """Row security, grants and one function anew."""

    dependencies: ClassVar = [
        ("learning", "0016_claims"),
    ]
    operations: ClassVar = [
        RaiseWall("learning_extractionclaim", CLAIMS),
        ComposeForeignKey("learning_extractionclaim", "conversation_id", "conversations_conversation"),
        UniqueInTenant("learning_extractionclaim", "conversation_id"),
        RoleSQL(DUE_WORK),
    ]
