"""A worker is killed while it calls what a person let, asks another agent, answers or tells a webhook: no loss, no double."""

import pytest

from tests.durability.crash_and_recover import check_scene_crash, decisive_points, record_scene_crossings
from tests.durability.crash_scenarios import SCENES, ExternalStage
from tests.support.parameter_sampling import share_of, whole_or

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured, pytest.mark.whole]

# All of them, at every point, are in `tests.proofs.durability`.
SCENE_NAMES = whole_or(
    ("a call is made", "a question is answered"),
    whole=("a call is made", "a question is asked", "a question is answered", "words are forgotten"),
)


@pytest.mark.parametrize("name", SCENE_NAMES)
def test_a_worker_may_die_at_any_line_of_what_leaves_a_turn(wires: ExternalStage, name: str) -> None:
    # R054, R057, R126
    opens = SCENES[name]
    crossings = record_scene_crossings(wires, opens)
    points = share_of(SCENE_NAMES.index(name), decisive_points(crossings), rows=2)
    flaws = [flaw for point, side in points for flaw in check_scene_crash(wires, opens, crossings, point, side)]
    assert flaws == []
