"""The SQL of the invariants: each statement returns the rows that break its sentence."""

from typing import Final

from tests.durability.external_invariants_sql import EXTERNAL_INVARIANTS

# Every move of a turn in the order in which it was made: a turn begins only after the one before it has ended.
CREATE_WATCH_TABLES: Final = """
CREATE TABLE turn_moves (
    id bigserial PRIMARY KEY, tenant_id bigint, conversation_id bigint, turn_id bigint, was text, status text, fence integer);
CREATE FUNCTION note_turn_move() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO turn_moves (tenant_id, conversation_id, turn_id, was, status, fence) VALUES (
        NEW.tenant_id, NEW.conversation_id, NEW.id, CASE TG_OP WHEN 'INSERT' THEN '' ELSE OLD.status END, NEW.status, NEW.fence);
    RETURN NULL;
END $$;
CREATE TRIGGER note_turn_move AFTER INSERT OR UPDATE ON runtime_turn FOR EACH ROW EXECUTE FUNCTION note_turn_move()
"""

_TOOL_USES: Final = """
uses AS (
    SELECT call.tenant_id, call.turn_id, call.round, call.step, block ->> 'id' AS call_id,
           row_number() OVER (PARTITION BY call.id ORDER BY content.at) - 1 AS place
      FROM runtime_modelcall AS call,
           jsonb_array_elements(call.assistant_message -> 'content') WITH ORDINALITY AS content(block, at)
     WHERE call.stop_reason = 'tool_use' AND block ->> 'type' = 'tool_use'
)"""

_TURN_WRITES: Final = """
written AS (
    SELECT turn.tenant_id, turn.conversation_id, step.name, step.arguments, step.result, step.id
      FROM runtime_toolstep AS step JOIN runtime_turn AS turn ON turn.id = step.turn_id
     WHERE step.repeat_safety = 'transactional' AND NOT step.is_error
), recorded AS (
    SELECT record.tenant_id, (record.evidence ->> 'conversation_id')::bigint AS conversation_id, record.id, record.act,
           CASE record.act WHEN 'memory.amend' THEN 'update_memory' WHEN 'profile.amend' THEN 'update_customer_profile'
                WHEN 'skill.draft' THEN 'draft_skill' END AS name, text.before, text.after
      FROM governance_changerecord AS record JOIN governance_changetext AS text ON text.record_id = record.id
     WHERE record.actor_role = 'agent' AND record.act IN ('memory.amend', 'profile.amend', 'skill.draft')
       AND record.evidence ? 'conversation_id'
)"""

