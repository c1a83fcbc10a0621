"""The SQL of the invariants of what leaves a turn: calls that waited, unknown outcomes, questions to other agents, webhooks."""

from typing import Final

_CALL_COUNTS: Final = """
calls AS (
    SELECT turn.conversation_id, tool.name, tool.arguments, count(*) AS n
      FROM runtime_toolstep AS tool JOIN runtime_turn AS turn ON turn.id = tool.turn_id
     WHERE tool.repeat_safety = 'unsafe' AND position('__' IN tool.name) > 0 GROUP BY 1, 2, 3
), made AS (
    SELECT conversation_id, tool_name AS name, arguments, count(*) AS n
      FROM tools_toolapproval WHERE status = 'consumed' GROUP BY 1, 2, 3
)"""

_APPROVAL_COUNTS: Final = """
asked AS (
    SELECT turn_id, count(*) AS n FROM runtime_toolstep
     WHERE name = 'delegate' AND repeat_safety = 'transactional' AND NOT is_error GROUP BY 1
), opened AS (
    SELECT delegating_turn_id AS turn_id, count(*) AS n FROM conversations_conversation WHERE parent_id IS NOT NULL GROUP BY 1
)"""

EXTERNAL_INVARIANTS: Final = {
    "a write of others is called once by a yes, and never without one": f"""
        WITH {_CALL_COUNTS}
        SELECT 'conversation', conversation_id, name FROM calls FULL JOIN made USING (conversation_id, name, arguments)
         WHERE calls.n IS DISTINCT FROM made.n
    """,  # noqa: S608  # of constants
    "of a call that may have happened a person was asked": """
        SELECT 'tool step', tool.id FROM runtime_toolstep AS tool JOIN runtime_turn AS turn ON turn.id = tool.turn_id
         WHERE tool.state = 'unknown' AND NOT EXISTS (
            SELECT 1 FROM desk_escalation AS asked
             WHERE asked.conversation_id = turn.conversation_id AND asked.reason = 'unknown_outcome')
    """,
    "a question opens one conversation, in which it is put once": f"""
        WITH {_APPROVAL_COUNTS}
        SELECT 'turn', turn_id FROM asked FULL JOIN opened USING (turn_id) WHERE asked.n IS DISTINCT FROM opened.n
         UNION ALL
        SELECT 'conversation', child.id FROM conversations_conversation AS child
          LEFT JOIN conversations_inboundevent AS event ON event.conversation_id = child.id AND event.kind = 'task'
         WHERE child.parent_id IS NOT NULL GROUP BY child.id HAVING count(event.id) <> 1
    """,  # noqa: S608  # of constants
    "a question has one answer": """
        SELECT 'conversation', child.id FROM conversations_conversation AS child
          LEFT JOIN conversations_inboundevent AS event ON event.conversation_id = child.parent_id AND event.kind = 'answer'
               AND event.idempotency_key LIKE format('delegated-%s-%%', child.id)
         WHERE child.parent_id IS NOT NULL GROUP BY child.id HAVING count(event.id) <> 1
    """,
    "what a customer was told is noted once for each webhook": """
        SELECT 'message', message.id FROM conversations_message AS message
          JOIN conversations_conversation AS thread ON thread.id = message.conversation_id AND thread.parent_id IS NULL
          JOIN webhooks_webhook AS hook
            ON hook.tenant_id = message.tenant_id AND hook.on_reply AND hook.is_active AND hook.secret_id IS NOT NULL
          LEFT JOIN webhooks_delivery AS told
            ON told.webhook_id = hook.id AND told.event = 'reply' AND told.subject_id = message.id
         WHERE message.is_reply GROUP BY message.id, hook.id HAVING count(told.id) <> 1
         UNION ALL
        SELECT 'delivery', told.id FROM webhooks_delivery AS told LEFT JOIN conversations_message AS message
            ON message.id = told.subject_id AND message.conversation_id = told.conversation_id AND message.is_reply
         WHERE told.event = 'reply' AND message.id IS NULL
    """,
    "no webhook waits for anything": """
        SELECT 'delivery', id FROM webhooks_delivery WHERE status <> 'delivered'
    """,
}

DELIVERED_WEBHOOKS: Final = "SELECT conversation_id, id FROM webhooks_delivery WHERE status = 'delivered'"
