-- Reads what an agent was given to read by customers and tools, as far as it may see it: its own new texts are compared with it (Z-25).
--
-- Called by: _fetch_heard_rows (apps/runtime/taint_attribution.py)
-- Runs as: agent, worker
-- One statement: an agent waits for it at each of its writes.
-- Locks: nothing
-- Parameters:
--   :tenant        bigint   the tenant
--   :agent         bigint   the agent
--   :conversation  bigint   the conversation at hand, null outside of a turn. One without a customer is in no list of an agent's
--                           conversations, so it is read by itself.
--   :member        bigint   the member that the agent talks with, null for none
--   :customers     text[]   keys of the customers whose notes the agent may see, null for all
--   :foreign       text[]   taints of texts that are not the agent's own
--   :rows          integer  rows of each kind: one more than are compared, which says that there are more
-- Returns: a row for each text, the latest of each kind first:
--   kind         text    its kind
--   texts        text[]  its words
--   sender_name  text    who wrote it, null where no name is known
--   calls        text    tool calls with their results as JSON, null for other kinds

WITH own_thread AS NOT MATERIALIZED (
    SELECT id
    FROM conversations_conversation
    WHERE tenant_id = :tenant
      AND agent_id = :agent
      AND (member_user_id IS NULL OR member_user_id = :member)
)
(
    -- Another agent's words came of what its customer wrote, so they count as a customer's.
    SELECT 'event', ARRAY[text], sender_name, NULL::text
    FROM conversations_inboundevent
    WHERE conversation_id = :conversation AND kind NOT IN ('operator', 'schedule')
    ORDER BY id DESC
    LIMIT :rows
)
UNION ALL
(
    SELECT 'event of the agent', ARRAY[text], sender_name, NULL
    FROM conversations_inboundevent
    WHERE conversation_id IN (SELECT id FROM own_thread) AND kind NOT IN ('operator', 'schedule')
    ORDER BY id DESC
    LIMIT :rows
)
UNION ALL
(
    SELECT 'message', ARRAY[text], NULL, NULL
    FROM conversations_message
    WHERE conversation_id IN (SELECT id FROM own_thread) AND sender IN ('customer', 'peer')
    ORDER BY id DESC
    LIMIT :rows
)
UNION ALL
(
    SELECT 'calls', '{}', NULL, tool_calls::text
    FROM conversations_message
    WHERE conversation_id IN (SELECT id FROM own_thread) AND tool_calls <> '[]'::jsonb
    ORDER BY id DESC
    LIMIT :rows
)
UNION ALL
(
    SELECT 'profile', ARRAY[preferences, notes], NULL, NULL
    FROM memory_customerprofile
    WHERE tenant_id = :tenant
    ORDER BY id DESC
    LIMIT :rows
)
-- From here on, customers' words that the agent has read again in its own notes and memory.
UNION ALL
(
    SELECT 'note', ARRAY[text], NULL, NULL
    FROM notebook_note
    WHERE tenant_id = :tenant
      AND agent_id = :agent
      AND status = 'open'
      AND (:customers::text[] IS NULL OR end_user_key = ANY(:customers))
      AND (taint = ANY(:foreign) OR end_user_key <> '')
    ORDER BY id DESC
    LIMIT :rows
)
UNION ALL
(
    SELECT 'memory', ARRAY[body], NULL, NULL
    FROM memory_agentmemory
    WHERE tenant_id = :tenant AND agent_id = :agent AND taint = ANY(:foreign)
    ORDER BY id DESC
    LIMIT :rows
)
UNION ALL
(
    SELECT 'block', ARRAY[body], NULL, NULL
    FROM memory_memoryblock
    WHERE tenant_id = :tenant AND agent_id = :agent AND taint = ANY(:foreign)
    ORDER BY id DESC
    LIMIT :rows
)
