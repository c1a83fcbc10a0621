"""SQL of the turn journal: claim, write, finish and account for turns.

Every write begins at `held`: the turn's row, locked, if the writer still holds its fence. One statement locks, checks and writes,
so a worker that was overtaken cannot act between a check and a write. Times are the statement's, by the database's clock;
`now()` would be the transaction's.

Spend is counted by the statement that writes the call. It is read when a turn is claimed and when its step is kept.
"""

from typing import Final

from apps.webhooks.outbox import outbox_insert_sql
from apps.webhooks.rules import WebhookEvent

_TOKEN_COLUMNS: Final = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
)

# Counts the calls that the same statement writes, in the day's row of their agent; a statement without calls leaves it alone.
COUNT_SPEND: Final = f""", spent AS (
    INSERT INTO runtime_spend AS spend (tenant_id, agent_id, day, calls, unpriced_calls, cost_micro_usd,
                                        {", ".join(_TOKEN_COLUMNS)})
    SELECT held.tenant_id, thread.agent_id, get_tenant_today(held.tenant_id), count(*), count(*) - count(call.cost_micro_usd),
           coalesce(sum(call.cost_micro_usd), 0), {", ".join(f"sum(call.{name})" for name in _TOKEN_COLUMNS)}
      FROM held JOIN conversations_conversation AS thread
          ON thread.tenant_id = held.tenant_id AND thread.id = held.conversation_id,
           jsonb_populate_recordset(NULL::runtime_modelcall, %(calls)s::jsonb) AS call
     GROUP BY held.tenant_id, thread.agent_id
        ON CONFLICT (tenant_id, agent_id, day) DO UPDATE SET calls = spend.calls + excluded.calls,
           unpriced_calls = spend.unpriced_calls + excluded.unpriced_calls,
           cost_micro_usd = spend.cost_micro_usd + excluded.cost_micro_usd,
           {", ".join(f"{name} = spend.{name} + excluded.{name}" for name in _TOKEN_COLUMNS)}
)"""  # noqa: S608  # of constants


_OLDER_TURNS: Final = """(
               SELECT count(*) FROM runtime_turn AS older
                WHERE older.tenant_id = settings.tenant_id AND older.status = 'running' AND NOT older.is_released
                  AND older.lease_until > statement_timestamp() AND older.id < {turn}.id)"""


def day_left_sql(turn: str) -> str:
    """What a turn may still take from the tenant's budget of the day, without what the same statement spends; null without one.

    A call of the day's mean price is held back for each older turn that is being answered, so that many at once do not spend
    together what each found left alone. The oldest goes on with what there is, and none waits for a younger one.
    """
    return f"""(SELECT CASE WHEN settings.day_budget_micro_usd IS NOT NULL THEN settings.day_budget_micro_usd - (
           SELECT coalesce(sum(spend.cost_micro_usd + spend.learning_cost_micro_usd), 0)
                  + coalesce({_OLDER_TURNS.format(turn=turn)} * sum(spend.cost_micro_usd)
                             / nullif(sum(spend.calls - spend.unpriced_calls), 0), 0)
             FROM runtime_spend AS spend
            WHERE spend.tenant_id = settings.tenant_id AND spend.day = get_tenant_today(settings.tenant_id))::bigint END
      FROM tenants_tenantsettings AS settings WHERE settings.tenant_id = {turn}.tenant_id)"""  # noqa: S608  # of constants


# Of a turn that was claimed: what it cost so far, what it set aside for agents it asked, and how many turns this conversation
# had lately beside it.
CLAIM_SPENDING: Final = f"""
    'day_left', {day_left_sql("claimed")},
    'turn_cost', (SELECT coalesce(sum(call.cost_micro_usd), 0)::bigint FROM runtime_modelcall AS call
                   WHERE call.tenant_id = claimed.tenant_id AND call.turn_id = claimed.id),
    'set_aside', (SELECT coalesce(sum(below.budget_micro_usd), 0)::bigint FROM conversations_conversation AS below
                   WHERE below.tenant_id = claimed.tenant_id AND below.parent_id = claimed.conversation_id
                     AND below.delegating_turn_id = claimed.id),
    'other_turns', (SELECT count(*) FROM runtime_turn AS other
                     WHERE other.tenant_id = claimed.tenant_id AND other.conversation_id = claimed.conversation_id
                       AND other.id <> claimed.id AND other.started_at > statement_timestamp() - %(loop_window)s::interval)"""  # noqa: S608  # of constants

