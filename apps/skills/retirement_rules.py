"""Rules that suggest retiring an approved skill, based on its use and outcomes. Pure functions; nothing is retired here."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

UNUSED_AFTER: Final = timedelta(days=60)
# The agent's conversations since the skill was last used or approved. With fewer, the skill may just not have been needed yet.
MIN_CONVERSATIONS: Final = 20
# The minimum of ended conversations both with and without the skill, before their rates are compared.
MIN_ENDED: Final = 10
MIN_RATE_DIFFERENCE: Final = 0.15
# The minimum difference of two rates, in standard errors. Chance exceeds it, in either direction, once in fifty times.
MIN_STANDARD_ERRORS: Final = 2.33
RETENTION_PERIOD: Final = timedelta(days=90)


class RetirementCause(StrEnum):
    """Why a skill is suggested for retirement."""

    UNUSED = "unused"
    WORSE = "worse"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class BadOutcomeRate:
    """The number of ended conversations, and of those that ended badly.

    A bad end is unsolved, abandoned, handed over, or reopened within seven days.
    """

    ended: int
    ended_badly: int

    @property
    def of_all(self) -> float:
        """The share that ended badly, from 0 to 1; 0 if none ended."""
        return self.ended_badly / self.ended if self.ended else 0.0

    @property
    def percent(self) -> int:
        return round(100 * self.of_all)


@dataclass(frozen=True, slots=True)
class NewerSkill:
    """A skill of the same agent that was approved later and has the same content, with the reason for this judgement."""

    skill_id: int
    title: str
    approved_at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class SkillFigures:
    """Use and outcomes of one approved skill. Rates cover its agent's conversations of the last 90 days."""

    approved_at: datetime
    last_used_at: datetime | None
    retained_until: datetime | None
    fetched_30_days: int
    fetched_90_days: int
    conversations_since: int
    with_skill: BadOutcomeRate
    without_skill: BadOutcomeRate
    newer: NewerSkill | None = None

    @property
    def idle_since(self) -> datetime:
        """The later of the skill's approval and its last use."""
        return max(self.approved_at, self.last_used_at or self.approved_at)


@dataclass(frozen=True, slots=True)
class RetirementSuggestion:
    """A suggestion to retire a skill: the cause, and a sentence with the figures."""

    cause: RetirementCause
    detail: str


def suggest_retirement(figures: SkillFigures, now: datetime) -> tuple[RetirementSuggestion, ...]:
    """Return suggestions to retire the skill; none while a person's decision to keep it is in force."""
    if figures.retained_until is not None and figures.retained_until > now:
        return ()
    return tuple(_find_suggestions(figures, now))


def _find_suggestions(figures: SkillFigures, now: datetime) -> Iterator[RetirementSuggestion]:
    idle = now - figures.idle_since
    if idle >= UNUSED_AFTER and figures.conversations_since >= MIN_CONVERSATIONS:
        yield RetirementSuggestion(
            RetirementCause.UNUSED,
            f"Nobody fetched it for {idle.days} days, while its agent had {figures.conversations_since} conversations.",
        )
    if is_worse(figures.with_skill, figures.without_skill):
        yield RetirementSuggestion(
            RetirementCause.WORSE,
            f"Of {figures.with_skill.ended} conversations with it {figures.with_skill.percent} % ended badly; of"
            f" {figures.without_skill.ended} without it {figures.without_skill.percent} %.",
        )
    if figures.newer is not None:
        yield RetirementSuggestion(
            RetirementCause.SUPERSEDED,
            f"“{figures.newer.title}”, approved later, on {figures.newer.approved_at:%d %B %Y}, has the same content."
            f" {figures.newer.reason}",
        )


def is_worse(one: BadOutcomeRate, other: BadOutcomeRate) -> bool:
    """Whether the first rate is worse by a relevant and statistically significant margin."""
    if min(one.ended, other.ended) < MIN_ENDED or one.of_all - other.of_all < MIN_RATE_DIFFERENCE:
        return False
    both = BadOutcomeRate(one.ended + other.ended, one.ended_badly + other.ended_badly).of_all
    error = math.sqrt(both * (1 - both) * (1 / one.ended + 1 / other.ended))
    return one.of_all - other.of_all > MIN_STANDARD_ERRORS * error
