"""What an agent did of late, one line for each conversation that ended: what became of it, never what was said in it.

These lines stand in the prompt of every customer, and a model may rewrite them into what lasts. So they are made of states, of
counts, and of names that people chose. No word of a customer, an agent or a tool's answer is among them.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from django.db import connection

from apps.conversations.repeat_contacts import IS_REPEAT_CONTACT
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.learning.distillation.tier_schedule import LogLine
from apps.learning.distillation.tier_text import EndedConversation, session_log_line

# More than fit into the budget of the tier that is made of them.
MAX_CONVERSATIONS: Final = 400

# A tool that no session offered is a name that the model made up, and stays out; so does a skill that no person approved.
_CONVERSATION_FACTS_SQL: Final = f"""
SELECT coalesce(thread.resolved_at, thread.updated_at) AS at, jsonb_build_object(
    'channel', thread.channel, 'status', thread.status, 'outcome', thread.outcome,
    'is_reopened', EXISTS (SELECT 1 FROM conversations_conversation AS earlier CROSS JOIN LATERAL (SELECT thread.*) AS later
        WHERE {IS_REPEAT_CONTACT}),
    'customer_messages', (SELECT count(*) FROM conversations_message AS message WHERE message.tenant_id = thread.tenant_id
        AND message.conversation_id = thread.id AND message.sender = 'customer'),
    'tools', (SELECT jsonb_agg(DISTINCT called.name) FROM called WHERE called.conversation_id = thread.id),
    'skills', (SELECT jsonb_agg(DISTINCT skill.name) FROM called JOIN skills_skill AS skill
        ON skill.tenant_id = thread.tenant_id AND skill.id::text = called.skill_id AND skill.agent_id = thread.agent_id
        WHERE called.conversation_id = thread.id AND called.gave_approved AND skill.approved_by <> ''),
    'escalations', (SELECT jsonb_agg(DISTINCT question.reason) FROM desk_escalation AS question
        WHERE question.tenant_id = thread.tenant_id AND question.conversation_id = thread.id),
    'edited_drafts', (SELECT count(*) FROM desk_draft AS draft WHERE draft.tenant_id = thread.tenant_id
        AND draft.conversation_id = thread.id AND draft.status = 'sent_edited'),
    'discarded_drafts', (SELECT count(*) FROM desk_draft AS draft WHERE draft.tenant_id = thread.tenant_id
        AND draft.conversation_id = thread.id AND draft.status = 'discarded'))
  FROM thread ORDER BY at DESC, thread.id DESC
"""  # noqa: S608  # of constants
_LATEST_CONVERSATIONS_SQL: Final = """
WITH thread AS MATERIALIZED (
    SELECT * FROM conversations_conversation WHERE tenant_id = app_tenant() AND agent_id = %(agent)s AND status <> 'open'
       AND origin = 'live' AND NOT off_the_record AND member_user_id IS NULL AND parent_id IS NULL
     ORDER BY coalesce(resolved_at, updated_at) DESC, id DESC LIMIT %(limit)s
), called AS MATERIALIZED (
    SELECT message.conversation_id, call ->> 'name' AS name, call -> 'arguments' ->> 'skill_id' AS skill_id,
           call ->> 'name' = 'get_skill' OR (call ->> 'name' = 'skill_view' AND call ->> 'result' LIKE '%%"status":"approved"%%')
               AS gave_approved
      FROM thread JOIN conversations_message AS message
        ON message.tenant_id = thread.tenant_id AND message.conversation_id = thread.id,
           jsonb_array_elements(message.tool_calls) AS call
     WHERE EXISTS (SELECT 1 FROM runtime_session AS session WHERE session.tenant_id = thread.tenant_id
        AND session.conversation_id = thread.id AND session.tool_names ? (call ->> 'name'))
)"""


def read_session_log(agent_id: int, *, actor: Actor) -> tuple[LogLine, ...]:
    """The latest conversations that ended on the record, the newest first (R169, R178)."""
    with acting_as(actor), connection.cursor() as cursor:
        cursor.execute(
            _LATEST_CONVERSATIONS_SQL + _CONVERSATION_FACTS_SQL, {"agent": agent_id, "limit": MAX_CONVERSATIONS}
        )
        return tuple(
            LogLine(at, session_log_line(_parse_conversation(json.loads(facts_json))))
            for at, facts_json in cursor.fetchall()
        )


def _parse_conversation(facts: Mapping[str, Any]) -> EndedConversation:
    names = {name: tuple(facts[name] or ()) for name in ("tools", "skills", "escalations")}
    return EndedConversation(**{**facts, **names})
