"""The same story against the endpoint that the caller's environment names: `make live-test`. It costs money."""

import pytest

from tests.end_to_end.conftest import seed_demo
from tests.end_to_end.test_demo_story import play
from tests.settings import LIVE_MODEL
from tests.support.servers.running_product import RunningProduct

pytestmark = pytest.mark.live


@pytest.fixture
def own_product(own_product: RunningProduct) -> RunningProduct:
    """The product, talking to the real model instead of the stand-in."""
    if not LIVE_MODEL:
        pytest.fail("Set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL for an endpoint of your own.")
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        own_product.env.pop(name)
    own_product.env |= LIVE_MODEL
    return own_product


def test_the_story_holds_with_a_real_model(own_product: RunningProduct) -> None:
    own_product.start_web()
    own_product.start_worker(is_checked=True)
    own_product.start_beat(is_checked=True)
    output = play(own_product, seed_demo(own_product))
    assert "stand-in" not in output
