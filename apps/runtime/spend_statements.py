"""The journal's SQL about money: what was spent is counted where it is written, and read where a turn is claimed or kept."""

from typing import Final

_COUNTED: Final = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
)

# Counts the calls that the same statement writes, in the day's row of their agent; a statement without calls leaves it alone.
SPENT: Final = f""", spent AS (
    INSERT INTO runtime_spend AS spend (tenant_id, agent_id, day, calls, unpriced_calls, cost_micro_usd, {", ".join(_COUNTED)})
    SELECT held.tenant_id, thread.agent_id, get_tenant_today(held.tenant_id), count(*), count(*) - count(call.cost_micro_usd),
           coalesce(sum(call.cost_micro_usd), 0), {", ".join(f"sum(call.{name})" for name in _COUNTED)}
      FROM held JOIN conversations_conversation AS thread
          ON thread.tenant_id = held.tenant_id AND thread.id = held.conversation_id,
           jsonb_populate_recordset(NULL::runtime_modelcall, %(calls)s::jsonb) AS call
     GROUP BY held.tenant_id, thread.agent_id
        ON CONFLICT (tenant_id, agent_id, day) DO UPDATE SET calls = spend.calls + excluded.calls,
           unpriced_calls = spend.unpriced_calls + excluded.unpriced_calls,
           cost_micro_usd = spend.cost_micro_usd + excluded.cost_micro_usd,
           {", ".join(f"{name} = spend.{name} + excluded.{name}" for name in _COUNTED)}
)"""  # noqa: S608  # of constants


_OLDER: Final = """(
               SELECT count(*) FROM runtime_turn AS older
                WHERE older.tenant_id = settings.tenant_id AND older.status = 'running' AND NOT older.is_released
                  AND older.lease_until > statement_timestamp() AND older.id < {turn}.id)"""


def day_left(turn: str) -> str:
    """What a turn may still take from the tenant's budget of the day, without what the same statement spends; null without one.

    A call of the day's mean price is held back for each older turn that is being answered, so that many at once do not spend
    together what each found left alone. The oldest goes on with what there is, and none waits for a younger one.
    """
    return f"""(SELECT CASE WHEN settings.day_budget_micro_usd IS NOT NULL THEN settings.day_budget_micro_usd - (
           SELECT coalesce(sum(spend.cost_micro_usd + spend.learning_cost_micro_usd), 0)
                  + coalesce({_OLDER.format(turn=turn)} * sum(spend.cost_micro_usd)
                             / nullif(sum(spend.calls - spend.unpriced_calls), 0), 0)
             FROM runtime_spend AS spend
            WHERE spend.tenant_id = settings.tenant_id AND spend.day = get_tenant_today(settings.tenant_id))::bigint END
      FROM tenants_tenantsettings AS settings WHERE settings.tenant_id = {turn}.tenant_id)"""  # noqa: S608  # of constants


# Of a turn that was claimed: what it cost so far, what it set aside for agents it asked, and how many turns this conversation
# had lately beside it.
CLAIMED: Final = f"""
    'day_left', {day_left("claimed")},
    'turn_cost', (SELECT coalesce(sum(call.cost_micro_usd), 0)::bigint FROM runtime_modelcall AS call
                   WHERE call.tenant_id = claimed.tenant_id AND call.turn_id = claimed.id),
    'set_aside', (SELECT coalesce(sum(below.budget_micro_usd), 0)::bigint FROM conversations_conversation AS below
                   WHERE below.tenant_id = claimed.tenant_id AND below.parent_id = claimed.conversation_id
                     AND below.delegating_turn_id = claimed.id),
    'other_turns', (SELECT count(*) FROM runtime_turn AS other
                     WHERE other.tenant_id = claimed.tenant_id AND other.conversation_id = claimed.conversation_id
                       AND other.id <> claimed.id AND other.started_at > statement_timestamp() - %(loop_window)s::interval)"""  # noqa: S608  # of constants

# Notes that a person was asked about the day's budget; nothing comes back where one was already.
TELL: Final = f"""
INSERT INTO runtime_spend AS spend (tenant_id, agent_id, day, budget_escalated_at, calls, unpriced_calls, cost_micro_usd,
                                    {", ".join(_COUNTED)})
VALUES (app_tenant(), %(agent)s, get_tenant_today(app_tenant()), statement_timestamp(), 0, 0, 0, {", ".join("0" for _ in _COUNTED)})
    ON CONFLICT (tenant_id, agent_id, day) DO UPDATE
       SET budget_escalated_at = excluded.budget_escalated_at WHERE spend.budget_escalated_at IS NULL
RETURNING id
"""  # noqa: S608  # of constants
