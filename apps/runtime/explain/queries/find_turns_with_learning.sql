-- Finds the latest turns whose conversations were pinned to a learning version.
--
-- Called by: exposure_of (apps/runtime/explain/exposure.py)
-- Runs as: operator, staff
-- One statement: the turns are looked up first and joined afterwards. Joined at once, the planner may walk all of them backwards.
-- Locks: nothing
-- Parameters:
--   :record  bigint   the learning version
--   :most    integer  turns to find at most
-- Returns: a row for each turn, the latest first:
--   session_id       bigint       its session
--   conversation_id  bigint       its conversation
--   at               timestamptz  when it began
--   part_id          integer      0: no part of the frozen prompt
--   is_left_out      boolean      whether it is off the record or a member's talk, and not shown

WITH pinned_turn AS MATERIALIZED (
    SELECT id, session_id, conversation_id, tenant_id, started_at
    FROM runtime_turn
    WHERE tenant_id = app_tenant()
      AND learning_version_id = :record
      AND session_id IS NOT NULL
    -- In the order of the index, though the first two are the same in all rows.
    ORDER BY tenant_id DESC, learning_version_id DESC, id DESC
    LIMIT :most
)
SELECT
    pinned_turn.session_id,
    pinned_turn.conversation_id,
    pinned_turn.started_at AS at,
    0 AS part_id,
    thread.off_the_record OR thread.member_user_id IS NOT NULL AS is_left_out
FROM pinned_turn
JOIN conversations_conversation AS thread
  ON thread.tenant_id = pinned_turn.tenant_id AND thread.id = pinned_turn.conversation_id
ORDER BY pinned_turn.id DESC
