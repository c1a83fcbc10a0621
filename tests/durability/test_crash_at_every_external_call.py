"""A worker is killed while it calls what a person let, asks another agent, answers or tells a webhook: no loss, no double."""

import pytest

from tests.durability.crash_and_recover import crossings_in, dies_in, telling
from tests.durability.crash_scenarios import SCENES, Wires
from tests.support.sampling import share_of, whole_or

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured, pytest.mark.whole]

# All of them, at every point, are in `tests.proofs.durability`.
MOST = whole_or(
    ("a call is made", "a question is answered"),
    whole=("a call is made", "a question is asked", "a question is answered", "words are forgotten"),
)


@pytest.mark.parametrize("name", MOST)
def test_a_worker_may_die_at_any_line_of_what_leaves_a_turn(wires: Wires, name: str) -> None:
    # R054, R057, R126
    opens = SCENES[name]
    crossings = crossings_in(wires, opens)
    points = share_of(MOST.index(name), telling(crossings), rows=2)
    flaws = [flaw for point, side in points for flaw in dies_in(wires, opens, crossings, point, side)]
    assert flaws == []
