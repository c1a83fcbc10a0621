-- Finds an agent's failed turns of which no lesson was captured yet, the oldest first.
--
-- Called by: capture_agent_lessons (apps/learning/lessons/lesson_capture.py)
-- Runs as: worker
-- One statement: a single read.
-- Locks: nothing
-- Parameters:
--   :agent  bigint   the agent
--   :limit  integer  turns to find
-- Returns: a row for each turn:
--   id               bigint       the turn
--   conversation_id  bigint       its conversation
--   finished_at      timestamptz  when it failed
--   failure_code     text         why, as a code
--   failure          text         why, in a sentence

SELECT turn.id, turn.conversation_id, turn.finished_at, turn.failure_code, turn.failure
FROM runtime_turn AS turn
JOIN conversations_conversation AS thread
  ON thread.tenant_id = turn.tenant_id AND thread.id = turn.conversation_id
WHERE turn.tenant_id = app_tenant()
  AND thread.agent_id = :agent
  AND turn.status = 'failed'
  AND NOT thread.off_the_record
  AND thread.quarantined_at IS NULL
  AND thread.member_user_id IS NULL
  AND NOT EXISTS (
      SELECT 1
      FROM learning_lessoncase AS known
      WHERE known.tenant_id = turn.tenant_id
        AND known.source = 'failed_turn'
        AND known.source_id = turn.id
  )
ORDER BY turn.id
LIMIT :limit