TURN_INVARIANTS: Final = {
    "every event has a turn that ended": """
        SELECT 'event', event.id FROM conversations_inboundevent AS event
          LEFT JOIN runtime_turn AS turn ON turn.id = event.turn_id
         WHERE turn.id IS NULL OR turn.status = 'running'
    """,
    "no turn still runs": """
        SELECT 'turn', id FROM runtime_turn WHERE status = 'running'
    """,
    "an ended turn says what came of it": """
        SELECT 'turn', id FROM runtime_turn WHERE status <> 'running' AND (outcome = '' OR finished_at IS NULL)
    """,
    "a turn replies once, and what it replied is its reply": """
        SELECT 'turn', turn.id FROM runtime_turn AS turn LEFT JOIN conversations_message AS reply
            ON reply.turn_id = turn.id AND reply.is_reply
         GROUP BY turn.id
        HAVING count(reply.id) > 1 OR turn.outcome = 'replied' AND max(reply.id) IS DISTINCT FROM turn.reply_id
            OR turn.outcome = 'replied' AND turn.status <> 'done'
    """,
    "steps count from 1 without a gap": """
        SELECT 'turn', turn_id, 'round', round FROM runtime_modelcall WHERE round > 0 GROUP BY turn_id, round
        HAVING min(step) <> 1 OR max(step) <> count(*)
    """,
    "a turn begins anew three times at most, and only where it did nothing that is not done again": """
        SELECT 'turn', id FROM runtime_turn WHERE round > 4
         UNION ALL
        SELECT 'tool step', tool.id FROM runtime_toolstep AS tool JOIN runtime_turn AS turn ON turn.id = tool.turn_id
         WHERE tool.round < turn.round AND tool.repeat_safety <> 'read_only'
    """,
    "what was counted as spent is the sum of the calls": """
        WITH calls AS (
            SELECT call.tenant_id, thread.agent_id, count(*) AS calls, coalesce(sum(call.cost_micro_usd), 0) AS cost,
                   sum(call.input_tokens) AS input, sum(call.output_tokens) AS output, sum(call.cache_read_tokens) AS read,
                   sum(call.cache_write_5m_tokens) AS written_5m, sum(call.cache_write_1h_tokens) AS written_1h
              FROM runtime_modelcall AS call JOIN runtime_turn AS turn ON turn.id = call.turn_id
              JOIN conversations_conversation AS thread ON thread.id = turn.conversation_id
             WHERE call.round > 0 GROUP BY call.tenant_id, thread.agent_id
        ), counted AS (
            SELECT tenant_id, agent_id, sum(calls) AS calls, sum(cost_micro_usd) AS cost, sum(input_tokens) AS input,
                   sum(output_tokens) AS output, sum(cache_read_tokens) AS read, sum(cache_write_5m_tokens) AS written_5m,
                   sum(cache_write_1h_tokens) AS written_1h
              FROM runtime_spend GROUP BY tenant_id, agent_id
        )
        SELECT 'agent', coalesce(calls.agent_id, counted.agent_id) FROM calls FULL JOIN counted USING (tenant_id, agent_id)
         WHERE (calls.calls, calls.cost, calls.input, calls.output, calls.read, calls.written_5m, calls.written_1h)
               IS DISTINCT FROM (counted.calls, counted.cost, counted.input, counted.output, counted.read, counted.written_5m,
                                 counted.written_1h)
    """,
    "every tool an answer called has its step": f"""
        WITH {_TOOL_USES}
        SELECT 'turn', uses.turn_id, 'step', uses.step, 'place', uses.place FROM uses
          JOIN runtime_turn AS turn ON turn.id = uses.turn_id AND turn.round = uses.round AND turn.status = 'done'
          LEFT JOIN runtime_toolstep AS tool ON (tool.turn_id, tool.round, tool.step, tool.position, tool.call_id)
                = (uses.turn_id, uses.round, uses.step, uses.place, uses.call_id)
         WHERE tool.id IS NULL
    """,  # noqa: S608  # of constants
    "every tool step was asked for by an answer": f"""
        WITH {_TOOL_USES}
        SELECT 'tool step', tool.id FROM runtime_toolstep AS tool LEFT JOIN uses
            ON (tool.turn_id, tool.round, tool.step, tool.position, tool.call_id)
                = (uses.turn_id, uses.round, uses.step, uses.place, uses.call_id)
         WHERE uses.turn_id IS NULL
    """,  # noqa: S608  # of constants
    "no tool call of an ended turn is still open": """
        SELECT 'tool step', tool.id FROM runtime_toolstep AS tool JOIN runtime_turn AS turn ON turn.id = tool.turn_id
         WHERE turn.status <> 'running' AND tool.state = 'started'
    """,
    # By the order of rows of a kind, and by the database's clock across kinds.
    "nobody writes with a fence that was passed on": """
        WITH rows AS (
            SELECT 'model call' AS kind, id, turn_id, fence, created_at AS at FROM runtime_modelcall WHERE round > 0
             UNION ALL SELECT 'tool step', id, turn_id, fence, started_at FROM runtime_toolstep
        ), behind AS (
            SELECT rows.*, max(fence) OVER (PARTITION BY turn_id, kind ORDER BY id) AS by_row,
                   max(fence) OVER (PARTITION BY turn_id ORDER BY at) AS by_time FROM rows
        )
        SELECT behind.kind, behind.id FROM behind JOIN runtime_turn AS turn ON turn.id = behind.turn_id
         WHERE behind.fence < by_row OR behind.fence < by_time OR behind.fence > turn.fence
    """,
    "a conversation never has two running turns": """
        WITH moves AS (
            SELECT turn_id, sum((status = 'running')::int - (was = 'running')::int)
                       OVER (PARTITION BY tenant_id, conversation_id ORDER BY id) AS running
              FROM turn_moves
        )
        SELECT 'turn', turn_id FROM moves WHERE running > 1
    """,
    "a fence only grows": """
        SELECT 'turn', turn_id FROM (
            SELECT turn_id, fence, max(fence) OVER (PARTITION BY turn_id ORDER BY id) AS highest FROM turn_moves) AS moves
         WHERE fence < highest
    """,
    "replies stand in the order of their turns": """
        SELECT 'turn', turn_id FROM (
            SELECT turn_id, max(turn_id) OVER (PARTITION BY tenant_id, conversation_id ORDER BY position) AS latest
              FROM conversations_message WHERE is_reply AND turn_id IS NOT NULL) AS replies
         WHERE turn_id < latest
    """,
    # An event that had been waiting for a second when a turn took a later one was passed over.
    "no event is passed over": """
        SELECT 'event', earlier.id FROM conversations_inboundevent AS earlier
          JOIN conversations_inboundevent AS later ON later.conversation_id = earlier.conversation_id AND later.id > earlier.id
          JOIN runtime_turn AS turn ON turn.id = later.turn_id AND turn.id < earlier.turn_id
         WHERE earlier.due_at < turn.started_at - interval '1 second'
    """,
    "no row belongs to another tenant than its turn": """
        SELECT rows.kind, rows.id FROM (
            SELECT 'model call' AS kind, id, tenant_id, turn_id FROM runtime_modelcall
             UNION ALL SELECT 'tool step', id, tenant_id, turn_id FROM runtime_toolstep
             UNION ALL SELECT 'message', id, tenant_id, turn_id FROM conversations_message WHERE turn_id IS NOT NULL
             UNION ALL SELECT 'event', id, tenant_id, turn_id FROM conversations_inboundevent WHERE turn_id IS NOT NULL
        ) AS rows LEFT JOIN runtime_turn AS turn ON turn.id = rows.turn_id
         WHERE turn.tenant_id IS DISTINCT FROM rows.tenant_id
         UNION ALL
        SELECT 'turn', turn.id FROM runtime_turn AS turn
          JOIN conversations_conversation AS thread ON thread.id = turn.conversation_id
          LEFT JOIN runtime_session AS session ON session.id = turn.session_id
         WHERE thread.tenant_id <> turn.tenant_id OR session.tenant_id <> turn.tenant_id
            OR session.conversation_id <> thread.id
    """,
    "no row stands in another conversation than its turn": """
        SELECT rows.kind, rows.id FROM (
            SELECT 'message' AS kind, id, conversation_id, turn_id FROM conversations_message WHERE turn_id IS NOT NULL
             UNION ALL SELECT 'event', id, conversation_id, turn_id FROM conversations_inboundevent WHERE turn_id IS NOT NULL
        ) AS rows JOIN runtime_turn AS turn ON turn.id = rows.turn_id WHERE turn.conversation_id <> rows.conversation_id
    """,
    "an own write has a step for each record": f"""
        WITH {_TURN_WRITES}, steps AS (
            SELECT tenant_id, conversation_id, name, count(*) AS n FROM written GROUP BY 1, 2, 3
        ), records AS (
            SELECT tenant_id, conversation_id, name, count(*) AS n FROM recorded GROUP BY 1, 2, 3
        )
        SELECT 'conversation', records.conversation_id, records.name FROM records
          LEFT JOIN steps USING (tenant_id, conversation_id, name)
         WHERE records.n > coalesce(steps.n, 0)
    """,  # noqa: S608  # of constants
    # The same memory written twice changes nothing the second time, and what a person is to look at first stands elsewhere;
    # seeing a customer always changes the profile.
    "an own write that was reported was made": f"""
        WITH {_TURN_WRITES}
        SELECT 'tool step', written.id FROM written
         WHERE written.name = 'update_memory' AND written.result = 'Saved. It is read from the next session on.'
           AND NOT EXISTS (
            SELECT 1 FROM recorded WHERE recorded.tenant_id = written.tenant_id AND recorded.act = 'memory.amend'
               AND recorded.after ->> 'body' = written.arguments ->> 'body')
         UNION ALL
        SELECT 'conversation', written.conversation_id FROM written
         WHERE written.name = 'update_customer_profile' GROUP BY written.tenant_id, written.conversation_id
        HAVING count(*) <> (
            SELECT count(*) FROM recorded WHERE recorded.tenant_id = written.tenant_id AND recorded.act = 'profile.amend'
               AND recorded.conversation_id = written.conversation_id)
    """,  # noqa: S608  # of constants
    **EXTERNAL_INVARIANTS,
}

