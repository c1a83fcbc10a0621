"""What a tenant's values must be."""

import pytest

from apps.tenants.rules import is_time_zone, time_zones

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


@pytest.mark.parametrize("zone", ["Europe/Madrid", "America/Argentina/Buenos_Aires", "UTC"])
def test_a_time_zone_is_known_by_its_exact_name(zone: str) -> None:
    # R186
    time_zones.cache_clear()
    assert is_time_zone(zone)
    assert not is_time_zone(zone.swapcase())


@pytest.mark.parametrize("zone", ["", "Madrid", "../../etc/passwd", "/usr/share/zoneinfo/UTC", "Europe/", "GMT+25"])
def test_nothing_else_is_a_time_zone(zone: str) -> None:
    assert not is_time_zone(zone)
