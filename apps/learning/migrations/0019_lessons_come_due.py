"""A look for agents with something settled that no lesson was made of."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import RoleSQL

# As before but for agents with something settled that no lesson was made of.
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
        UNION ALL
        -- What was learned is written down whether or not anybody may learn from it now.
        SELECT 'lesson', told.tenant_id, told.agent_id, min(told.at) FROM (
            SELECT CASE draft.status WHEN 'discarded' THEN 'discarded_draft' ELSE 'edited_draft' END AS source, draft.id,
                   draft.tenant_id, draft.agent_id, draft.conversation_id, draft.decided_at AS at
                FROM desk_draft AS draft WHERE 'lesson' = ANY (kinds) AND draft.status IN ('sent_edited', 'discarded')
            UNION ALL
            SELECT 'answered_escalation', question.id, question.tenant_id, question.agent_id, question.conversation_id,
                   question.decided_at
                FROM desk_escalation AS question WHERE 'lesson' = ANY (kinds) AND question.status = 'answered'
            UNION ALL
            SELECT 'dead_turn', turn.id, turn.tenant_id, thread.agent_id, turn.conversation_id, turn.finished_at
                FROM runtime_turn AS turn JOIN conversations_conversation AS thread
                    ON thread.tenant_id = turn.tenant_id AND thread.id = turn.conversation_id
                WHERE 'lesson' = ANY (kinds) AND turn.status = 'failed'
            UNION ALL
            SELECT 'rejected_proposal', proposal.id, proposal.tenant_id, proposal.agent_id, NULL, proposal.decided_at
                FROM governance_proposal AS proposal
                WHERE 'lesson' = ANY (kinds) AND proposal.state = 'rejected' AND proposal.agent_id IS NOT NULL
        ) AS told
            WHERE NOT EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.tenant_id = told.tenant_id
                AND thread.id = told.conversation_id AND (thread.off_the_record OR thread.member_user_id IS NOT NULL))
            AND NOT EXISTS (SELECT 1 FROM lessons_lessoncase AS known WHERE known.tenant_id = told.tenant_id
                AND known.source = told.source AND known.source_id = told.id)
            GROUP BY told.tenant_id, told.agent_id
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
SEEN_ACROSS_TENANTS = """
GRANT SELECT (id, tenant_id, agent_id, conversation_id, status, decided_at) ON desk_draft, desk_escalation TO @crossing@;
CREATE POLICY desk_draft_crossing ON desk_draft TO @crossing@ USING (true) WITH CHECK (true);
CREATE POLICY desk_escalation_crossing ON desk_escalation TO @crossing@ USING (true) WITH CHECK (true);
GRANT SELECT (agent_id, decided_at) ON governance_proposal TO @crossing@
"""


class Migration(migrations.Migration):
    """Rights of the crossing role and one function anew."""

    dependencies: ClassVar = [
        ("learning", "0018_likeness"),
        ("lessons", "0002_walls"),
        ("desk", "0002_walls"),
        ("runtime", "0013_failed_turn"),
    ]
    operations: ClassVar = [
        RoleSQL(SEEN_ACROSS_TENANTS),
        RoleSQL(DUE_WORK),
    ]
