"""One window of the rate limits, in this process alone."""

import time
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from apps.api import rates


@pytest.fixture
def window(settings: Settings) -> Iterator[None]:
    """Three requests of each and five of the tenant, all in one window and in this process alone."""
    while time.time() % rates.WINDOW_SECONDS > rates.WINDOW_SECONDS - 15:
        time.sleep(0.5)
    settings.REQUESTS_PER_MINUTE, settings.REQUESTS_PER_MINUTE_OF_TENANT = 3, 5
    rates._client.cache_clear()
    rates._own.counted, rates._own.away_until = {}, time.monotonic() + 60
    yield
    rates._client.cache_clear()
    rates._own.counted, rates._own.away_until = {}, 0.0
