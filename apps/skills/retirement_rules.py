"""Which approved skills a person may retire, by what became of them; pure. Nothing here retires any."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

UNUSED_AFTER: Final = timedelta(days=60)
# Of the agent, since the skill was last used or approved: with fewer nobody could have needed it.
MIN_CONVERSATIONS: Final = 20
# Conversations that ended, on either side, before their shares are compared.
MIN_ENDED: Final = 10
MIN_RATE_DIFFERENCE: Final = 0.15
# Standard errors between two shares; beyond them one time in fifty is chance.
MIN_STANDARD_ERRORS: Final = 2.33
RETENTION_PERIOD: Final = timedelta(days=90)


class RetirementCause(StrEnum):
    """Why a skill may be retired."""

    UNUSED = "unused"
    WORSE = "worse"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class BadOutcomeRate:
    """Of the conversations that ended, how many ended badly: unsolved, abandoned, handed over, or begun again within seven days."""

    ended: int
    ended_badly: int

    @property
    def of_all(self) -> float:
        """From 0 to 1; 0 where none ended."""
        return self.ended_badly / self.ended if self.ended else 0.0

    @property
    def percent(self) -> int:
        return round(100 * self.of_all)


@dataclass(frozen=True, slots=True)
class NewerSkill:
    """A runbook of the same agent that was approved later and surely says the same, and why."""

    skill_id: int
    title: str
    approved_at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class SkillFigures:
    """What became of one approved skill. Shares are of the last 90 days, and of conversations of its agent alone."""

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
        """The later of its approval and its last use."""
        return max(self.approved_at, self.last_used_at or self.approved_at)


@dataclass(frozen=True, slots=True)
class RetirementSuggestion:
    """Why a skill may be retired, as one sentence with its figures."""

    cause: RetirementCause
    detail: str


def suggest_retirement(figures: SkillFigures, now: datetime) -> tuple[RetirementSuggestion, ...]:
    """Why a person may retire it; nothing for as long as one said to keep it."""
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
            f"“{figures.newer.title}”, approved on {figures.newer.approved_at:%d %B %Y} and so later, says the same."
            f" {figures.newer.reason}",
        )


def is_worse(one: BadOutcomeRate, other: BadOutcomeRate) -> bool:
    """Whether a share is larger by a margin that matters and that chance does not explain."""
    if min(one.ended, other.ended) < MIN_ENDED or one.of_all - other.of_all < MIN_RATE_DIFFERENCE:
        return False
    both = BadOutcomeRate(one.ended + other.ended, one.ended_badly + other.ended_badly).of_all
    error = math.sqrt(both * (1 - both) * (1 / one.ended + 1 / other.ended))
    return one.of_all - other.of_all > MIN_STANDARD_ERRORS * error
