"""The statement that takes a turn, and brings all that the turn needs before its first call: one look, at one moment.

Each answer is one line of JSON. What is read beside the claim is what stood when the statement began; nobody but the claimer
writes the conversation's own rows from then on.
"""

from typing import Final

from apps.learning.lessons.example_rules import KEYWORD_LETTERS, MIN_WORD_LETTERS
from apps.runtime.tools.tool_server_tools import SERVER_TOOLS_CLAUSE
from apps.runtime.turn_store.claimed_endpoint import ENDPOINT_CLAUSE
from apps.runtime.turn_store.journal_sql import CLAIM_SPENDING
from apps.tenants.authentication.actor_resolution import GRANTS_QUERY

# A turn whose lease ran out goes on, if only to its end where a colleague answers by now; otherwise what waits and is due
# begins one. Events are taken only while locked, so no turn can begin for events that another worker answers meanwhile. One that
# somebody else looks at is waited for, never left out: that may come to nothing, and a later event would be answered before an
# earlier one.
_TAKE_TURN: Final = """
WITH thread AS (
    SELECT thread.id, thread.tenant_id, thread.taken_over_at, thread.agent_id,
           agent.has_learning AND (thread.member_user_id IS NULL OR thread.channel = 'playground') AS has_learning
      FROM conversations_conversation AS thread
      JOIN tenants_agent AS agent ON agent.id = thread.agent_id AND agent.tenant_id = thread.tenant_id
      JOIN tenants_tenant AS tenant ON tenant.id = thread.tenant_id
     WHERE thread.id = %(conversation)s AND %(only)s IN ('', tenant.key || '/' || agent.key)
       AND NOT is_kill_switch_on(%(stops)s, thread.tenant_id, thread.id)
       -- Where the agent runs elsewhere a worker only ends what nobody reported, or what a colleague answers by now.
       AND (thread.has_external_agent = %(external)s OR thread.has_external_agent AND (
               thread.taken_over_at IS NOT NULL OR EXISTS (
                   SELECT 1 FROM runtime_turn AS turn WHERE turn.tenant_id = thread.tenant_id
                      AND turn.conversation_id = thread.id AND turn.status = 'running'
                      AND turn.deadline_at <= statement_timestamp())
               OR EXISTS (
                   SELECT 1 FROM conversations_inboundevent AS event WHERE event.tenant_id = thread.tenant_id
                      AND event.conversation_id = thread.id AND event.turn_id IS NULL
                      AND event.due_at <= statement_timestamp() - %(external_patience)s::interval)))
), over AS (
    UPDATE runtime_turn AS turn SET fence = turn.fence + 1, attempts = turn.attempts + 1,
           crashes = turn.crashes + CASE WHEN turn.is_released THEN 0 ELSE 1 END, is_released = false,
           lease_until = statement_timestamp() + %(lease)s::interval, step_started_at = statement_timestamp(),
           -- A turn that an operator or the day's budget held has not grown old by itself.
           deadline_at = turn.deadline_at
               + CASE WHEN turn.failure_code = ANY(%(stopped)s) THEN statement_timestamp() - turn.lease_until ELSE interval '0' END
      FROM thread
     WHERE turn.tenant_id = thread.tenant_id AND turn.conversation_id = thread.id AND turn.status = 'running'
       AND turn.lease_until <= statement_timestamp() AND (turn.run_at <= statement_timestamp() OR %(external)s)
    RETURNING turn.*
), waiting AS (
    SELECT event.id, event.due_at FROM conversations_inboundevent AS event JOIN thread
        ON event.tenant_id = thread.tenant_id AND event.conversation_id = thread.id
     WHERE event.turn_id IS NULL ORDER BY event.id FOR UPDATE OF event
), begun AS (
    INSERT INTO runtime_turn (tenant_id, conversation_id, status, outcome, round, fence, attempts, crashes, failed_calls,
                              is_released, lease_until, run_at, deadline_at, current_step, step_started_at, started_at,
                              failure_code, failure, learning_version_id)
    SELECT thread.tenant_id, thread.id, 'running', '', 1, 1, 1, 0, 0, false, statement_timestamp() + %(lease)s::interval,
           statement_timestamp(), statement_timestamp() + %(patience)s::interval, 1, statement_timestamp(),
           statement_timestamp(), '', '',
           -- The first turn that an agent takes pins what is active then, if anything is; the others read that one (R146).
           CASE WHEN NOT thread.has_learning THEN NULL WHEN first.id IS NOT NULL THEN first.learning_version_id ELSE (
               SELECT version.id FROM learning_learningversion AS version WHERE version.tenant_id = thread.tenant_id
                  AND version.agent_id = thread.agent_id AND version.status = 'active') END
      FROM thread LEFT JOIN LATERAL (
               SELECT turn.id, turn.learning_version_id FROM runtime_turn AS turn
                WHERE turn.tenant_id = thread.tenant_id AND turn.conversation_id = thread.id AND turn.session_id IS NOT NULL
                ORDER BY turn.id LIMIT 1) AS first ON true
     WHERE thread.taken_over_at IS NULL AND NOT EXISTS (SELECT 1 FROM over)
       AND ((SELECT min(due_at) FROM waiting) <= statement_timestamp() OR %(external)s AND EXISTS (SELECT 1 FROM waiting))
    ON CONFLICT (tenant_id, conversation_id) WHERE status = 'running' DO NOTHING
    RETURNING *
), claimed AS (
    SELECT * FROM over UNION ALL SELECT * FROM begun
), taken AS (
    UPDATE conversations_inboundevent AS event SET turn_id = claimed.id FROM claimed, waiting
     WHERE event.id = waiting.id AND claimed.session_id IS NULL AND NOT EXISTS (
         SELECT 1 FROM runtime_modelcall AS call WHERE call.tenant_id = claimed.tenant_id AND call.turn_id = claimed.id)
    RETURNING event.*
"""

