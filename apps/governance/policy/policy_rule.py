"""`PolicyRule`, one row of the policy table, its risk and effect, and the long field lists that several acts share."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from apps.governance.actors import Role

# The noun that carries what somebody may only propose.
PROPOSAL = "proposal"


class Risk(StrEnum):
    """What a mistaken yes would cost."""

    LOW = "low"
    HIGH = "high"


class RowEffect(StrEnum):
    """What becomes of the governed row an act is about."""

    MAKES = "makes"
    CHANGES = "changes"
    WRITES = "makes or changes"
    REMOVES = "removes"
    # A journal or a counter is written instead.
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRule:
    """One row of the policy table."""

    # The roles whose act applies at once.
    direct: frozenset[Role]
    # The roles that may bring the same content as a proposal.
    proposes: frozenset[Role] = frozenset()
    # The governed columns that the actor chooses the values of; each is a permission beside the act's own.
    fields: tuple[str, ...] = ()
    # Those of `fields` that are written only while the row is made.
    settled: frozenset[str] = frozenset()
    # The columns that the act fills by itself, such as the signer and the time.
    stamps: tuple[str, ...] = ()
    # The columns that it fills for people alone, because an agent's signature is none.
    signs: tuple[str, ...] = ()
    does: RowEffect = RowEffect.CHANGES
    # The noun whose row is written, where that is not the act's own.
    on: str = ""
    risk: Risk = Risk.LOW
    # How many people must agree before the content of a proposal takes effect; its risk tier may require more.
    reviewers: int = 0

    def writes(self, *, adding: bool) -> frozenset[str]:
        """The governed fields of a row that the act makes, or of one that stands already."""
        return frozenset(self.fields) if adding else frozenset(self.fields) - self.settled

    @property
    def allowed(self) -> frozenset[Role]:
        """Every role that may come to the door with this act at all."""
        return self.direct | self.proposes

    @property
    def makes(self) -> bool:
        """Whether it may bring a row into being."""
        return self.does in {RowEffect.MAKES, RowEffect.WRITES}

    @property
    def changes(self) -> bool:
        """Whether it may write a row that stands already."""
        return self.does in {RowEffect.CHANGES, RowEffect.WRITES}

    @property
    def removes(self) -> bool:
        """Whether it may take a row away."""
        return self.does is RowEffect.REMOVES


# What people choose about how an agent runs.
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
