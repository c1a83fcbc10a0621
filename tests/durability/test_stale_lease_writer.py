"""A worker that slept beyond its lease writes nothing when it wakes up; and each wall below the fence stands by itself."""

import pytest

from tests.durability.crash_and_recover import record_turn_crossings, spread_points
from tests.durability.forked_workers import CrashStage
from tests.durability.stalled_worker import check_stall

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

# The first, the last, and where the model has answered; all of them are in `tests.proofs.durability`.
MAX_POINTS = 1


@pytest.mark.parametrize(
    ("in_session", "meets_holder"),
    [
        pytest.param(False, True, id="opening a session, another holds the turn"),
        pytest.param(True, False, id="within a session, the turn has ended"),
    ],
)
def test_a_worker_that_slept_too_long_writes_nothing(stage: CrashStage, in_session: bool, meets_holder: bool) -> None:
    # R126
    crossings = record_turn_crossings(stage, in_session=in_session)
    flaws = [
        flaw
        for point, side in spread_points(crossings, MAX_POINTS)
        for flaw in check_stall(stage, crossings, point, side, in_session=in_session, meets_holder=meets_holder)
    ]
    assert flaws == []