# The session of the steps behind, else the conversation's latest, which may be over.
_SESSION: Final = """
), session AS (
    SELECT session.* FROM claimed JOIN runtime_session AS session
        ON session.tenant_id = claimed.tenant_id AND session.conversation_id = claimed.conversation_id
     ORDER BY session.id = claimed.session_id DESC NULLS LAST, session.id DESC LIMIT 1
), parts AS (
    SELECT place.position, part.*, part.id || ':' || md5(concat(part.slot, part.sha256, part.text, part.segments)) AS mark
      FROM (SELECT tenant_id, position, part_id FROM runtime_sessionpart
             WHERE (tenant_id, session_id) = (SELECT tenant_id, id FROM session)
            UNION ALL SELECT tenant_id, -1, tools_id FROM session) AS place
      JOIN runtime_snapshotpart AS part ON part.tenant_id = place.tenant_id AND part.id = place.part_id
"""

# What a call left in the prompt cache, and what it was billed for; by whom.
_CALL_TRACES: Final = """
    json_build_object('requested_at', call.requested_at, 'cache_entries', call.cache_entries, 'conversation', turn.conversation_id,
                      'cached_tokens', call.cache_read_tokens + call.cache_write_5m_tokens + call.cache_write_1h_tokens)"""

_OWN_CALLS: Final = f"""
), own AS MATERIALIZED (
    SELECT call.requested_at, call.agent_prefix_sha256, call.workspace_prefix_sha256,
           {_CALL_TRACES} AS told, turn.session_id IS NOT NULL AS is_kept,
           json_build_object('session', turn.session_id, 'status', turn.status, 'is_stand_in', call.is_stand_in,
                             'requested_at', call.requested_at, 'cache_entries', call.cache_entries,
                             'cache_ledger', call.cache_ledger) AS before
      FROM (SELECT turn.* FROM claimed JOIN runtime_turn AS turn
                ON turn.tenant_id = claimed.tenant_id AND turn.conversation_id = claimed.conversation_id
             ORDER BY turn.id DESC LIMIT %(own_turns)s) AS turn
      JOIN runtime_modelcall AS call ON call.tenant_id = turn.tenant_id AND call.turn_id = turn.id
     WHERE call.requested_at > statement_timestamp() - interval '1 hour'
), last AS (
    SELECT agent_prefix_sha256, workspace_prefix_sha256 FROM own ORDER BY requested_at DESC LIMIT 1
)"""


