"""The same story against the endpoint that the caller's environment names: `make live-test`. It costs money."""

import pytest

from tests.flows.conftest import seed_demo
from tests.flows.house import House
from tests.flows.test_story import play
from tests.settings import LIVE_MODEL

pytestmark = pytest.mark.live


@pytest.fixture
def house(house: House) -> House:
    """The house, talking to the real model instead of the stand-in."""
    if not LIVE_MODEL:
        pytest.fail("Set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL for an endpoint of your own.")
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        house.env.pop(name)
    house.env |= LIVE_MODEL
    return house


def test_the_story_holds_with_a_real_model(house: House) -> None:
    house.start_web()
    house.start_worker(is_checked=True)
    house.start_beat(is_checked=True)
    told = play(house, seed_demo(house))
    assert "stand-in" not in told
