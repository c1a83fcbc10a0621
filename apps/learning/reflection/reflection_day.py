"""Which day an agent reflects on, and where it begins and ends."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

# When an agent reflects on its day, by the tenant's clock (R119).
REFLECTION_TIME = timedelta(hours=23)


def day_to_reflect_on(now: datetime, zone: ZoneInfo) -> date:
    """The latest day that is over for reflection: from eleven in the evening on it is today (R119)."""
    here = now.astimezone(zone).replace(tzinfo=None)
    return (here - REFLECTION_TIME).date()


def day_bounds(day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """From eleven in the evening to the same hour of the day itself, so that nothing lies between two days."""
    ends = datetime.combine(day, time(), zone) + REFLECTION_TIME
    begins = datetime.combine(day - timedelta(days=1), time(), zone) + REFLECTION_TIME
    return begins.astimezone(UTC), ends.astimezone(UTC)
