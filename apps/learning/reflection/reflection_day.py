"""The day that a reflection covers, and its bounds."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

# The hour on the tenant's clock at which an agent reflects on its day (R119).
REFLECTION_TIME = timedelta(hours=23)


def day_to_reflect_on(now: datetime, zone: ZoneInfo) -> date:
    """Return the latest day that has ended for reflection: today from eleven in the evening on, else yesterday (R119)."""
    here = now.astimezone(zone).replace(tzinfo=None)
    return (here - REFLECTION_TIME).date()


def day_bounds(day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Return the day's bounds, from eleven in the evening before to eleven in the evening, without gaps between days."""
    ends = datetime.combine(day, time(), zone) + REFLECTION_TIME
    begins = datetime.combine(day - timedelta(days=1), time(), zone) + REFLECTION_TIME
    return begins.astimezone(UTC), ends.astimezone(UTC)