def _traces_by_prefix(column: str, sha256: str) -> str:
    """What the latest calls of the hour left whose prompts begin with the same bytes."""
    return f"""(
        SELECT json_agg(told) FROM (
            SELECT {_CALL_TRACES} AS told FROM runtime_modelcall AS call
              JOIN runtime_turn AS turn ON turn.tenant_id = call.tenant_id AND turn.id = call.turn_id
             WHERE call.tenant_id = %(tenant)s AND call.{column} = {sha256}
               AND call.requested_at > statement_timestamp() - interval '1 hour'
             ORDER BY call.requested_at DESC LIMIT %(others_calls)s) AS lately)"""


_EARLIER_CALLS: Final = f"""
    'earlier', json_build_object(
        'own', (SELECT json_agg(told) FROM own),
        'before', (SELECT before FROM own WHERE is_kept ORDER BY requested_at DESC LIMIT 1),
        'agent_prefix_sha256', (SELECT agent_prefix_sha256 FROM last),
        'workspace_prefix_sha256', (SELECT workspace_prefix_sha256 FROM last),
        'shared', {_traces_by_prefix("agent_prefix_sha256", "(SELECT agent_prefix_sha256 FROM last)")},
        'workspace', {_traces_by_prefix("workspace_prefix_sha256", "(SELECT workspace_prefix_sha256 FROM last)")})"""

_JOURNALED_STEPS: Final = """
    'calls', CASE WHEN claimed.attempts > 1 THEN (
        SELECT json_agg(json_build_object('step', call.step, 'user_turn', call.user_turn,
                                          'assistant_message', call.assistant_message, 'text', call.text,
                                          'stop_reason', call.stop_reason) ORDER BY call.step)
          FROM runtime_modelcall AS call
         WHERE call.tenant_id = claimed.tenant_id AND call.turn_id = claimed.id AND call.round = claimed.round) END,
    'tools', CASE WHEN claimed.attempts > 1 THEN (
        SELECT json_agg(json_build_object('step', tool.step, 'position', tool.position, 'call_id', tool.call_id, 'name', tool.name,
                                          'arguments', tool.arguments, 'repeat_safety', tool.repeat_safety, 'state', tool.state,
                                          'result', tool.result, 'is_error', tool.is_error))
          FROM runtime_toolstep AS tool
         WHERE tool.tenant_id = claimed.tenant_id AND tool.turn_id = claimed.id AND tool.round = claimed.round) END"""

_SESSION_AND_SETTINGS: Final = f"""
    'session', (SELECT to_json(session) FROM session),
    'last_turn_at', (SELECT turn.finished_at FROM session JOIN runtime_turn AS turn
                         ON turn.tenant_id = session.tenant_id AND turn.session_id = session.id
                      WHERE turn.finished_at IS NOT NULL ORDER BY turn.id DESC LIMIT 1),
    'parts', (SELECT json_agg(json_build_object(
                  'position', position, 'id', id, 'mark', mark, 'slot', slot, 'sha256', sha256,
                  'text', CASE WHEN mark <> ALL (%(known)s) THEN text END,
                  'segments', CASE WHEN mark <> ALL (%(known)s) THEN segments END) ORDER BY position) FROM parts),
    'grants', (SELECT json_agg(json_build_array(said.place, said.agent_id, said.names))
                 FROM ({GRANTS_QUERY}) AS said (place, agent_id, names)),
    'settings', (SELECT json_build_object('timezone', timezone, 'is_customer_proof_required', is_customer_proof_required)
                   FROM tenants_tenantsettings WHERE tenant_id = %(tenant)s),
    'rules', (SELECT json_agg(json_build_array(rule.send_mode, rule.channel, rule.skill_id) ORDER BY rule.id)
                FROM desk_sendrule AS rule WHERE rule.tenant_id = %(tenant)s AND rule.agent_id = agent.id),
    'is_sending_paused', is_kill_switch_on(%(sending)s, thread.tenant_id, thread.id),
    'turns', CASE WHEN agent.has_learning AND (thread.channel = 'playground' OR NOT thread.off_the_record) THEN (
        SELECT count(*) FROM runtime_turn AS turn
         WHERE turn.tenant_id = %(tenant)s AND turn.conversation_id = thread.id AND turn.status = 'done') ELSE 0 END,
    'escalations', (SELECT count(*) FROM desk_escalation AS escalation
                     WHERE escalation.tenant_id = %(tenant)s AND escalation.conversation_id = thread.id
                       AND escalation.status = 'open')"""

