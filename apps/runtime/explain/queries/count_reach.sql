-- Counts what a change to some agents' prompts would have reached since a moment.
--
-- Called by: _count_reach (apps/runtime/explain/impact.py)
-- Runs as: operator, staff
-- One statement: all counts are of one snapshot.
-- Locks: nothing
-- Parameters:
--   :agents    bigint[]     the agents whose prompts would change
--   :since     timestamptz  the moment
--   :customer  text         key of the only customer whom the change reaches, '' for all
--   :skill     bigint       the skill that would change, null for none
--   :most      integer      sessions to count at most, the latest
-- Returns: one row:
--   sessions       bigint  sessions that began
--   customers      bigint  customers in them
--   schedules      bigint  approved schedules of the agents, or of the skill
--   callers        bigint  agents that may delegate to them
--   conversations  bigint  conversations in which the skill was read

WITH recent_session AS MATERIALIZED (
    SELECT thread.end_user_key
    FROM runtime_session AS session
    JOIN conversations_conversation AS thread ON thread.tenant_id = session.tenant_id AND thread.id = session.conversation_id
    WHERE session.tenant_id = app_tenant()
      AND session.agent_id = ANY (:agents)
      AND session.snapshot_at > :since
      AND thread.channel <> 'playground'
      AND (:customer = '' OR thread.end_user_key = :customer)
    ORDER BY session.snapshot_at DESC
    LIMIT :most
)
SELECT
    (SELECT count(*) FROM recent_session) AS sessions,
    (SELECT count(DISTINCT end_user_key) FROM recent_session WHERE end_user_key <> '') AS customers,
    (
        SELECT count(*)
        FROM schedules_schedule AS plan
        WHERE plan.tenant_id = app_tenant()
          AND plan.status = 'approved'
          AND plan.agent_id = ANY (:agents)
          AND (:skill::bigint IS NULL OR plan.skill_id = :skill)
    ) AS schedules,
    (
        SELECT count(*)
        FROM tenants_invokableagent AS asks
        WHERE asks.tenant_id = app_tenant() AND asks.callee_id = ANY (:agents)
    ) AS callers,
    (
        SELECT count(DISTINCT turn.conversation_id)
        FROM runtime_toolstep AS step
        JOIN runtime_turn AS turn ON turn.tenant_id = step.tenant_id AND turn.id = step.turn_id
        JOIN conversations_conversation AS thread
          ON thread.tenant_id = turn.tenant_id AND thread.id = turn.conversation_id AND thread.channel <> 'playground'
        WHERE :skill::bigint IS NOT NULL
          AND step.tenant_id = app_tenant()
          AND
          -- include: apps/runtime/explain/queries/fragments/gave_approved_skill.sql
          AND step.arguments ->> 'skill_id' = :skill::text
          AND step.started_at > :since
    ) AS conversations
