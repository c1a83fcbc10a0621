"""The provider's published cache rules as a calculation: what a request reads and writes, given the current cache entries.

The rules are those of MEASUREMENTS A3. Each breakpoint writes one entry. From each breakpoint, a read looks back a limited number
of positions. A prefix below the model's minimum is not cached, and the API does not report it. The stand-in bills by these rules,
and the simulation of a month uses them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from apps.llm.model_backend import CacheLifetime

# Enough bytes to distinguish prefixes; short, because every call keeps several.
DIGEST_BYTES = 8
# At most this many equal prefixes are shared as one object.
PREFIXES_KEPT = 4096
LIFETIME_SECONDS: Mapping[CacheLifetime, int] = {"5m": 300, "1h": 3600}


@dataclass(frozen=True, slots=True)
class CacheRules:
    """The cache rules of a model, as published on `as_of`.

    A run of adjacent blocks of one of the `run_kinds` counts as one position of the look-back.
    """

    as_of: date
    minimum_prefix_tokens: int
    marks: int = 4
    look_back_positions: int = 20
    run_kinds: frozenset[str] = frozenset({"tool_use", "tool_result"})


@dataclass(frozen=True, slots=True)
class CacheBlock:
    """A block of the prompt in hashing order (tools, system, messages); `mark` is a breakpoint after the block."""

    content: bytes
    kind: str
    tokens: int
    mark: CacheLifetime | None = None


@dataclass(frozen=True, slots=True)
class Prefix:
    """The prompt up to the end of one block: its hash, its length in tokens, and its position for the look-back."""

    digest: bytes
    tokens: int
    position: int
    mark: CacheLifetime | None = None

    def marked(self, mark: CacheLifetime | None) -> Prefix:
        """Return the same prefix with this mark, or without one."""
        return self if self.mark == mark else _interned_prefix(self.digest, self.tokens, self.position, mark)


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A cached prefix: the lifetime that each use renews, and the time it expires."""

    lifetime_seconds: int
    expires_at: float


@dataclass(frozen=True, slots=True)
class TokenBill:
    """The tokens of a prompt by billing class."""

    read: int
    written_5m: int
    written_1h: int
    uncached: int


@dataclass(frozen=True, slots=True)
class CacheSettlement:
    """A request's bill, and the cache entries that exist once its response begins."""

    bill: TokenBill
    entries: Mapping[bytes, CacheEntry]


def settle(
    blocks: Sequence[CacheBlock],
    *,
    scope: str,
    cached: Mapping[bytes, CacheEntry],
    rules: CacheRules,
    now: float,
) -> CacheSettlement:
    """Calculate what a request reads and writes. The scope names the account and the model; scopes share no cache.

    The caller adds `entries` to the cache when the response begins; `now` is the time at which the request started.
    """
    return settle_prefixes(tuple(hash_prefixes(blocks, scope, rules)), cached=cached, rules=rules, now=now)


def settle_prefixes(
    along: Sequence[Prefix], *, cached: Mapping[bytes, CacheEntry], rules: CacheRules, now: float
) -> CacheSettlement:
    """Calculate like `settle`, for a prompt whose prefixes are already hashed."""
    marked = tuple(
        index for index, prefix in enumerate(along) if prefix.mark and prefix.tokens >= rules.minimum_prefix_tokens
    )
    hit = _highest_hit(along, marked, cached, rules, now)
    bill = _bill(along, marked, along[hit].tokens if hit >= 0 else 0)
    return CacheSettlement(bill, _entries_after(along, marked, hit, cached, now))


def hash_prefixes(blocks: Iterable[CacheBlock], scope: str, rules: CacheRules) -> Iterator[Prefix]:
    """Yield the prefix at the end of each block. A changed byte changes every later hash; a changed mark does not."""
    digest = start_digest(scope)
    tokens = 0
    position = -1
    previous = ""
    for block in blocks:
        digest = extend_digest(digest, hashlib.sha256(block.content).digest())
        tokens += block.tokens
        position += not (block.kind == previous and block.kind in rules.run_kinds)
        previous = block.kind
        yield _interned_prefix(digest, tokens, position, block.mark)


@lru_cache(PREFIXES_KEPT)
def _interned_prefix(digest: bytes, tokens: int, position: int, mark: CacheLifetime | None) -> Prefix:
    """Return one shared object for equal prefixes, because thousands of waiting calls have them in common."""
    return Prefix(digest, tokens, position, mark)


def start_digest(scope: str) -> bytes:
    """Return the hash of an empty prompt for one account and model."""
    return hashlib.sha256(scope.encode()).digest()[:DIGEST_BYTES]


def extend_digest(prefix_digest: bytes, content_digest: bytes) -> bytes:
    """Return the hash of a prefix extended by one block. Both parts have a fixed length, so the concatenation is unambiguous."""
    return hashlib.sha256(prefix_digest + content_digest).digest()[:DIGEST_BYTES]


def _highest_hit(
    along: Sequence[Prefix], marked: Sequence[int], cached: Mapping[bytes, CacheEntry], rules: CacheRules, now: float
) -> int:
    """Return the index of the longest prefix that is read from the cache, or -1."""
    for breakpoint_index in reversed(marked):
        oldest = along[breakpoint_index].position - rules.look_back_positions + 1
        for index in range(breakpoint_index, -1, -1):
            if along[index].position < oldest:
                break
            if _live_entry(along[index], cached, now) is not None:
                return index
    return -1


def _live_entry(prefix: Prefix, cached: Mapping[bytes, CacheEntry], now: float) -> CacheEntry | None:
    entry = cached.get(prefix.digest)
    return entry if entry is not None and entry.expires_at > now else None


def _bill(along: Sequence[Prefix], marked: Sequence[int], read: int) -> TokenBill:
    total = along[-1].tokens if along else 0
    long_end = max((along[index].tokens for index in marked if along[index].mark == "1h"), default=0)
    end_1h = max(read, long_end)
    end_5m = max(end_1h, along[marked[-1]].tokens if marked else 0)
    return TokenBill(read=read, written_5m=end_5m - end_1h, written_1h=end_1h - read, uncached=total - end_5m)


def _entries_after(
    along: Sequence[Prefix], marked: Sequence[int], hit: int, cached: Mapping[bytes, CacheEntry], now: float
) -> dict[bytes, CacheEntry]:
    """Return the entries after this request. A read renews an entry for its own lifetime; a longer mark does not extend it."""
    read_lifetime = cached[along[hit].digest].lifetime_seconds if hit >= 0 else 0
    entries = {}
    for index in {*marked, hit} - {-1}:
        known = _live_entry(along[index], cached, now)
        lifetime = LIFETIME_SECONDS[along[index].mark or "5m"]
        if known is not None:
            lifetime = known.lifetime_seconds
        elif index < hit:
            # Nothing is paid for the part before the hit, so a new entry in it lives no longer than the entry that was read.
            lifetime = min(lifetime, read_lifetime)
        entries[along[index].digest] = CacheEntry(lifetime, now + lifetime)
    return entries
