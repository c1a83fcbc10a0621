"""A worker is killed before and after every crossing of a turn; whoever takes it over finishes it, and nothing happens twice."""

import pytest

from tests.durability.crash_and_recover import check_crash, record_turn_crossings, spread_points
from tests.durability.forked_workers import CrashStage
from tests.support.parameter_sampling import whole_or

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured, pytest.mark.whole]

# All of them are in `tests.proofs.durability`.
MAX_POINTS = whole_or(3, whole=5)


@pytest.mark.parametrize("in_session", [False, True], ids=["opening a session", "within a session"])
def test_a_worker_may_die_at_any_line_of_a_turn(stage: CrashStage, in_session: bool) -> None:
    # R126, R127
    crossings = record_turn_crossings(stage, in_session=in_session)
    assert crossings == record_turn_crossings(stage, in_session=in_session), "a turn crosses the same lines every time"
    assert crossings.count("ask the model") == 2
    flaws = [
        flaw
        for point, side in spread_points(crossings, MAX_POINTS)
        for flaw in check_crash(stage, crossings, point, side, in_session=in_session)
    ]
    assert flaws == []
