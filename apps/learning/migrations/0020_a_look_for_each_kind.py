"""A look of its own for each kind of work, and one that asks them. A new kind adds a `DueWork` and leaves the rest as it is."""

from typing import ClassVar

from django.db import migrations

from apps.governance.database import DueWork, RoleSQL

OF_TURNS = """
    SELECT found.tenant_id, found.row_id, min(found.since) FROM (
        SELECT event.tenant_id, event.conversation_id AS row_id, event.due_at AS since
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
        SELECT turn.tenant_id, turn.conversation_id, turn.run_at FROM runtime_turn AS turn
            WHERE turn.status = 'running' AND greatest(turn.lease_until, turn.run_at) <= statement_timestamp()
    ) AS found
    GROUP BY found.tenant_id, found.row_id
    HAVING NOT is_switched_off(ARRAY['pause-agent'], found.tenant_id, found.row_id)
"""
OF_EXTRACTION = """
    SELECT thread.tenant_id, thread.id, thread.resolved_at FROM conversations_conversation AS thread
        WHERE thread.status = 'resolved' AND thread.origin = 'live' AND NOT EXISTS (
            SELECT 1 FROM learning_extraction AS extraction WHERE extraction.conversation_id = thread.id)
        -- Nobody looks at it just now, and after a failure its next look is due.
        AND NOT EXISTS (SELECT 1 FROM learning_extractionclaim AS held WHERE held.tenant_id = thread.tenant_id
            AND held.conversation_id = thread.id AND greatest(held.lease_until, held.next_look_at) > statement_timestamp())
        AND NOT is_switched_off(ARRAY['freeze-learning'], thread.tenant_id, thread.id)
"""
# No switch stops time.
OF_EXPIRY = """
    SELECT proposal.tenant_id, proposal.id, proposal.expires_at FROM governance_proposal AS proposal
        WHERE proposal.state = 'open' AND proposal.expires_at <= now()
"""
# A paused agent begins nothing by itself; what it misses meanwhile, its schedule says what becomes of.
OF_SCHEDULES = """
    SELECT clock.tenant_id, clock.schedule_id, clock.next_run_at FROM schedules_scheduleclock AS clock
        JOIN schedules_schedule AS plan ON plan.tenant_id = clock.tenant_id AND plan.id = clock.schedule_id
        WHERE plan.status = 'approved' AND clock.next_run_at <= statement_timestamp() AND NOT EXISTS (
            SELECT 1 FROM switches_switch AS switch WHERE switch.tenant_id = plan.tenant_id AND switch.status = 'on'
                AND switch.kind = 'pause-agent' AND (switch.agent_id IS NULL OR switch.agent_id = plan.agent_id)
                AND switch.channel IN ('', plan.channel))
"""
OF_LISTINGS = """
    SELECT server.tenant_id, server.id, coalesce(listing.due_at, '-infinity') FROM tools_toolserver AS server
        LEFT JOIN tools_toollisting AS listing ON listing.tenant_id = server.tenant_id AND listing.server_id = server.id
        WHERE server.is_active AND coalesce(listing.due_at, '-infinity') <= statement_timestamp()
"""
# What was said first is told first; a webhook that only fails is left alone for a while.
OF_DELIVERIES = """
    SELECT delivery.tenant_id, delivery.id, delivery.next_try_at FROM webhooks_delivery AS delivery
        JOIN webhooks_webhook AS webhook ON webhook.tenant_id = delivery.tenant_id AND webhook.id = delivery.webhook_id
        LEFT JOIN webhooks_webhookhealth AS health
            ON health.tenant_id = delivery.tenant_id AND health.webhook_id = delivery.webhook_id
        WHERE delivery.status = 'waiting' AND greatest(delivery.next_try_at, delivery.lease_until) <= statement_timestamp()
            AND webhook.is_active AND coalesce(health.rests_until <= statement_timestamp(), true) AND NOT EXISTS (
            SELECT 1 FROM webhooks_delivery AS before WHERE before.tenant_id = delivery.tenant_id
                AND before.webhook_id = delivery.webhook_id AND before.conversation_id = delivery.conversation_id
                AND before.status = 'waiting' AND before.id < delivery.id)
"""
# What was said off the record goes when the conversation has ended, or nobody wrote for a quarter of an hour; see there.
OF_FORGETTING = """
    SELECT thread.tenant_id, thread.id, said.since FROM conversations_conversation AS thread
        CROSS JOIN LATERAL forgetting_due(thread.tenant_id, thread.id) AS said WHERE thread.off_the_record
"""

