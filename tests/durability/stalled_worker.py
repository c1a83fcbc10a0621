"""One worker sleeps at a crossing of a turn, another finishes it, and the first wakes up with nothing left to write."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from psycopg.errors import LockNotAvailable

from apps.conversations.models import InboundEvent
from apps.launcher.child_processes import wait_until
from apps.runtime.turns.turn_machine import TurnMachine, start_turn
from tests.durability.forked_workers import FINAL_REPLY, CrashStage
from tests.support.timeouts import PATIENCE_SECONDS

# How long a lock is waited for that only a sleeper in the middle of writing holds on to.
LOCK_SECONDS = 2
# Everything a turn writes, row by row.
WATCHED_TABLES = (
    *("conversations_inboundevent", "conversations_message", "governance_changerecord", "memory_customerprofile"),
    *("runtime_modelcall", "runtime_session", "runtime_sessionpart", "runtime_snapshotpart", "runtime_toolstep"),
    "runtime_turn",
)


def check_stall(
    stage: CrashStage, crossings: Sequence[str], point: int, side: str, *, in_session: bool, meets_holder: bool
) -> Iterator[str]:
    """What is wrong after a sleep beyond the lease at this point; nothing, if all is well.

    Whoever took the turn over has finished it when the sleeper wakes up, or still holds it.
    """
    where = f"asleep {side} {point} ({crossings[point - 1]})"
    event = stage.arrive(in_session=in_session)
    with _wait_until_stopped(stage.start(event, point, side, "stop")) as child:
        holder = _take_over_turn(stage, event)
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
    if ending != ("done", "replied", FINAL_REPLY):
        yield f"{where}: the turn ended as {ending}"
    yield from (f"{where}: {flaw}" for flaw in stage.broken())


def rows_of(stage: CrashStage) -> dict[str, tuple[int, str]]:
    """How many rows each table has, and the hash of all of them."""
    found = {}
    for table in WATCHED_TABLES:
        hashed = f"SELECT count(*), md5(coalesce(string_agg(row::text, '' ORDER BY row.id), '')) FROM {table} AS row"  # noqa: S608  # of constants
        found[table] = stage.raw.execute(hashed).fetchone() or (0, "")
    stage.raw.rollback()
    return found


def _take_over_turn(stage: CrashStage, event: InboundEvent) -> TurnMachine | None:
    """The turn in another worker's hands; None while the sleeper is in the middle of writing it, or if it has ended."""
    try:
        stage.lease_runs_out(event, patience_seconds=LOCK_SECONDS)
    except LockNotAvailable:
        stage.raw.rollback()
        return None
    return start_turn(stage.world.tenant.pk, event.conversation_id, stage.toolbox)


@contextmanager
def _wait_until_stopped(child: int) -> Iterator[int]:
    assert wait_until(lambda: _state_of(child) == "T", PATIENCE_SECONDS, 0.01), "the worker never came to the point"
    try:
        yield child
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise


def _state_of(child: int) -> str:
    return Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
