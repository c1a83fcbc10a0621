"""Two people decide on learning versions at the same moment: no version with a withdrawn bullet stays in use (R146)."""

from collections.abc import Callable
from functools import partial

import pytest

from apps.learning.lessons.actions import activate_version, reject_version, withdraw_version
from apps.learning.lessons.models import LearningVersion
from tests.desk.test_concurrent_sending import run_together
from tests.support.factories.lessons import QUARANTINE_REASON, make_version, versions_of
from tests.support.worlds.world import make_world

Status = LearningVersion.Status


@pytest.mark.parametrize("decide", [activate_version, reject_version])
def test_a_withdrawal_and_a_colleagues_decision_on_a_copy_leave_no_copy_in_use(
    committing: str, decide: Callable[..., LearningVersion]
) -> None:
    world = make_world()
    make_version(world, "active", "- Say Ahoy.")
    make_version(world, "pending", "- Say Ahoy.\n- Be brief.")
    first, copy = versions_of(world)
    withdrawal = partial(withdraw_version, first, actor=world.operator, reason=QUARANTINE_REASON)
    refused = run_together([withdrawal, partial(decide, copy, actor=world.admin)])
    assert refused in (["", ""], ["", "illegal_transition"])
    withdrawn, other = (version.status for version in versions_of(world))
    assert withdrawn == Status.WITHDRAWN
    assert other in {Status.WITHDRAWN, Status.REJECTED}