# What the conversation is pinned to, or what was withdrawn of that and leaves its history; and what people wrote in the place of
# drafts for this customer and nobody else (R145, R146, R164).
_LEARNING: Final = """
    'learning', (SELECT json_build_object('id', version.id, 'version', version.version, 'body', version.body,
                                          'approver', version.approved_by, 'taint', version.taint)
                   FROM learning_learningversion AS version
                  WHERE version.tenant_id = %(tenant)s AND version.id = claimed.learning_version_id
                    AND version.status IN ('active', 'retired') AND agent.has_learning),
    'withdrawn', (SELECT version.body FROM learning_learningversion AS version
                   WHERE version.tenant_id = %(tenant)s AND version.status = 'withdrawn' AND version.id = (
                       SELECT turn.learning_version_id FROM runtime_turn AS turn
                        WHERE turn.tenant_id = %(tenant)s AND turn.conversation_id = thread.id AND turn.session_id IS NOT NULL
                        ORDER BY turn.id LIMIT 1)),
    'examples', CASE WHEN agent.has_learning AND thread.end_user_key <> '' THEN (
        SELECT json_agg(json_build_object('id', past.id, 'version', past.version, 'draft', past.text, 'sent', past.sent_text,
                                          'by', past.decided_by) ORDER BY past.id)
          FROM (SELECT draft.* FROM conversations_conversation AS other JOIN desk_draft AS draft
                    ON draft.tenant_id = other.tenant_id AND draft.conversation_id = other.id
                 WHERE other.tenant_id = %(tenant)s AND other.end_user_key = thread.end_user_key AND other.end_user_key <> ''
                   AND other.agent_id = thread.agent_id AND NOT other.off_the_record AND draft.status = 'sent_edited'
                 ORDER BY draft.id DESC LIMIT %(examples)s) AS past) END"""

# What people keep to be shown with any customer, where the agent's page asks for it: first the one of whose situation most words
# were just written, and of equals the latest (Z-12).
_EXAMPLE_BANK: Final = f"""
    'bank', CASE WHEN agent.has_learning AND agent.has_examples
                  AND (thread.member_user_id IS NULL OR thread.channel = 'playground') THEN (
        SELECT json_agg(json_build_object('id', kept.id, 'version', kept.version, 'situation', kept.situation, 'draft', kept.draft,
                                          'correction', kept.correction, 'by', kept.approved_by, 'taint', kept.taint)
                        ORDER BY kept.shared DESC, kept.id DESC)
          FROM (SELECT example.*, count(said.word) AS shared
                  FROM learning_example AS example
                  LEFT JOIN LATERAL jsonb_array_elements_text(example.keywords) AS telling (word) ON true
                  LEFT JOIN (
                      SELECT DISTINCT left(spoken.found[1], {KEYWORD_LETTERS}) AS word
                        FROM (SELECT text FROM taken UNION ALL
                              SELECT text FROM conversations_inboundevent AS earlier
                               WHERE earlier.tenant_id = claimed.tenant_id AND earlier.turn_id = claimed.id) AS event
                       CROSS JOIN LATERAL regexp_matches(
                           lower(left(event.text, %(compared)s)), '[[:alnum:]]{{{MIN_WORD_LETTERS},}}', 'g') AS spoken (found)
                  ) AS said ON said.word = telling.word
                 WHERE example.tenant_id = %(tenant)s AND example.agent_id = agent.id AND example.status = 'approved'
                 GROUP BY example.id ORDER BY shared DESC, example.id DESC LIMIT %(examples)s) AS kept) END"""

