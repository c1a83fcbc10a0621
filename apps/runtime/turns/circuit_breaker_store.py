"""The breakers of endpoints as all workers see them (R131): who may ask, who looks whether an endpoint is back, who waits.

Nothing is written while calls succeed. A failure is, and what became of the call that looked; each worker counts by itself how many
calls went well since its last word, so that an endpoint is judged by all of them.
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

# While somebody looks, the others ask again after so many seconds; those that wait for a moment are spread behind it.
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

# When calls went well in this process since a failure was last noted, the latest of them. To forget them only makes us more
# careful.
_MOST_KEPT: Final = 1000
_recent_successes: dict[tuple[int, str], deque[float]] = {}


class BreakerOpen(Exception):
    """Calls of this model are held back for now; that is no failed try of the turn's."""

    code = "breaker_open"

    def __init__(self, model: str, seconds: float) -> None:
        super().__init__(f"Calls of {model} are held back for a moment, because many of them failed.")
        self.seconds = seconds


def allow_call(claimed: TurnClaim, *, actor: Actor) -> bool:
    """Let a turn ask its model, and say whether its call is the one that looks if the endpoint is back.

    A turn that has heard nothing yet is asked of the agent's fallback instead, and stays with it. Raises BreakerOpen.
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
    """A call brought a reply."""
    key = claimed.endpoint_id, claimed.model
    if is_probe:
        _update_breaker(key, lambda breaker, now: after_success(breaker, now, is_probe=True), actor)
    else:
        _recent_successes.setdefault(key, deque(maxlen=_MOST_KEPT)).append(monotonic())


def record_failure(claimed: TurnClaim, error: BackendError, *, is_probe: bool, actor: Actor) -> None:
    """A call brought none. What only shows that the endpoint answers is noted where somebody looked for that."""
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
    """`beside` are the seconds since each call that went well; those from before the window began do not speak for it."""
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
    """At most one call looks at a time, whichever process makes it."""
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
