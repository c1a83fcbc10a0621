"""The provider's published cache rules, as a calculation: what a request reads and writes, given what is cached now.

The rules are those of MEASUREMENTS A3. One entry is written per breakpoint; a read walks back at most twenty
positions from each breakpoint; below the model's minimum prefix nothing is cached and nothing says so.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from apps.llm.backend import CacheLifetime

LIFETIME_SECONDS: Mapping[CacheLifetime, int] = {"5m": 300, "1h": 3600}
LOOK_BACK_POSITIONS = 20
# A run of neighbouring blocks of one of these kinds counts as one position.
RUN_KINDS = frozenset({"tool_use", "tool_result"})


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of the prompt in hashing order (tools, system, messages); `mark` is a breakpoint behind it."""

    content: bytes
    kind: str
    tokens: int
    mark: CacheLifetime | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A cached prefix: how long a use keeps it, and until when the last use does."""

    lifetime_seconds: int
    expires_at: float


@dataclass(frozen=True, slots=True)
class Bill:
    """How the tokens of a prompt are charged."""

    read: int
    written_5m: int
    written_1h: int
    uncached: int


@dataclass(frozen=True, slots=True)
class Settled:
    """A request's bill, and the entries it leaves behind once its response begins."""

    bill: Bill
    entries: Mapping[str, Entry]


@dataclass(frozen=True, slots=True)
class _Prefix:
    digest: str
    tokens: int
    position: int
    mark: CacheLifetime | None


def settle(
    blocks: Sequence[Block],
    *,
    scope: str,
    cached: Mapping[str, Entry],
    minimum_tokens: int,
    now: float,
) -> Settled:
    """Caches are never shared between scopes: a scope names the account and the model.

    The caller adds `entries` to what is cached when the response begins; `now` is when the request started.
    """
    prefixes = tuple(_prefixes(blocks, scope))
    live = {digest: entry for digest, entry in cached.items() if entry.expires_at > now}
    marked = tuple(index for index, prefix in enumerate(prefixes) if prefix.mark and prefix.tokens >= minimum_tokens)
    hit = _highest_hit(prefixes, marked, live)
    bill = _bill(prefixes, marked, prefixes[hit].tokens if hit is not None else 0)
    return Settled(bill, _left_behind(prefixes, marked, hit, live, now))


def _prefixes(blocks: Iterable[Block], scope: str) -> Iterable[_Prefix]:
    digest = hashlib.sha256(scope.encode())
    tokens = 0
    position = -1
    previous = ""
    for block in blocks:
        # The length keeps two blocks from reading like one.
        digest.update(len(block.content).to_bytes(8, "big") + block.content)
        tokens += block.tokens
        position += not (block.kind == previous and block.kind in RUN_KINDS)
        previous = block.kind
        yield _Prefix(digest.hexdigest(), tokens, position, block.mark)


def _highest_hit(prefixes: Sequence[_Prefix], marked: Sequence[int], live: Mapping[str, Entry]) -> int | None:
    for breakpoint_index in reversed(marked):
        oldest = prefixes[breakpoint_index].position - LOOK_BACK_POSITIONS + 1
        for index in range(breakpoint_index, -1, -1):
            if prefixes[index].position < oldest:
                break
            if prefixes[index].digest in live:
                return index
    return None


def _bill(prefixes: Sequence[_Prefix], marked: Sequence[int], read: int) -> Bill:
    total = prefixes[-1].tokens if prefixes else 0
    long_end = max((prefixes[index].tokens for index in marked if prefixes[index].mark == "1h"), default=0)
    end_1h = max(read, long_end)
    end_5m = max(end_1h, prefixes[marked[-1]].tokens if marked else 0)
    return Bill(read=read, written_5m=end_5m - end_1h, written_1h=end_1h - read, uncached=total - end_5m)


def _left_behind(
    prefixes: Sequence[_Prefix],
    marked: Sequence[int],
    hit: int | None,
    live: Mapping[str, Entry],
    now: float,
) -> dict[str, Entry]:
    """A use refreshes an entry for the entry's own lifetime; a longer mark on what is only read prolongs nothing."""
    read_lifetime = live[prefixes[hit].digest].lifetime_seconds if hit is not None else 0
    used = [*marked] if hit is None else [hit, *marked]
    entries = {}
    for index in used:
        prefix = prefixes[index]
        known = live.get(prefix.digest)
        lifetime = LIFETIME_SECONDS[prefix.mark or "5m"]
        if known is not None:
            lifetime = known.lifetime_seconds
        elif hit is not None and index < hit:
            # Below the hit nothing is paid for, so what is written there lives no longer than what was read.
            lifetime = min(lifetime, read_lifetime)
        entries[prefix.digest] = Entry(lifetime, now + lifetime)
    return entries
