"""How what an agent learned is brought back: the learning version that was read then is taken up again, never a withdrawn one."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from apps.governance.policy.table import Act
from apps.learning.lessons.actions import restore_version, retire_version
from apps.learning.lessons.models import LearningVersion
from apps.restore.steps import Note, Pair, Step, step

Found = Iterator[Step | Note]
Status = LearningVersion.Status


def of_version(pair: Pair[LearningVersion], *, come_back: frozenset[int]) -> Found:
    """One version. Where an earlier one of its agent comes back, the one that is read now gives way to it by itself."""
    now, then = pair.now, pair.then
    was_read = then is not None and then.row.status == Status.ACTIVE
    if now is None:
        if was_read:
            yield Note(
                pair.label,
                "It was read then and was dropped since, as the oldest ones are. Its history tells what it said.",
            )
    elif was_read and now.status == Status.RETIRED:
        take_up = partial(restore_version, now)
        yield step(pair, Act.LEARNING_VERSION_RESTORE, {"status": Status.ACTIVE.value}, take_up, "Take it up again")
    elif was_read and now.status == Status.WITHDRAWN:
        yield Note(pair.label, "It was read then and was withdrawn since. Nothing takes it up again.")
    elif not was_read and now.status == Status.ACTIVE and now.agent_id not in come_back:
        retire = partial(retire_version, now)
        yield step(
            pair,
            Act.LEARNING_VERSION_RETIRE,
            {"status": Status.RETIRED.value},
            retire,
            "Retire it: it was not read then",
        )


def coming_back(pairs: list[Pair[Any]]) -> frozenset[int]:
    """The agents of which an earlier version would be taken up."""
    read_then = (pair for pair in pairs if pair.then is not None and pair.then.row.status == Status.ACTIVE)
    return frozenset(pair.now.agent_id for pair in read_then if pair.now and pair.now.status == Status.RETIRED)