# What was learned is written down whether or not anybody may learn from it now.
OF_LESSONS = """
    SELECT told.tenant_id, told.agent_id, min(told.at) FROM (
        SELECT CASE draft.status WHEN 'discarded' THEN 'discarded_draft' ELSE 'edited_draft' END AS source, draft.id,
               draft.tenant_id, draft.agent_id, draft.conversation_id, draft.decided_at AS at
            FROM desk_draft AS draft WHERE draft.status IN ('sent_edited', 'discarded')
        UNION ALL
        SELECT 'answered_escalation', question.id, question.tenant_id, question.agent_id, question.conversation_id,
               question.decided_at
            FROM desk_escalation AS question WHERE question.status = 'answered'
        UNION ALL
        SELECT 'dead_turn', turn.id, turn.tenant_id, thread.agent_id, turn.conversation_id, turn.finished_at
            FROM runtime_turn AS turn JOIN conversations_conversation AS thread
                ON thread.tenant_id = turn.tenant_id AND thread.id = turn.conversation_id
            WHERE turn.status = 'failed'
        UNION ALL
        SELECT 'rejected_proposal', proposal.id, proposal.tenant_id, proposal.agent_id, NULL, proposal.decided_at
            FROM governance_proposal AS proposal
            WHERE proposal.state = 'rejected' AND proposal.agent_id IS NOT NULL
    ) AS told
        WHERE NOT EXISTS (SELECT 1 FROM conversations_conversation AS thread WHERE thread.tenant_id = told.tenant_id
            AND thread.id = told.conversation_id AND (thread.off_the_record OR thread.member_user_id IS NOT NULL))
        AND NOT EXISTS (SELECT 1 FROM lessons_lessoncase AS known WHERE known.tenant_id = told.tenant_id
            AND known.source = told.source AND known.source_id = told.id)
        GROUP BY told.tenant_id, told.agent_id
"""
# A kind that nobody asks for costs nothing, and one without a function is an error.
DUE_WORK = """
SET LOCAL ROLE @crossing@;
CREATE OR REPLACE FUNCTION due_work(batch integer, kinds text[]) RETURNS TABLE (kind text, tenant_id bigint, row_id bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE
        asked text;
    BEGIN
        FOREACH asked IN ARRAY kinds LOOP
            RETURN QUERY EXECUTE format('
                SELECT $2, ranked.tenant_id, ranked.row_id FROM (
                    -- One tenant''s thousand must not keep another''s one waiting.
                    SELECT due.*, row_number() OVER (PARTITION BY due.tenant_id ORDER BY due.since, due.row_id) AS place
                        FROM %I() AS due
                ) AS ranked ORDER BY ranked.place, ranked.since, ranked.row_id LIMIT $1', 'due_of_' || asked)
                USING batch, asked;
        END LOOP;
    END
$$;
RESET ROLE
"""
KINDS = {
    "turn": OF_TURNS,
    "extraction": OF_EXTRACTION,
    "expiry": OF_EXPIRY,
    "schedule": OF_SCHEDULES,
    "listing": OF_LISTINGS,
    "delivery": OF_DELIVERIES,
    "forget": OF_FORGETTING,
    "lesson": OF_LESSONS,
}


class Migration(migrations.Migration):
    """Functions anew."""

    dependencies: ClassVar = [("learning", "0019_lessons_come_due")]
    operations: ClassVar = [*(DueWork(kind, body) for kind, body in KINDS.items()), RoleSQL(DUE_WORK)]
