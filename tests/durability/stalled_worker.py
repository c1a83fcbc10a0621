"""One worker sleeps at a crossing of a turn, another finishes it, and the first wakes up with nothing left to write."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from psycopg.errors import LockNotAvailable

from apps.conversations.models import InboundEvent
from apps.launcher.child_processes import wait_until
from apps.runtime.turns.turn_machine import Turning, begin
from tests.durability.forked_workers import DONE, Stage
from tests.support.timeouts import PATIENCE_SECONDS

# How long a lock is waited for that only a sleeper in the middle of writing holds on to.
LOCK_SECONDS = 2
# Everything a turn writes, row by row.
WRITTEN = (
    *("conversations_inboundevent", "conversations_message", "governance_changerecord", "memory_customerprofile"),
    *("runtime_modelcall", "runtime_session", "runtime_sessionpart", "runtime_snapshotpart", "runtime_toolstep"),
    "runtime_turn",
)


def sleeps_at(
    stage: Stage, crossings: Sequence[str], point: int, side: str, *, in_session: bool, meets_holder: bool
) -> Iterator[str]:
    """What is wrong after a sleep beyond the lease at this point; nothing, if all is well.

    Whoever took the turn over has finished it when the sleeper wakes up, or still holds it.
    """
    where = f"asleep {side} {point} ({crossings[point - 1]})"
    event = stage.arrive(in_session=in_session)
    with _asleep(stage.start(event, point, side, "stop")) as child:
        holder = _taken_over(stage, event)
        if holder and not meets_holder:
            stage.finish(holder)
        if not holder and stage.ending(event) is None and not stage.is_committing():
            yield f"{where}: nobody could take the turn over"
        taken = rows_of(stage)
        os.kill(child, signal.SIGCONT)
        code = stage.workers.ended()["code"]
    if code != 0:
        yield f"{where}: the sleeper ended with {code}"
    if holder and (changed := sorted(name for name, rows in rows_of(stage).items() if rows != taken[name])):
        yield f"{where}: woken up, it wrote into {', '.join(changed)}"
    if holder and meets_holder:
        stage.model_goes_on(event)
        stage.finish(holder)
    ending = stage.ending(event)
    if ending != ("done", "replied", DONE):
        yield f"{where}: the turn ended as {ending}"
    yield from (f"{where}: {flaw}" for flaw in stage.broken())


def rows_of(stage: Stage) -> dict[str, tuple[int, str]]:
    """How many rows each table has, and the hash of all of them."""
    found = {}
    for table in WRITTEN:
        hashed = f"SELECT count(*), md5(coalesce(string_agg(row::text, '' ORDER BY row.id), '')) FROM {table} AS row"  # noqa: S608  # of constants
        found[table] = stage.raw.execute(hashed).fetchone() or (0, "")
    stage.raw.rollback()
    return found


def _taken_over(stage: Stage, event: InboundEvent) -> Turning | None:
    """The turn in another worker's hands; None while the sleeper is in the middle of writing it, or if it has ended."""
    try:
        stage.lease_runs_out(event, patience_seconds=LOCK_SECONDS)
    except LockNotAvailable:
        stage.raw.rollback()
        return None
    return begin(stage.world.tenant.pk, event.conversation_id, stage.toolbox)


@contextmanager
def _asleep(child: int) -> Iterator[int]:
    assert wait_until(lambda: _state_of(child) == "T", PATIENCE_SECONDS, 0.01), "the worker never came to the point"
    try:
        yield child
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise


def _state_of(child: int) -> str:
    return Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
