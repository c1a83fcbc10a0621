"""`PolicyRule`, the type of one row of the policy table, its risk and row effect, and field lists that several acts share."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from apps.governance.actors import Role

# The noun of the row that stores a proposed change.
PROPOSAL = "proposal"


class Risk(StrEnum):
    """How costly a mistaken approval would be."""

    LOW = "low"
    HIGH = "high"


class RowEffect(StrEnum):
    """The effect of an act on its governed row."""

    MAKES = "makes"
    CHANGES = "changes"
    WRITES = "makes or changes"
    REMOVES = "removes"
    # The act writes no governed row; it writes a journal or a counter.
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRule:
    """One row of the policy table."""

    # The roles for which the act takes effect at once.
    direct: frozenset[Role]
    # The roles that may propose the change.
    proposes: frozenset[Role] = frozenset()
    # The governed columns whose values the actor chooses. Each needs a permission in addition to the act's own.
    fields: tuple[str, ...] = ()
    # Those of `fields` that can be written only when the row is created.
    settled: frozenset[str] = frozenset()
    # The columns that the act itself fills in, such as the author and the time.
    stamps: tuple[str, ...] = ()
    # The columns that the act fills in only for people, because an agent cannot sign.
    signs: tuple[str, ...] = ()
    does: RowEffect = RowEffect.CHANGES
    # The noun of the row that is written, if it differs from the act's noun.
    on: str = ""
    risk: Risk = Risk.LOW
    # The number of people who must approve before a proposal takes effect; the risk tier may require more.
    reviewers: int = 0

    def writes(self, *, adding: bool) -> frozenset[str]:
        """Return the governed fields that the act may write: of a new row (`adding`), or of an existing row."""
        return frozenset(self.fields) if adding else frozenset(self.fields) - self.settled

    @property
    def allowed(self) -> frozenset[Role]:
        """Every role that may perform or propose the act."""
        return self.direct | self.proposes

    @property
    def makes(self) -> bool:
        """Whether the act may create a row."""
        return self.does in {RowEffect.MAKES, RowEffect.WRITES}

    @property
    def changes(self) -> bool:
        """Whether the act may change an existing row."""
        return self.does in {RowEffect.CHANGES, RowEffect.WRITES}

    @property
    def removes(self) -> bool:
        """Whether the act may delete a row."""
        return self.does is RowEffect.REMOVES


# The settings of an agent.
AGENT_RUN_FIELDS: Final = (
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
        "delay_notice",
        "channel_delay_notices",
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
PRICE_FIELDS: Final = (
    *("input_micro_usd", "output_micro_usd"),
    *("cache_read_micro_usd", "cache_write_5m_micro_usd", "cache_write_1h_micro_usd"),
)
SCHEDULE_FIELDS: Final = ("title", "cron", "timezone", "skill", "instruction", "preamble", "channel", "missed_runs")
CARD_TEXT_FIELDS: Final = (
    "business_name",
    "assigned_name",
    "assigned_title",
    "hours",
    "timezone",
    "signature",
    "locale",
)
WEBHOOK_FIELDS: Final = (
    *("title", "url", "is_active"),
    *("on_reply", "on_draft", "on_escalation", "on_resolved", "on_learning_version", "on_distillation", "on_review"),
)
