"""What must be true of every turn once nothing waits any more, whatever died on the way: SQL over all tenants, as superuser."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from apps.runtime.tools.toolbox import UNKNOWN_OUTCOME
from tests.durability.external_invariants_sql import DELIVERED_WEBHOOKS
from tests.durability.turn_invariants_sql import CREATE_WATCH_TABLES, EXTERNAL_STEPS, TURN_INVARIANTS, USAGE_TOTALS
from tests.support.servers.effects import Effects

__all__ = ["Bill", "Effects", "broken", "counted", "watch"]

MAX_SHOWN_ROWS = 10


@dataclass(frozen=True, slots=True)
class Bill:
    """What the model's endpoint billed for whole answers; `forgiven` calls may miss in the ledger beside one for each crash."""

    calls: int
    tokens: Mapping[str, int]
    forgiven: int = 0

    @classmethod
    def shown(cls, wire: Mapping[str, Any], forgiven: int = 0) -> "Bill":  # Any: JSON as `GET /standin/bill` shows it
        """As the stand-in shows it."""
        whole = dict(wire["whole"])
        return cls(int(whole.pop("calls")), {name: int(count) for name, count in whole.items()}, forgiven)


def watch(raw: psycopg.Connection[Any]) -> None:
    """Log every move of a turn in this throwaway database, so that two running at once are seen afterwards too."""
    raw.execute(CREATE_WATCH_TABLES)
    raw.commit()


def broken(raw: psycopg.Connection[Any], *, effects: Effects, bill: Bill | None) -> list[str]:
    """Every broken invariant, as a sentence with the rows that break it."""
    found = counted(raw, effects=effects, bill=bill)
    return [f"{name}: {_shorten_rows(rows)}" for name, rows in found.items() if rows]


def counted(raw: psycopg.Connection[Any], *, effects: Effects, bill: Bill | None) -> dict[str, list[str]]:
    """Each invariant with what breaks it, in the order in which they are told."""
    found = {name: [_row_name(row) for row in raw.execute(sql)] for name, sql in _sentences(raw)}
    steps = [CalledStep(*row) for row in raw.execute(EXTERNAL_STEPS)]
    found["a keyed effect happens once for its call"] = sorted(_check_keyed_effects(steps, effects.keyed))
    found["an unsafe effect happens at most once, and an unknown one is told"] = sorted(
        _check_unsafe_effects(steps, effects.unsafe)
    )
    found["a webhook hears everything, and of a conversation in its order"] = sorted(
        _check_deliveries(raw, effects.told)
    )
    if bill is not None:
        found["the ledger is the bill, but for one call a crash or a restart"] = list(_check_bill(raw, bill))
    raw.rollback()
    return found


def _sentences(raw: psycopg.Connection[Any]) -> Iterator[tuple[str, str]]:
    row = raw.execute("SELECT to_regclass('turn_moves')").fetchone()
    is_watched = bool(row and row[0])
    for name, sql in TURN_INVARIANTS.items():
        if is_watched or "turn_moves" not in sql:
            yield name, sql


@dataclass(frozen=True, slots=True)
class CalledStep:
    """One call outside the house as the journal has it."""

    place: str
    key: str
    repeat_safety: str
    state: str
    is_error: bool
    result: str
    has_ended: bool
    was_told: bool


def _check_deliveries(raw: psycopg.Connection[Any], deliveries: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Deliveries that are sent again under their number are lawful; one that comes behind a later one is not."""
    noted = {(int(thread), int(delivery)) for thread, delivery in raw.execute(DELIVERED_WEBHOOKS)}
    yield from (f"delivery {delivery} never came" for _, delivery in noted - set(deliveries))
    yield from (f"delivery {delivery} was noted nowhere" for _, delivery in set(deliveries) - noted)
    latest: dict[int, int] = {}
    for thread, delivery in deliveries:
        if delivery < latest.get(thread, 0):
            yield f"delivery {delivery} came behind {latest[thread]}"
        latest[thread] = max(delivery, latest.get(thread, 0))


def _check_keyed_effects(steps: list[CalledStep], counts: Mapping[str, int]) -> Iterator[str]:
    known = {step.key: step for step in steps if step.repeat_safety == "idempotent"}
    for key, count in counts.items():
        if count != 1:
            yield f"{key} happened {count} times"
        if key not in known:
            yield f"{key} happened and no step has it"
    for step in known.values():
        if step.state == "done" and not step.is_error and not counts.get(step.key):
            yield f"{step.key} is done and never happened"
    places = Counter(known[key].place for key in counts if key in known)
    yield from (f"{place} had {count} keys" for place, count in places.items() if count > 1)


def _check_unsafe_effects(steps: list[CalledStep], counts: Mapping[str, int]) -> Iterator[str]:
    known = {step.key: step for step in steps if step.repeat_safety == "unsafe"}
    yield from (f"{key} happened and no step has it" for key in counts.keys() - known.keys())
    yield from (f"{key} happened {count} times" for key, count in counts.items() if count > 1)
    for step in known.values():
        if step.state == "done" and not step.is_error and not counts.get(step.key):
            yield f"{step.key} is done and never happened"
        if step.state == "unknown" and step.result != UNKNOWN_OUTCOME.text:
            yield f"{step.key} is unknown in other words"
        if step.state == "unknown" and step.has_ended and not step.was_told:
            yield f"{step.key} is unknown and the model was not told"


def _check_bill(raw: psycopg.Connection[Any], bill: Bill) -> Iterator[str]:
    cursor = raw.execute(USAGE_TOTALS)
    row = cursor.fetchone() or ()
    ledger = {column.name: int(value) for column, value in zip(cursor.description or (), row, strict=True)}
    calls, crashes, restarts = (ledger.pop(name) for name in ("calls", "crashes", "restarts"))
    # A call that is broken off may have been answered by then.
    if not calls <= bill.calls <= calls + crashes + restarts + bill.forgiven:
        known = f"{calls} stand in the ledger, and there were {crashes} crashes and {restarts} restarts"
        yield f"{bill.calls} calls were billed, {known}"
    for name, tokens in ledger.items():
        billed = bill.tokens.get(name, 0)
        if tokens > billed or (calls == bill.calls and tokens != billed):
            yield f"{billed} {name.replace('_', ' ')} were billed and {tokens} stand in the ledger"


def _row_name(row: tuple[Any, ...]) -> str:
    return " ".join(map(str, row))


def _shorten_rows(rows: list[str]) -> str:
    more = f", and {len(rows) - MAX_SHOWN_ROWS} more" if len(rows) > MAX_SHOWN_ROWS else ""
    return ", ".join(rows[:MAX_SHOWN_ROWS]) + more
