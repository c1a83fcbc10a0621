"""A conversation off the record is due for its last word, whoever said it, and once more for its end; one place says when."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

# Asked by the look across tenants, and again by whoever has the row locked. An end is later than all that was said before it, and
# but for turns that ran on nothing is said behind it.
FORGETTING_DUE = """
CREATE FUNCTION forgetting_due(of_tenant bigint, of_conversation bigint) RETURNS TABLE (since timestamptz)
    LANGUAGE sql STABLE AS $$
    SELECT said.at FROM conversations_conversation AS thread CROSS JOIN LATERAL (
        SELECT greatest(
            CASE WHEN thread.status = 'open' THEN greatest(
                (SELECT max(event.received_at) FROM conversations_inboundevent AS event
                  WHERE event.tenant_id = thread.tenant_id AND event.conversation_id = thread.id),
                (SELECT max(message.created_at) FROM conversations_message AS message
                  WHERE message.tenant_id = thread.tenant_id AND message.conversation_id = thread.id))
            ELSE thread.updated_at END,
            (SELECT max(turn.finished_at) FROM runtime_turn AS turn
              WHERE turn.tenant_id = thread.tenant_id AND turn.conversation_id = thread.id)) AS at) AS said
     WHERE thread.tenant_id = of_tenant AND thread.id = of_conversation AND thread.off_the_record
       AND said.at > coalesce(thread.forgotten_at, '-infinity')
       AND (thread.status <> 'open' OR said.at < statement_timestamp() - interval '15 minutes')
       AND NOT EXISTS (SELECT 1 FROM runtime_turn AS turn WHERE turn.tenant_id = thread.tenant_id
           AND turn.conversation_id = thread.id AND turn.status = 'running')
       -- What a webhook is to be told it is told first, as long as it is tried: a day and a half, stretched by up to a quarter.
       AND NOT EXISTS (
           SELECT 1 FROM webhooks_delivery AS delivery JOIN webhooks_webhook AS webhook
               ON webhook.tenant_id = delivery.tenant_id AND webhook.id = delivery.webhook_id
            WHERE delivery.tenant_id = thread.tenant_id AND delivery.conversation_id = thread.id
              AND delivery.event = 'reply' AND delivery.status = 'waiting' AND webhook.is_active
              AND delivery.created_at > statement_timestamp() - interval '2 days')
$$
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
        UNION ALL
        -- A paused agent begins nothing by itself; what it misses meanwhile, its schedule says what becomes of.
        SELECT 'schedule', clock.tenant_id, clock.schedule_id, clock.next_run_at FROM schedules_scheduleclock AS clock
            JOIN schedules_schedule AS plan ON plan.tenant_id = clock.tenant_id AND plan.id = clock.schedule_id
            WHERE plan.status = 'approved' AND clock.next_run_at <= statement_timestamp() AND NOT EXISTS (
                SELECT 1 FROM switches_switch AS switch WHERE switch.tenant_id = plan.tenant_id AND switch.status = 'on'
                    AND switch.kind = 'pause-agent' AND (switch.agent_id IS NULL OR switch.agent_id = plan.agent_id)
                    AND switch.channel IN ('', plan.channel))
        UNION ALL
        SELECT 'listing', server.tenant_id, server.id, coalesce(listing.due_at, '-infinity') FROM tools_toolserver AS server
            LEFT JOIN tools_toollisting AS listing ON listing.tenant_id = server.tenant_id AND listing.server_id = server.id
            WHERE server.is_active AND coalesce(listing.due_at, '-infinity') <= statement_timestamp()
        UNION ALL
        -- What was said first is told first; a webhook that only fails is left alone for a while.
        SELECT 'delivery', delivery.tenant_id, delivery.id, delivery.next_try_at FROM webhooks_delivery AS delivery
            JOIN webhooks_webhook AS webhook ON webhook.tenant_id = delivery.tenant_id AND webhook.id = delivery.webhook_id
            LEFT JOIN webhooks_webhookhealth AS health
                ON health.tenant_id = delivery.tenant_id AND health.webhook_id = delivery.webhook_id
            WHERE delivery.status = 'waiting' AND greatest(delivery.next_try_at, delivery.lease_until) <= statement_timestamp()
                AND webhook.is_active AND coalesce(health.rests_until <= statement_timestamp(), true) AND NOT EXISTS (
                SELECT 1 FROM webhooks_delivery AS before WHERE before.tenant_id = delivery.tenant_id
                    AND before.webhook_id = delivery.webhook_id AND before.conversation_id = delivery.conversation_id
                    AND before.status = 'waiting' AND before.id < delivery.id)
        UNION ALL
        -- What was said off the record goes when the conversation has ended, or nobody wrote for a quarter of an hour; see there.
        SELECT 'forget', thread.tenant_id, thread.id, said.since FROM conversations_conversation AS thread
            CROSS JOIN LATERAL forgetting_due(thread.tenant_id, thread.id) AS said WHERE thread.off_the_record
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
    """Two functions, one of them anew."""

    dependencies: ClassVar = [
        ("learning", "0012_off_the_record_comes_due"),
        ("conversations", "0019_forgetting_looks_at_messages"),
        ("webhooks", "0003_replies_before_forgetting"),
    ]
    operations: ClassVar = [RoleSQL(FORGETTING_DUE), RoleSQL(DUE_WORK)]
