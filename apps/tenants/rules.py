"""What a tenant's values must be, sayable without a database."""

from functools import cache
from typing import Final
from zoneinfo import available_timezones

TIME_ZONE_RULE: Final = "Write it as region and city, such as Europe/Madrid, or UTC."


def is_time_zone(name: str) -> bool:
    """A name of the time zone database, spelled as it is there."""
    return name in _time_zones()


@cache
def _time_zones() -> frozenset[str]:
    # The function walks a folder of six hundred files each time.
    return frozenset(available_timezones())