# Of a long conversation only the end is replayed, and only that much is read.
_HISTORY: Final = """
    'messages', (SELECT count(*) FROM conversations_message AS message
                  WHERE message.tenant_id = %(tenant)s AND message.conversation_id = thread.id AND message.api_message IS NOT NULL),
    'history', (SELECT json_agg(json_build_array(recent.api_message, recent.calls) ORDER BY recent.position) FROM (
                    SELECT message.api_message, message.position, CASE WHEN message.sender = 'tool' THEN (
                               SELECT called.tool_calls FROM conversations_message AS called
                                WHERE called.tenant_id = message.tenant_id AND called.conversation_id = message.conversation_id
                                  AND called.position = message.position - 1) END AS calls
                      FROM conversations_message AS message
                     WHERE message.tenant_id = %(tenant)s AND message.conversation_id = thread.id
                       AND message.api_message IS NOT NULL
                     ORDER BY message.position DESC LIMIT %(history)s) AS recent)"""

# Who asked here, and what the answer has cost so far: other turns, and what was set aside for agents asked in them.
_CALLING_AGENT: Final = """
    'requested_by', (SELECT json_build_object(
                     'agent_id', caller.id, 'version', caller.version, 'title', caller.title,
                     'spent', (SELECT coalesce(sum(call.cost_micro_usd), 0)::bigint FROM runtime_turn AS other
                                 JOIN runtime_modelcall AS call ON call.tenant_id = other.tenant_id AND call.turn_id = other.id
                                WHERE other.tenant_id = %(tenant)s AND other.conversation_id = thread.id
                                  AND other.id <> claimed.id)
                          + (SELECT coalesce(sum(below.budget_micro_usd), 0)::bigint FROM conversations_conversation AS below
                              WHERE below.tenant_id = %(tenant)s AND below.parent_id = thread.id
                                AND below.delegating_turn_id <> claimed.id))
                   FROM conversations_conversation AS above JOIN tenants_agent AS caller
                       ON caller.tenant_id = above.tenant_id AND caller.id = above.agent_id
                  WHERE above.tenant_id = %(tenant)s AND above.id = thread.parent_id)"""

CLAIM: Final = f"""{_TAKE_TURN}{_SESSION}{_OWN_CALLS}
SELECT json_build_object(
    'now', statement_timestamp(),
    'turn', to_json(claimed),
    'conversation', to_json(thread),
    'agent', to_json(agent)::text,
    'events', (SELECT json_agg(to_json(event) ORDER BY event.id) FROM (
                   SELECT * FROM taken UNION ALL
                   SELECT * FROM conversations_inboundevent AS earlier
                    WHERE earlier.tenant_id = claimed.tenant_id AND earlier.turn_id = claimed.id) AS event),
    {_JOURNALED_STEPS},{_SESSION_AND_SETTINGS},{_CALLING_AGENT},{_LEARNING},{_EXAMPLE_BANK},{_HISTORY},{ENDPOINT_CLAUSE},{SERVER_TOOLS_CLAUSE},{_EARLIER_CALLS},{CLAIM_SPENDING})::text
  FROM claimed
  JOIN conversations_conversation AS thread ON thread.tenant_id = claimed.tenant_id AND thread.id = claimed.conversation_id
  JOIN tenants_agent AS agent ON agent.tenant_id = thread.tenant_id AND agent.id = thread.agent_id
"""

# The same of others' calls where the prompt is not the one of the call before.
EARLIER_CALLS: Final = f"""
SELECT json_build_object('shared', {_traces_by_prefix("agent_prefix_sha256", "%(shared)s")},
                         'workspace', {_traces_by_prefix("workspace_prefix_sha256", "%(workspace)s")})::text
"""
