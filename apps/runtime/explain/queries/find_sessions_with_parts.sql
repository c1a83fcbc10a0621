-- Finds the latest sessions that carried any of some prompt parts.
--
-- Called by: exposure_of (apps/runtime/explain/exposure.py)
-- Runs as: operator, staff
-- One statement: the sessions are looked up first and joined afterwards. Joined at once, the planner may walk all of them backwards.
-- Locks: nothing
-- Parameters:
--   :parts  bigint[]  the parts
--   :most   integer   sessions to find at most
-- Returns: a row for each session and part, the latest session first:
--   session_id       bigint       the session
--   conversation_id  bigint       its conversation
--   at               timestamptz  when its prompt was frozen
--   part_id          bigint       the part
--   is_left_out      boolean      whether it is off the record or a member's talk, and not shown

WITH placed_part AS MATERIALIZED (
    SELECT session_id, part_id FROM find_sessions_with_parts(:parts::bigint[], :most)
)
SELECT
    session.id AS session_id,
    session.conversation_id,
    session.snapshot_at AS at,
    placed_part.part_id,
    thread.off_the_record OR thread.member_user_id IS NOT NULL AS is_left_out
FROM placed_part
JOIN runtime_session AS session ON session.id = placed_part.session_id
JOIN conversations_conversation AS thread ON thread.tenant_id = session.tenant_id AND thread.id = session.conversation_id
ORDER BY session.id DESC