# Notes that a person was asked about the day's budget; nothing comes back where one was already.
NOTE_BUDGET_ALERT: Final = f"""
INSERT INTO runtime_spend AS spend (tenant_id, agent_id, day, budget_escalated_at, calls, unpriced_calls, cost_micro_usd,
                                    {", ".join(_TOKEN_COLUMNS)})
VALUES (app_tenant(), %(agent)s, get_tenant_today(app_tenant()), statement_timestamp(), 0, 0, 0,
        {", ".join("0" for _ in _TOKEN_COLUMNS)})
    ON CONFLICT (tenant_id, agent_id, day) DO UPDATE
       SET budget_escalated_at = excluded.budget_escalated_at WHERE spend.budget_escalated_at IS NULL
RETURNING id
"""  # noqa: S608  # of constants


# What a transaction of several statements begins with.
LOCK_TURN: Final = """
SELECT id FROM runtime_turn
 WHERE tenant_id = app_tenant() AND id = %(turn)s AND fence = %(fence)s AND status = 'running' AND NOT is_released FOR NO KEY UPDATE
"""

ENTER_SESSION: Final = """
UPDATE runtime_turn SET session_id = %(session)s
 WHERE tenant_id = app_tenant() AND id = %(turn)s AND fence = %(fence)s AND status = 'running' AND NOT is_released RETURNING id
"""

# What an agent elsewhere was handed, which goes again when the turn ends.
STORE_EXTERNAL_TURN: Final = """
UPDATE runtime_turn SET session_id = %(session)s, external_user_turn = %(external_user_turn)s::jsonb
 WHERE tenant_id = app_tenant() AND id = %(turn)s AND fence = %(fence)s AND status = 'running' AND NOT is_released RETURNING id
"""

STORE_REPORT: Final = """
UPDATE runtime_turn SET report_sha256 = %(sha256)s
 WHERE tenant_id = app_tenant() AND id = %(turn)s AND fence = %(fence)s AND status = 'running' AND NOT is_released RETURNING id
"""

SHORTEN_HISTORY: Final = """
UPDATE runtime_turn SET history_halvings = history_halvings + 1
 WHERE tenant_id = app_tenant() AND id = %(turn)s AND fence = %(fence)s AND status = 'running' AND NOT is_released RETURNING id
"""

POSTPONE: Final = """
UPDATE runtime_turn SET run_at = statement_timestamp() + %(seconds)s::interval, lease_until = statement_timestamp(),
       is_released = true, failed_calls = %(failed_calls)s, failure_code = %(code)s, failure = %(failure)s
 WHERE tenant_id = app_tenant() AND id = %(turn)s AND fence = %(fence)s AND status = 'running' AND NOT is_released RETURNING id
"""

_INSERT_STEPS: Final = f"""
), calls AS (
    INSERT INTO runtime_modelcall (
        tenant_id, turn_id, fence, round, step, user_turn, assistant_message, text, model, is_stand_in, stop_reason,
        input_tokens, output_tokens,
        cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, cost_micro_usd, requested_at,
        agent_prefix_sha256, workspace_prefix_sha256, expected_read_tokens, has_unexpected_miss, cache_entries, cache_ledger,
        created_at)
    SELECT held.tenant_id, held.id, held.fence, held.round, call.step, call.user_turn, call.assistant_message,
           call.text, call.model,
           call.is_stand_in, call.stop_reason, call.input_tokens, call.output_tokens, call.cache_read_tokens,
           call.cache_write_5m_tokens, call.cache_write_1h_tokens, call.cost_micro_usd, call.requested_at, call.agent_prefix_sha256,
           call.workspace_prefix_sha256, call.expected_read_tokens, call.has_unexpected_miss, call.cache_entries, call.cache_ledger,
           statement_timestamp()
      FROM held, jsonb_populate_recordset(NULL::runtime_modelcall, %(calls)s::jsonb) AS call
    RETURNING id
), tools AS (
    INSERT INTO runtime_toolstep (tenant_id, turn_id, fence, round, step, position, call_id, name, arguments, repeat_safety, state,
                                  result, is_error, started_at, finished_at)
    SELECT held.tenant_id, held.id, held.fence, held.round, tool.step, tool.position, tool.call_id, tool.name, tool.arguments,
           tool.repeat_safety, tool.state, tool.result, tool.is_error, statement_timestamp(),
           CASE WHEN tool.state <> 'started' THEN statement_timestamp() END
      FROM held, jsonb_populate_recordset(NULL::runtime_toolstep, %(tools)s::jsonb) AS tool
    RETURNING id
){COUNT_SPEND}"""  # noqa: S608  # of constants

