"""Counts of turns during and after a run, read from the database by its superuser, who sees every tenant."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import quantiles
from typing import Any

import psycopg

from benchmarks.chaos.benchmark_setup import ChaosTestbed
from benchmarks.chaos.customers import WRITES, SimulatedCustomers
from tests.durability.invariants import Bill, Effects, counted, watch
from tests.settings import PREFIX
from tests.support.servers.effects_server import read_effects

TURN_COUNTS = """
SELECT (SELECT count(*) FROM runtime_turn), (SELECT count(*) FROM runtime_turn WHERE status = 'done'),
       (SELECT count(*) FROM conversations_inboundevent AS event LEFT JOIN runtime_turn AS turn ON turn.id = event.turn_id
         WHERE turn.status IS NULL OR turn.status = 'running'),
       (SELECT count(DISTINCT event.conversation_id) FROM conversations_inboundevent AS event
          LEFT JOIN runtime_turn AS turn ON turn.id = event.turn_id WHERE turn.status IS NULL OR turn.status = 'running'),
       (SELECT count(*) FROM tools_toolapproval WHERE status = 'waiting')
           + (SELECT count(*) FROM webhooks_delivery WHERE status = 'waiting'),
       (SELECT coalesce(max(id), 0) FROM runtime_turn)
"""
FAILURE_COUNTS = (
    "SELECT failure_code, count(*) FROM runtime_turn WHERE id > %s AND status = 'failed' GROUP BY 1 ORDER BY 1"
)
REPLY_WAITS = """
SELECT extract(epoch FROM turn.finished_at - min(event.due_at))::float8, turn.crashes > 0
  FROM runtime_turn AS turn JOIN conversations_inboundevent AS event ON event.turn_id = turn.id
 WHERE turn.id > %s AND turn.status = 'done' GROUP BY turn.id
"""
# Retries would wait for minutes. A delivery that was taken twenty seconds ago belongs to a worker that has died:
# no response takes that long.
MAKE_ALL_DUE = (
    "UPDATE runtime_turn SET run_at = statement_timestamp() WHERE status = 'running' AND run_at > statement_timestamp()",
    """
    UPDATE webhooks_delivery SET next_attempt_at = statement_timestamp(),
           lease_until = CASE WHEN lease_until < statement_timestamp() + interval '40 seconds' THEN statement_timestamp()
                              ELSE lease_until END
     WHERE status = 'waiting'
    """,
    "UPDATE webhooks_webhookhealth SET paused_until = NULL",
)
TOOL_STEP_COUNTS = """
SELECT 'reads at others', count(*) FROM runtime_toolstep WHERE position('__' IN name) > 0 AND repeat_safety = 'read_only'
 UNION ALL SELECT 'writes at others', count(*) FROM runtime_toolstep WHERE position('__' IN name) > 0 AND repeat_safety = 'unsafe'
 UNION ALL SELECT 'of which nobody knows', count(*) FROM runtime_toolstep WHERE state = 'unknown'
 UNION ALL SELECT 'questions to another agent', count(*) FROM conversations_conversation WHERE parent_id IS NOT NULL
 UNION ALL SELECT 'deliveries', count(*) FROM webhooks_delivery
 UNION ALL SELECT 'attempts of them', coalesce(sum(attempts), 0) FROM webhooks_delivery
"""


@dataclass(frozen=True, slots=True)
class WaitFigures:
    """Seconds from the moment a message was due to the end of its turn."""

    p50: float
    p99: float


@dataclass(frozen=True, slots=True)
class TurnCounts:
    """Counts of turns; `left` counts messages without an end, `waiting` their conversations, `unsettled` calls that wait for
    a person and deliveries."""

    begun: int
    done: int
    left: int
    waiting: int
    unsettled: int
    last_id: int
    failed: Mapping[str, int] = field(default_factory=dict)
    waits: Mapping[str, WaitFigures] = field(default_factory=dict)


class ResultReader:
    """Reads over a connection that may break at any time."""

    def __init__(self, ground: ChaosTestbed) -> None:
        self._ground = ground
        self._url = ground.server.url_for("postgres", database=PREFIX)
        self._raw: psycopg.Connection[Any] | None = None

    def watch(self) -> None:
        """Have the database record every move of a turn."""
        with psycopg.connect(self._url) as raw:
            watch(raw)

    def look(self, customers: SimulatedCustomers) -> TurnCounts:
        """Count, and pass the customers the number of waiting conversations."""
        turns = self._read_counts()
        customers.waiting = turns.waiting
        return turns

    def turns(self, since: TurnCounts | None = None) -> TurnCounts:
        """Count all turns, or those since an earlier count: failures by reason, and the durations of the others."""
        turns = self._read_counts()
        if since is None:
            return turns
        with psycopg.connect(self._url) as raw:
            failed = {str(code): int(count) for code, count in raw.execute(FAILURE_COUNTS, [since.last_id])}
            waited = [(float(seconds), bool(lost)) for seconds, lost in raw.execute(REPLY_WAITS, [since.last_id])]
        waits = {"all": waits_of([seconds for seconds, _ in waited])}
        waits["of turns that lost a worker"] = waits_of([seconds for seconds, lost in waited if lost])
        return TurnCounts(
            *(
                turns.begun - since.begun,
                turns.done - since.done,
                turns.left,
                turns.waiting,
                turns.unsettled,
                turns.last_id,
            ),
            *(failed, waits),
        )

    def look_ahead(self, customers: SimulatedCustomers) -> TurnCounts:
        """Make every retry due, then count."""
        with psycopg.connect(self._url) as raw:
            for pull in MAKE_ALL_DUE:
                raw.execute(pull)
        return self.look(customers)

    def broken(self) -> dict[str, list[str]]:
        """Return each invariant with the rows that break it."""
        bill = Bill.shown(self._ground.tell_model("GET", "bill"))
        with psycopg.connect(self._url) as raw:
            return counted(raw, effects=self._read_effects(), bill=bill)

    def elsewhere(self) -> dict[str, int]:
        """Return what happened in outside servers according to the product, and the number of webhook deliveries."""
        with psycopg.connect(self._url) as raw:
            known = {str(name): int(number) for name, number in raw.execute(TOOL_STEP_COUNTS)}
        return known | {"deliveries heard": len(self._read_effects().told)}

    def _read_effects(self) -> Effects:
        called = Counter(str(seen["key"]) for seen in self._ground.tools.seen() if seen["name"] == WRITES)
        return replace(read_effects(self._ground.counter), unsafe=called)

    def _read_counts(self) -> TurnCounts:
        while True:
            try:
                if self._raw is None:
                    self._raw = psycopg.connect(self._url, autocommit=True)
                row = self._raw.execute(TURN_COUNTS).fetchone()
            except psycopg.OperationalError:
                self._raw = None
            else:
                return TurnCounts(*(row or (0, 0, 0, 0, 0, 0)))


def waits_of(seconds: list[float]) -> WaitFigures:
    """Return the median and the 99th percentile."""
    if len(seconds) < 2:
        return WaitFigures(*(seconds * 2 or (0.0, 0.0)))
    cut = quantiles(seconds, n=100, method="inclusive")
    return WaitFigures(cut[49], cut[98])
