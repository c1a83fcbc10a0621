-- Measures the prompts of the open sessions of some agents: what the prompt cache would be written if all of them began anew.
--
-- Called by: cost_of_ending (apps/runtime/explain/session_ending.py)
-- Runs as: operator, staff
-- One statement: the sessions and their parts are of one snapshot.
-- Locks: nothing
-- Parameters:
--   :agents        bigint[]  the agents
--   :idle_seconds  integer   the silence after which a session ends, where the agent sets none
--   :most          integer   sessions to count at most, the latest
-- Returns: a row for each agent with open sessions:
--   agent_id  bigint  the agent
--   sessions  bigint  its open sessions
--   bytes     bigint  the size of their prompts; a part that several share counts once, because the cache keeps it once

WITH open_session AS MATERIALIZED (
    SELECT session.id, session.agent_id, session.tools_id
    FROM conversations_conversation AS thread
    JOIN tenants_agent AS agent ON agent.tenant_id = thread.tenant_id AND agent.id = thread.agent_id
    CROSS JOIN LATERAL (
        SELECT latest.*
        FROM runtime_session AS latest
        WHERE latest.tenant_id = thread.tenant_id AND latest.conversation_id = thread.id
        ORDER BY latest.id DESC
        LIMIT 1
    ) AS session
    LEFT JOIN LATERAL (
        SELECT turn.finished_at
        FROM runtime_turn AS turn
        WHERE turn.tenant_id = session.tenant_id AND turn.session_id = session.id AND turn.finished_at IS NOT NULL
        ORDER BY turn.id DESC
        LIMIT 1
    ) AS last_turn ON true
    WHERE thread.tenant_id = app_tenant()
      AND thread.agent_id = ANY (:agents)
      AND thread.status = 'open'
      AND session.snapshot_at > coalesce(agent.sessions_ended_at, '-infinity')
      AND coalesce(last_turn.finished_at, session.snapshot_at)
          > statement_timestamp() - make_interval(secs => coalesce(agent.session_idle_seconds, :idle_seconds))
    ORDER BY session.id DESC
    LIMIT :most
), used_part AS (
    SELECT open_session.agent_id, place.part_id
    FROM open_session
    JOIN runtime_sessionpart AS place ON place.tenant_id = app_tenant() AND place.session_id = open_session.id
    UNION
    SELECT agent_id, tools_id FROM open_session WHERE tools_id IS NOT NULL
)
SELECT
    counted.agent_id,
    counted.sessions,
    (
        SELECT coalesce(sum(octet_length(part.text)), 0)::bigint
        FROM used_part
        JOIN runtime_snapshotpart AS part ON part.tenant_id = app_tenant() AND part.id = used_part.part_id
        WHERE used_part.agent_id = counted.agent_id
    ) AS bytes
FROM (SELECT agent_id, count(*) AS sessions FROM open_session GROUP BY agent_id) AS counted
ORDER BY counted.agent_id
