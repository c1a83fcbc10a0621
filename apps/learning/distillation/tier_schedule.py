"""The distilled memory tiers: their schedules, the text of the short tier, and which runs need review; pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from itertools import groupby
from typing import Final
from zoneinfo import ZoneInfo

from apps.llm.token_estimate import BYTES_PER_TOKEN

LINE_TOKENS: Final = 200


class Tier(StrEnum):
    """The distilled tiers of memory."""

    SHORT = "short"
    MID = "mid"
    LONG = "long"


BUDGET_TOKENS: Final[Mapping[Tier, int]] = {Tier.SHORT: 3_000, Tier.MID: 2_000, Tier.LONG: 2_000}
TIER_CRON: Final[Mapping[Tier, str]] = {Tier.SHORT: "0 3 * * *", Tier.MID: "30 3 * * 0", Tier.LONG: "0 4 1 * *"}


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of the session log, with its time."""

    at: datetime
    text: str
    is_off_the_record: bool = False


def render_short_tier(lines: Iterable[LogLine], timezone: str, budget_tokens: int = BUDGET_TOKENS[Tier.SHORT]) -> str:
    """Return the latest log lines that fit the budget, oldest first, with a heading per day of the tenant's calendar (R170).

    Conversations off the record are left out (R178); a line too long for the log is truncated.
    """
    zone = ZoneInfo(timezone)
    kept: list[tuple[date, str]] = []
    size, days = 0, set[date]()
    for line in sorted((each for each in lines if not each.is_off_the_record), key=lambda each: each.at, reverse=True):
        day, text = line.at.astimezone(zone).date(), f"- {_truncate_line(line.text)}"
        size += len(text.encode()) + 1 + (0 if day in days else len(_heading(day).encode()) + 2)
        if size > budget_tokens * BYTES_PER_TOKEN:
            break
        days.add(day)
        kept.append((day, text))
    grouped = groupby(reversed(kept), key=lambda each: each[0])
    return "\n\n".join("\n".join([_heading(day), *(text for _, text in each)]) for day, each in grouped)


def _heading(day: date) -> str:
    return f"## {day.isoformat()}"


def _truncate_line(text: str) -> str:
    return " ".join(text.split()).encode()[: LINE_TOKENS * BYTES_PER_TOKEN].decode(errors="ignore")


@dataclass(frozen=True, slots=True)
class TierSettings:
    """Which tiers are distilled on schedule; the long tier is off until somebody switches it on (R174)."""

    auto: bool = True
    short: bool = True
    mid: bool = True
    long: bool = False

    def is_on(self, tier: Tier) -> bool:
        return self.auto and {Tier.SHORT: self.short, Tier.MID: self.mid, Tier.LONG: self.long}[tier]


def is_review_needed(tier: Tier, stored_runs: int) -> bool:
    """Return whether a person must review a run before it is stored: only the first run of the long tier (R174)."""
    return tier is Tier.LONG and stored_runs == 0
