"""Fields that acts govern by the dozen."""

from typing import Final

# What people choose about how an agent runs.
AGENT_RUNS: Final = (
    *("title", "model", "contract", "has_learning", "session_idle_seconds", "max_session_age_seconds", "max_steps"),
    *(
        "flavour",
        "context_tier",
        "skill_index",
        "has_current_time",
        "send_mode",
        "debounce_seconds",
        "mid_turn_message_mode",
    ),
    *(
        "endpoint",
        "fallback_model",
        "turn_budget_micro_usd",
        "may_propose_schedules",
        "may_show_tables_and_charts",
        "may_edit_memory",
    ),
    *("may_edit_skills", "has_reflection", "has_notebook", "has_examples"),
    *(
        "is_memory_distilled",
        "is_short_tier_distilled",
        "is_mid_tier_distilled",
        "is_long_tier_distilled",
        "distil_model_mid",
        "distil_model_long",
    ),
    *("distil_endpoint_mid", "distil_endpoint_long"),
)
PRICES: Final = (
    *("input_micro_usd", "output_micro_usd"),
    *("cache_read_micro_usd", "cache_write_5m_micro_usd", "cache_write_1h_micro_usd"),
)
PLAN: Final = ("title", "cron", "timezone", "skill", "instruction", "preamble", "channel", "missed_runs")
CARD_TEXT: Final = ("business_name", "assigned_name", "assigned_title", "hours", "timezone", "signature", "locale")
TOLD: Final = (
    *("title", "url", "is_active"),
    *("on_reply", "on_draft", "on_escalation", "on_resolved", "on_learning_version", "on_distillation", "on_review"),
)
