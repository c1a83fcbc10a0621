"""Rate limits: requests are counted per agent or member and per tenant, in windows of a minute.

The broker counts in one round trip, without SQL. While the broker is unavailable, each process counts by itself, so the limits
apply per process; no request is refused or delayed because the broker is unavailable.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import ceil
from typing import Final

import redis
from django.conf import settings
from rest_framework.exceptions import Throttled

from apps.governance.actors import Actor, RateLimits
from apps.runtime.streaming.reply_pubsub import RECONNECT_SECONDS, broker_client

WINDOW_SECONDS: Final = 60
# The counter of the previous window expires some time after that window has ended.
COUNTER_TTL_SECONDS: Final = 2 * WINDOW_SECONDS
CALLER_QUOTA: Final = "asker"
TENANT_QUOTA: Final = "tenant"


@dataclass(frozen=True, slots=True)
class Quota:
    """One limit, and how much of it remains."""

    name: str
    limit: int
    used: int
    resets_in: int

    @property
    def is_spent(self) -> bool:
        """Return whether this request exceeds the limit."""
        return self.used > self.limit

    def __str__(self) -> str:
        return f'"{self.name}";r={max(self.limit - self.used, 0)};t={self.resets_in}'


def use_quotas(actor: Actor, cost: int = 1) -> tuple[Quota, ...]:
    """Count a request against the limits of its actor and tenant."""
    limits = _limits(actor.pace)
    if not limits:
        return ()
    now = time.time()
    window = int(now // WINDOW_SECONDS)
    subjects = _subjects(actor)
    used = _count_keys([f"preceptor:rate:{subjects[name]}:{window}" for name in limits], cost)
    resets_in = ceil((window + 1) * WINDOW_SECONDS - now)
    return tuple(Quota(name, limits[name], each, resets_in) for name, each in zip(limits, used, strict=True))


def enforce_quotas(quotas: Sequence[Quota]) -> None:
    """Refuse a request that exceeds a limit, and name the time at which the limit resets."""
    for quota in quotas:
        if quota.is_spent:
            subject = "Your limit" if quota.name == CALLER_QUOTA else "The limit of your tenant"
            raise Throttled(wait=quota.resets_in, detail=f"Too many requests. {subject} is {quota.limit} a minute.")


def quota_headers(quotas: Sequence[Quota]) -> Mapping[str, str]:
    """Return the limits in the format of the IETF draft on RateLimit header fields."""
    if not quotas:
        return {}
    policies = (f'"{quota.name}";q={quota.limit};w={WINDOW_SECONDS}' for quota in quotas)
    return {"RateLimit-Policy": ", ".join(policies), "RateLimit": ", ".join(map(str, quotas))}


def _limits(pace: RateLimits) -> Mapping[str, int]:
    """Return the lower of the tenant's and the installation's limits. 0 means that the installation has no limit."""
    limit_pairs = {
        CALLER_QUOTA: (pace.per_asker, settings.REQUESTS_PER_MINUTE),
        TENANT_QUOTA: (pace.per_tenant, settings.REQUESTS_PER_MINUTE_OF_TENANT),
    }
    return {name: min(filter(None, each)) for name, each in limit_pairs.items() if any(each)}


def _subjects(actor: Actor) -> Mapping[str, str]:
    who = f"agent:{actor.agent_id}" if actor.agent_id is not None else f"member:{actor.user_id}"
    return {CALLER_QUOTA: f"{actor.tenant_id}:{who}", TENANT_QUOTA: f"{actor.tenant_id}"}


@dataclass(slots=True)
class _LocalCounts:
    """The counts of this process while the broker is unavailable, and the time of the next attempt to reach it."""

    counted: dict[str, int] = field(default_factory=dict)
    away_until: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, keys: Sequence[str], cost: int) -> list[int]:
        with self.lock:
            window = keys[0].rpartition(":")[2]
            self.counted = {key: used for key, used in self.counted.items() if key.rpartition(":")[2] == window}
            for key in keys:
                self.counted[key] = self.counted.get(key, 0) + cost
            return [self.counted[key] for key in keys]


_local_counts = _LocalCounts()


@cache
def _client() -> "redis.Redis":
    return broker_client()


def _count_keys(keys: Sequence[str], cost: int) -> list[int]:
    if time.monotonic() < _local_counts.away_until:
        return _local_counts.count(keys, cost)
    try:
        with _client().pipeline(transaction=False) as pipeline:
            for key in keys:
                pipeline.incrby(key, cost)
                pipeline.expire(key, COUNTER_TTL_SECONDS)
            return [int(each) for each in pipeline.execute()[::2]]
    except redis.RedisError:
        _local_counts.away_until = time.monotonic() + RECONNECT_SECONDS
        return _local_counts.count(keys, cost)