EXTERNAL_STEPS: Final = """
SELECT format('%s:%s:%s', tool.turn_id, tool.step, tool.position),
       format('%s:%s:%s:%s', tool.turn_id, tool.round, tool.step, tool.position),
       tool.repeat_safety, tool.state, tool.is_error, tool.result, turn.status = 'done', EXISTS (
           SELECT 1 FROM conversations_message AS message, jsonb_array_elements(message.tool_calls) AS told
            WHERE message.turn_id = tool.turn_id AND told ->> 'call_id' = tool.call_id AND told ->> 'result' = tool.result
              AND EXISTS (SELECT 1 FROM conversations_message AS answered
                           WHERE answered.tenant_id = message.tenant_id AND answered.conversation_id = message.conversation_id
                             AND answered.position = message.position + 1 AND answered.sender = 'tool'))
  FROM runtime_toolstep AS tool JOIN runtime_turn AS turn ON turn.id = tool.turn_id
 WHERE tool.repeat_safety IN ('idempotent', 'unsafe')
"""

USAGE_TOTALS: Final = """
SELECT count(*) AS calls, (SELECT coalesce(sum(crashes), 0) FROM runtime_turn) AS crashes,
       (SELECT coalesce(sum(round - 1), 0) FROM runtime_turn) AS restarts,
       coalesce(sum(input_tokens), 0) AS input_tokens, coalesce(sum(output_tokens), 0) AS output_tokens,
       coalesce(sum(cache_read_tokens), 0) AS cache_read_tokens,
       coalesce(sum(cache_write_5m_tokens), 0) AS cache_write_5m_tokens,
       coalesce(sum(cache_write_1h_tokens), 0) AS cache_write_1h_tokens
  FROM runtime_modelcall WHERE is_stand_in
"""