_HELD_WITH_LEASE: Final = """
WITH held AS (
    UPDATE runtime_turn SET lease_until = statement_timestamp() + %(lease)s::interval, current_step = %(asking)s,
           step_started_at = statement_timestamp(), failed_calls = 0, failure_code = '', failure = ''
     WHERE tenant_id = app_tenant() AND id = %(turn)s AND fence = %(fence)s AND status = 'running' AND NOT is_released
    RETURNING id, tenant_id, fence, round, conversation_id"""


def _has_new_messages(turn: str) -> str:
    """Whether something arrived that the turn may begin anew for: it did nothing that cannot be done again."""
    return f"""{turn}.round <= %(restarts)s AND EXISTS (
           SELECT 1 FROM conversations_inboundevent AS event
            WHERE event.tenant_id = {turn}.tenant_id AND event.conversation_id = {turn}.conversation_id AND event.turn_id IS NULL)
       AND NOT EXISTS (
           SELECT 1 FROM runtime_toolstep AS tool
            WHERE tool.tenant_id = {turn}.tenant_id AND tool.turn_id = {turn}.id AND tool.round = {turn}.round
              AND tool.repeat_safety <> 'read_only')"""  # noqa: S608  # of constants


_MAY_CONTINUE: Final = f"""
SELECT NOT is_conversation_stopped(%(stops)s, held.tenant_id, held.conversation_id), {_has_new_messages("held")},
       {day_left_sql("held")}, is_kill_switch_on(%(sending)s, held.tenant_id, held.conversation_id)
  FROM held
"""  # noqa: S608  # of constants

# A step, or tool calls of one, and the lease anew; says whether the turn may go on, or an operator has stopped it meanwhile;
# whether the customer has said more; what the day's budget had left before it; and whether sending is paused by now.
RECORD_STEPS: Final = _HELD_WITH_LEASE + _INSERT_STEPS + _MAY_CONTINUE

# What came of a call that was begun: its row ends, if the turn is still held.
END_CALL: Final = """
WITH held AS (
    UPDATE runtime_turn SET lease_until = statement_timestamp() + %(lease)s::interval
     WHERE tenant_id = app_tenant() AND id = %(turn)s AND fence = %(fence)s AND status = 'running' AND NOT is_released
    RETURNING id, tenant_id, round
)
UPDATE runtime_toolstep AS tool SET state = %(state)s, result = %(result)s, is_error = %(is_error)s,
       finished_at = statement_timestamp()
  FROM held
 WHERE tool.tenant_id = held.tenant_id AND tool.turn_id = held.id AND tool.round = held.round AND tool.step = %(step)s
   AND tool.position = %(position)s AND tool.state = 'started'
RETURNING tool.id
"""

