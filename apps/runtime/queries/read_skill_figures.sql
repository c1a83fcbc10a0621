-- Reads what became of approved skills: how often they were read, and how conversations ended with and without them.
--
-- Called by: read_curations (apps/runtime/skill_retirement.py)
-- Runs as: operator, staff, worker
-- One statement: one for all skills of a page, however many.
-- Locks: nothing
-- Parameters:
--   :skills  bigint[]     the skills
--   :now     timestamptz  the present
--   :most    integer      conversations of each agent to compare at most, the latest
-- Returns: a row for each approved skill that is not in quarantine, in the order of ids:
--   id                    bigint       the skill
--   approved_at           timestamptz  when it was approved
--   last_used_at          timestamptz  when it was read last, null for never
--   retained_until        timestamptz  until when a person keeps it, null for no such date
--   reads_30              bigint       conversations that read it within 30 days
--   reads_90              bigint       conversations that read it within 90 days
--   conversations_since   bigint       conversations of its agent that began since it was approved or read last
--   ended_with            bigint       conversations that ended within 90 days and had read it
--   ended_badly_with      bigint       those of them that ended badly
--   ended_without         bigint       other conversations of its agent that ended within 90 days
--   ended_badly_without   bigint       those of them that ended badly

WITH live_skill AS MATERIALIZED (
    SELECT id, tenant_id, agent_id, approved_at, retained_until
    FROM skills_skill
    WHERE tenant_id = app_tenant()
      AND status = 'approved'
      AND quarantined_at IS NULL
      AND id = ANY (:skills)
), skill_read AS MATERIALIZED (
    -- Reads by external agents count as use; they are in no turn of ours, so no conversation of theirs is compared.
    SELECT step.arguments ->> 'skill_id' AS skill, turn.conversation_id, max(step.started_at) AS at
    FROM runtime_toolstep AS step
    JOIN runtime_turn AS turn ON turn.tenant_id = step.tenant_id AND turn.id = step.turn_id
    WHERE step.tenant_id = app_tenant()
      AND
      -- include: apps/runtime/explain/queries/fragments/gave_approved_skill.sql
      AND step.started_at > :now - interval '90 days'
    GROUP BY skill, turn.conversation_id
), latest_thread AS MATERIALIZED (
    SELECT thread.*
    FROM (SELECT DISTINCT agent_id FROM live_skill) AS agent
    CROSS JOIN LATERAL (
        SELECT known.*
        FROM conversations_conversation AS known
        WHERE known.tenant_id = app_tenant()
          AND known.agent_id = agent.agent_id
          AND known.origin = 'live'
          AND known.parent_id IS NULL
          AND known.member_user_id IS NULL
        ORDER BY known.id DESC
        LIMIT :most
    ) AS thread
), ended_thread AS MATERIALIZED (
    -- With an offset PostgreSQL looks up each conversation's escalations and later contacts by their keys; without it, it joins all
    -- of the tenant's first.
    SELECT
        thread.id,
        thread.agent_id,
        thread.status = 'abandoned'
            OR thread.outcome = 'unsolved'
            OR EXISTS (
                SELECT 1
                FROM desk_escalation AS question
                WHERE question.tenant_id = thread.tenant_id AND question.conversation_id = thread.id
                OFFSET 0
            )
            OR EXISTS (
                SELECT 1
                FROM conversations_conversation AS later
                CROSS JOIN LATERAL (SELECT thread.*) AS earlier
                WHERE
                    -- include: apps/conversations/queries/fragments/is_repeat_contact.sql
                OFFSET 0
            ) AS ended_badly
    FROM latest_thread AS thread
    WHERE thread.status <> 'open'
      AND NOT thread.off_the_record
      AND coalesce(thread.resolved_at, thread.updated_at) > :now - interval '90 days'
), agent_total AS (
    SELECT agent_id, count(*) AS ended, count(*) FILTER (WHERE ended_badly) AS ended_badly
    FROM ended_thread
    GROUP BY agent_id
), skill_total AS (
    SELECT
        skill_read.skill,
        count(*) AS reads_90,
        count(*) FILTER (WHERE skill_read.at > :now - interval '30 days') AS reads_30,
        count(ended_thread.id) AS ended,
        count(*) FILTER (WHERE ended_thread.ended_badly) AS ended_badly
    FROM skill_read
    LEFT JOIN ended_thread ON ended_thread.id = skill_read.conversation_id
    GROUP BY skill_read.skill
)
SELECT
    live_skill.id,
    live_skill.approved_at,
    used.last_used_at,
    live_skill.retained_until,
    coalesce(skill_total.reads_30, 0) AS reads_30,
    coalesce(skill_total.reads_90, 0) AS reads_90,
    (
        SELECT count(*)
        FROM (
            SELECT thread.created_at
            FROM conversations_conversation AS thread
            WHERE thread.tenant_id = live_skill.tenant_id
              AND thread.agent_id = live_skill.agent_id
              AND thread.origin = 'live'
              AND thread.parent_id IS NULL
              AND thread.member_user_id IS NULL
            ORDER BY thread.id DESC
            LIMIT :most
        ) AS latest
        WHERE latest.created_at > greatest(live_skill.approved_at, used.last_used_at)
    ) AS conversations_since,
    coalesce(skill_total.ended, 0) AS ended_with,
    coalesce(skill_total.ended_badly, 0) AS ended_badly_with,
    coalesce(agent_total.ended, 0) - coalesce(skill_total.ended, 0) AS ended_without,
    coalesce(agent_total.ended_badly, 0) - coalesce(skill_total.ended_badly, 0) AS ended_badly_without
FROM live_skill
LEFT JOIN skills_skilluse AS used ON used.tenant_id = live_skill.tenant_id AND used.skill_id = live_skill.id
LEFT JOIN skill_total ON skill_total.skill = live_skill.id::text
LEFT JOIN agent_total ON agent_total.agent_id = live_skill.agent_id
ORDER BY live_skill.id
