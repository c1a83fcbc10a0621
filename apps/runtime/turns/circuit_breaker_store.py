"""Stores the circuit breakers that all workers share (R131), and decides which turn may call its model, probe or has to wait.

Successful calls write nothing. Only failures and results of probes are written. Each worker counts its successful calls in memory
and adds them when it writes a failure, so that the failure rate covers all calls.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from random import random
from time import monotonic
from typing import Final

from django.db.models.functions import Now

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as, execute_as
from apps.llm.model_backend import BackendError
from apps.runtime.limits.circuit_breaker import (
    PROBE_TIMEOUT,
    WINDOW,
    Breaker,
    BreakerState,
    BreakerVerdict,
    CallPermission,
    after_failure,
    after_success,
    judge_call,
)
from apps.runtime.limits.retry_delay import counts_against_endpoint
from apps.runtime.models import CircuitBreaker
from apps.runtime.turn_store.turn_claim import TurnClaim

# While a probe is under way, other turns check again after about this many seconds. Turns that wait until a given time are spread
# over a period after that time.
PROBE_WAIT_SECONDS: Final = 5.0
SPREAD: Final = 0.25

_BEGIN_PROBE: Final = """
UPDATE runtime_circuitbreaker SET state = 'half_open', opened_until = statement_timestamp() + %(probe)s::interval
 WHERE endpoint_id = %(endpoint)s AND model = %(model)s AND state <> 'closed' AND opened_until <= statement_timestamp()
RETURNING id
"""
_FALL_BACK: Final = """
UPDATE runtime_turn SET model = %(model)s
 WHERE tenant_id = app_tenant() AND id = %(turn)s AND fence = %(fence)s AND status = 'running' AND NOT is_released RETURNING id
"""

# The times of this process's successful calls since it last wrote a failure. If some are dropped, the breaker only opens sooner.
_MOST_KEPT: Final = 1000
_recent_successes: dict[tuple[int, str], deque[float]] = {}


class BreakerOpen(Exception):
    """Calls of this model are paused for now. This does not count as a failed try of the turn."""

    code = "breaker_open"

    def __init__(self, model: str, seconds: float) -> None:
        super().__init__(f"Calls of {model} are paused for a moment, because many of them failed.")
        self.seconds = seconds


def allow_call(claimed: TurnClaim, *, actor: Actor) -> bool:
    """Return normally if a turn may call its model. The result is whether the call is the probe of the endpoint.

    If the model's calls are paused, a turn without an answer yet changes to the agent's fallback model for good.
    Raises BreakerOpen if the turn has to wait.
    """
    verdict = _current_verdict(claimed, claimed.model)
    if verdict.permission is CallPermission.CALL:
        return False
    if verdict.permission is CallPermission.PROBE and _begin_probe(claimed, actor):
        return True
    if _fall_back(claimed, actor):
        return False
    raise BreakerOpen(claimed.model, _wait_seconds(claimed, verdict))


def record_success(claimed: TurnClaim, *, is_probe: bool, actor: Actor) -> None:
    """Record a call that returned a reply."""
    key = claimed.endpoint_id, claimed.model
    if is_probe:
        _update_breaker(key, lambda breaker, now: after_success(breaker, now, is_probe=True), actor)
    else:
        _recent_successes.setdefault(key, deque(maxlen=_MOST_KEPT)).append(monotonic())


def record_failure(claimed: TurnClaim, error: BackendError, *, is_probe: bool, actor: Actor) -> None:
    """Record a failed call. A failure that does not count against the endpoint is only written for a probe."""
    is_counted = counts_against_endpoint(error.code)
    if not (is_counted or is_probe):
        return
    key = claimed.endpoint_id, claimed.model
    moment = monotonic()
    beside = [moment - at for at in _recent_successes.pop(key, ())]
    _update_breaker(key, lambda breaker, now: _apply_failure(breaker, now, beside, is_counted, is_probe), actor)


def _apply_failure(
    breaker: Breaker, now: datetime, beside: Sequence[float], is_counted: bool, is_probe: bool
) -> Breaker:
    """Count the successes, then the failure. `beside` are the seconds since each success; those before the window are ignored."""
    age = now - breaker.window_started_at if breaker.window_started_at else WINDOW
    for _ in filter(age.total_seconds().__ge__, beside if age < WINDOW else ()):
        breaker = after_success(breaker, now)
    return after_failure(breaker, now, is_counted, is_probe=is_probe)


def _current_verdict(claimed: TurnClaim, model: str) -> BreakerVerdict:
    breaker_row = claimed.terms.breakers.get(model)
    return (
        judge_call(_breaker(breaker_row), claimed.context.now) if breaker_row else BreakerVerdict(CallPermission.CALL)
    )


def _breaker(row: CircuitBreaker) -> Breaker:
    return Breaker(
        BreakerState(row.state),
        row.failures,
        row.calls,
        row.window_started_at,
        row.opened_until,
        row.opened_for_seconds,
    )


def _wait_seconds(claimed: TurnClaim, verdict: BreakerVerdict) -> float:
    breaker_row = claimed.terms.breakers[claimed.model]
    spread = random()  # noqa: S311  # not secret
    if verdict.until is None or breaker_row.state == BreakerState.HALF_OPEN.value:
        return PROBE_WAIT_SECONDS * (0.5 + spread)
    return (verdict.until - claimed.context.now).total_seconds() * (1 + SPREAD * spread)


def _begin_probe(claimed: TurnClaim, actor: Actor) -> bool:
    """Begin a probe, unless one is under way. Across all processes, at most one probe per endpoint and model runs at a time."""
    given = {"endpoint": claimed.endpoint_id, "model": claimed.model, "probe": PROBE_TIMEOUT}
    return bool(execute_as(actor, _BEGIN_PROBE, given))


def _fall_back(claimed: TurnClaim, actor: Actor) -> bool:
    turn, fallback = claimed.turn, claimed.agent.fallback_model
    if not fallback or turn.model or claimed.kept or turn.round > 1:
        return False
    if _current_verdict(claimed, fallback).permission is not CallPermission.CALL:
        return False
    if not execute_as(actor, _FALL_BACK, {"turn": turn.pk, "fence": turn.fence, "model": fallback}):
        return False
    turn.model = fallback
    return True


def _update_breaker(key: tuple[int, str], after: Callable[[Breaker, datetime], Breaker], actor: Actor) -> None:
    endpoint_id, model = key
    with acting_as(actor):
        CircuitBreaker.objects.get_or_create(endpoint_id=endpoint_id, model=model)
        rows = CircuitBreaker.objects.filter(endpoint_id=endpoint_id, model=model).annotate(now=Now())
        row = rows.select_for_update(no_key=True).get()
        before = _breaker(row)
        noted = after(before, row.now)
        if noted != before:
            CircuitBreaker.objects.filter(pk=row.pk).update(**{**asdict(noted), "state": noted.state.value})