# A new round of the same turn, with what arrived meanwhile; the steps of the round before stay. It looks once more itself, so
# that nothing is asked twice that was done once.
RESTART: Final = (
    f"""
WITH mine AS (
    SELECT id, tenant_id, conversation_id FROM runtime_turn
     WHERE tenant_id = app_tenant() AND id = %(turn)s AND fence = %(fence)s AND status = 'running' AND NOT is_released
       FOR NO KEY UPDATE
), waiting AS (
    SELECT event.id FROM conversations_inboundevent AS event JOIN mine
        ON event.tenant_id = mine.tenant_id AND event.conversation_id = mine.conversation_id
     WHERE event.turn_id IS NULL ORDER BY event.id FOR UPDATE OF event
), held AS (
    UPDATE runtime_turn SET round = runtime_turn.round + 1, lease_until = statement_timestamp() + %(lease)s::interval,
           current_step = 1, session_id = coalesce(%(session)s, runtime_turn.session_id), step_started_at = statement_timestamp(),
           failed_calls = 0, failure_code = '', failure = ''
      FROM mine
     WHERE runtime_turn.id = mine.id AND EXISTS (SELECT 1 FROM waiting) AND {_has_new_messages("runtime_turn")}
    RETURNING runtime_turn.id, runtime_turn.tenant_id, runtime_turn.fence, runtime_turn.round - 1 AS round,
              runtime_turn.conversation_id"""  # noqa: S608  # of constants
    + _INSERT_STEPS
    + """, taken AS (
    UPDATE conversations_inboundevent AS event SET turn_id = held.id FROM held, waiting WHERE event.id = waiting.id
)
SELECT EXISTS (SELECT 1 FROM held), NOT is_conversation_stopped(%(stops)s, mine.tenant_id, mine.conversation_id),
       is_kill_switch_on(%(sending)s, mine.tenant_id, mine.conversation_id)
  FROM mine
"""
)

# Which of the turns, whose model thinks, should begin anew by now. Nothing is written.
TURNS_TO_RESTART: Final = f"""
SELECT runtime_turn.id FROM runtime_turn JOIN unnest(%(turns)s::bigint[], %(fences)s::integer[]) AS mine(id, fence)
    ON runtime_turn.id = mine.id AND runtime_turn.fence = mine.fence
 WHERE runtime_turn.tenant_id = app_tenant() AND runtime_turn.status = 'running'
  AND {_has_new_messages("runtime_turn")} AND EXISTS (
           SELECT 1 FROM conversations_inboundevent AS event
            WHERE event.tenant_id = runtime_turn.tenant_id AND event.conversation_id = runtime_turn.conversation_id
              AND event.turn_id IS NULL AND event.due_at <= statement_timestamp())
"""  # noqa: S608  # of constants

_HELD_FOR_CLOSE: Final = f"""
WITH held AS (
    SELECT id, tenant_id, fence, round, conversation_id FROM runtime_turn
     WHERE tenant_id = app_tenant() AND id = %(turn)s AND fence = %(fence)s AND status = 'running' AND NOT is_released
       AND NOT is_conversation_stopped(%(stops)s, tenant_id, conversation_id)
       AND NOT ({_has_new_messages("runtime_turn")})
       AND (%(rules)s::jsonb IS NULL OR %(rules)s::jsonb = (
           SELECT jsonb_build_array(agent.send_mode, coalesce(jsonb_agg(
                      jsonb_build_array(rule.send_mode, rule.channel, rule.skill_id) ORDER BY rule.id)
                      FILTER (WHERE rule.id IS NOT NULL), '[]'))
             FROM tenants_agent AS agent
             LEFT JOIN desk_sendrule AS rule ON rule.tenant_id = agent.tenant_id AND rule.agent_id = agent.id
            WHERE agent.tenant_id = app_tenant() AND agent.id = %(agent)s GROUP BY agent.id))
       FOR NO KEY UPDATE"""  # noqa: S608  # of constants

