"""One window of the rate limits, in this process alone."""

import time
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from apps.api.protocol import rate_limits


@pytest.fixture
def window(settings: Settings) -> Iterator[None]:
    """Allow three requests to each sender and five to the tenant, all in one window and in this process alone."""
    while time.time() % rate_limits.WINDOW_SECONDS > rate_limits.WINDOW_SECONDS - 15:
        time.sleep(0.5)
    settings.REQUESTS_PER_MINUTE, settings.REQUESTS_PER_MINUTE_OF_TENANT = 3, 5
    rate_limits._client.cache_clear()
    rate_limits._local_counts.counted, rate_limits._local_counts.away_until = {}, time.monotonic() + 60
    yield
    rate_limits._client.cache_clear()
    rate_limits._local_counts.counted, rate_limits._local_counts.away_until = {}, 0.0
