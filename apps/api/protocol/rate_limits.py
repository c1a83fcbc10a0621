"""How often somebody asks: counted for the agent or member and for the tenant, in windows of a minute.

The broker counts, in one round trip and no statement of SQL. While it is away each process counts for itself, so that a limit
is met by each of them; nobody is refused because nothing counts, and nobody waits for what is not there.
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
# The window before is forgotten a while after it ended.
COUNTER_TTL_SECONDS: Final = 2 * WINDOW_SECONDS
CALLER_QUOTA: Final = "asker"
TENANT_QUOTA: Final = "tenant"


@dataclass(frozen=True, slots=True)
class Quota:
    """What one of the limits has left."""

    name: str
    limit: int
    used: int
    resets_in: int

    @property
    def is_spent(self) -> bool:
        """Whether this request was one too many."""
        return self.used > self.limit

    def __str__(self) -> str:
        return f'"{self.name}";r={max(self.limit - self.used, 0)};t={self.resets_in}'


def use_quotas(actor: Actor, cost: int = 1) -> tuple[Quota, ...]:
    """Count what somebody asks for."""
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
    """Refuse who asked too often, and say until when."""
    for quota in quotas:
        if quota.is_spent:
            subject = "You ask" if quota.name == CALLER_QUOTA else "Your tenant asks"
            raise Throttled(wait=quota.resets_in, detail=f"{subject} more than {quota.limit} times a minute.")


def quota_headers(quotas: Sequence[Quota]) -> Mapping[str, str]:
    """As the IETF draft on RateLimit header fields has them."""
    if not quotas:
        return {}
    policies = (f'"{quota.name}";q={quota.limit};w={WINDOW_SECONDS}' for quota in quotas)
    return {"RateLimit-Policy": ", ".join(policies), "RateLimit": ", ".join(map(str, quotas))}


def _limits(pace: RateLimits) -> Mapping[str, int]:
    """The tenant's own limits, and the installation's where it has none or less; 0 is none of the installation."""
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
    """What this process counted while the broker was away, and until when it is not asked again."""

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