_ENQUEUE_REPLY = outbox_insert_sql(
    WebhookEvent.REPLY, "held.conversation_id", "reply.id", "held, (SELECT id FROM messages WHERE is_reply) AS reply"
)
# The conversation is locked as people lock it who write into its transcript, so nobody else takes the same place.
_DELIVER_REPLY: Final = f""", thread AS (
    SELECT thread.id FROM held JOIN conversations_conversation AS thread
        ON thread.tenant_id = held.tenant_id AND thread.id = held.conversation_id
       FOR NO KEY UPDATE OF thread
), lost AS (
    -- A turn may be given up with an outside call under way, and nobody will learn what it did.
    UPDATE runtime_toolstep AS tool SET state = 'unknown', result = %(lost)s, is_error = true, finished_at = statement_timestamp()
      FROM held WHERE tool.tenant_id = held.tenant_id AND tool.turn_id = held.id AND tool.state = 'started'
), messages AS (
    INSERT INTO conversations_message (tenant_id, conversation_id, position, sender, text, tool_calls, api_message, turn_id,
                                       is_reply, created_at)
    SELECT held.tenant_id, held.conversation_id, message.position + 1 + (
               SELECT coalesce(max(old.position), -1) FROM conversations_message AS old
                WHERE old.tenant_id = held.tenant_id AND old.conversation_id = held.conversation_id),
           message.sender, message.text, message.tool_calls, message.api_message, message.turn_id, message.is_reply,
           statement_timestamp()
      FROM held, thread, jsonb_populate_recordset(NULL::conversations_message, %(messages)s::jsonb) AS message
    RETURNING id, is_reply
), enqueued AS ({_ENQUEUE_REPLY}
), ended AS (
    UPDATE runtime_turn AS turn SET status = %(status)s, outcome = %(outcome)s, finished_at = statement_timestamp(),
           reply_id = (SELECT messages.id FROM messages WHERE messages.is_reply), failure_code = %(code)s,
           failure = %(failure)s, session_id = coalesce(%(session)s, turn.session_id), user_turn_segments = %(segments)s::jsonb,
           external_user_turn = NULL
      FROM held WHERE turn.id = held.id AND turn.tenant_id = held.tenant_id
    RETURNING turn.id
), fetched AS (
    -- In the order of the skills, so that two turns never wait for each other.
    INSERT INTO skills_skilluse (tenant_id, skill_id, use_count, last_used_at)
    SELECT held.tenant_id, skill.id, had.times, statement_timestamp()
      FROM held, skills_skill AS skill, jsonb_to_recordset(%(fetched)s::jsonb) AS had (id bigint, times integer)
     WHERE skill.tenant_id = held.tenant_id AND skill.id = had.id ORDER BY skill.id
    ON CONFLICT (tenant_id, skill_id) DO UPDATE
       SET use_count = skills_skilluse.use_count + excluded.use_count, last_used_at = excluded.last_used_at
)
SELECT EXISTS (SELECT 1 FROM ended), EXISTS (
    SELECT 1 FROM runtime_turn
     WHERE tenant_id = app_tenant() AND id = %(turn)s AND fence = %(fence)s AND status = 'running' AND NOT is_released), EXISTS (
    SELECT 1 FROM conversations_inboundevent
     WHERE tenant_id = app_tenant() AND conversation_id = %(conversation)s AND turn_id IS NULL
       AND due_at <= statement_timestamp()), EXISTS (
    SELECT 1 FROM runtime_turn WHERE tenant_id = app_tenant() AND id = %(turn)s AND {_has_new_messages("runtime_turn")})
"""  # noqa: S608  # of constants

# The end: transcript, reply, last step, what was fetched, and state in one statement, or nothing of it. Where nothing was
# written, the second column tells whether the turn is held at all; if it is, a person stopped it or changed how replies are
# sent, or by the fourth the customer said more. The third says whether more is due by now.
CLOSE_TURN: Final = _HELD_FOR_CLOSE + _INSERT_STEPS + _DELIVER_REPLY

# One statement per tenant and beat; a turn that is not returned is no longer ours.
EXTEND_LEASES: Final = """
UPDATE runtime_turn AS turn SET lease_until = statement_timestamp() + %(lease)s::interval
  FROM unnest(%(turns)s::bigint[], %(fences)s::integer[]) AS mine(id, fence)
 WHERE turn.tenant_id = app_tenant() AND turn.id = mine.id AND turn.fence = mine.fence AND turn.status = 'running'
   AND NOT turn.is_released
RETURNING turn.id, NOT is_conversation_stopped(%(stops)s, turn.tenant_id, turn.conversation_id)
"""
