"""Causes of cache misses: one declared cause for each call that missed a prefix, or none that is known."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from apps.llm.cache_rules import CacheEntry, CacheRules
from benchmarks.prompt_cache.lower_bound import HOUR
from benchmarks.prompt_cache.request_trie import Node, TracedCall

# The versions a slot is made from; tools and contract change with a release, and the contract with the agent's rules too.
SLOT_RECORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "tools": ("release",),
    "contract": ("release", "rules"),
    "persona": ("persona",),
    "skills": ("skills",),
    "memory": ("memory",),
    "profile": ("profile",),
}


class Cause(StrEnum):
    """A cause of a cache miss."""

    FIRST_CALL = "first call"
    PARALLEL = "parallel first call"
    LIFETIME = "lifetime ran out"
    FLOOR = "under the floor"
    EDITED = "edited slot"
    WINDOW = "history window moved"
    LOOK_BACK = "look-back"
    NO_MARK = "no mark where requests part"
    UNEXPLAINED = "unexplained"


@dataclass(slots=True)
class MissCauseRecorder:
    """Examines every call of a strategy and records why it read less than was sent before."""

    rules: CacheRules
    causes: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    _before: dict[int, TracedCall] = field(default_factory=dict)
    _sent: dict[int, tuple[float, float]] = field(default_factory=dict)

    def see(self, call: TracedCall, read: int, cached: Mapping[bytes, CacheEntry]) -> None:
        """Examine one call, with the entries that were cached when it came."""
        before = self._before.get(call.talk.talk_id)
        known = self._count_known_blocks(call)
        self._record_miss(call, read, before, known, cached)
        self._before[call.talk.talk_id] = call
        for node in call.path:
            # Only the first and the last sending matter: parallel calls begin together.
            first_begins = self._sent.get(node.number, (call.begins_at, 0.0))[0]
            self._sent[node.number] = (min(first_begins, call.begins_at), call.at)

    def _count_known_blocks(self, call: TracedCall) -> int:
        """Return how many blocks of the call were sent before."""
        return next((at for at, node in enumerate(call.path) if node.number not in self._sent), len(call.path))

    def _record_miss(
        self, call: TracedCall, read: int, before: TracedCall | None, known: int, cached: Mapping[bytes, CacheEntry]
    ) -> None:
        sent_before = call.path[known - 1].prefix.tokens if known else 0
        kept = _common_length(before.path, call.path) if before else 0
        if before is None:
            self._count_cause(Cause.FIRST_CALL, call.path[-1].prefix.tokens - max(sent_before, read))
        elif kept < len(before.path):
            self._count_cause(
                self._prefix_change_cause(before, call, kept),
                before.path[-1].prefix.tokens - before.path[kept - 1].prefix.tokens,
            )
        if read < sent_before:
            lost = [node for node in call.path[:known] if node.prefix.tokens > read]
            self._count_cause(self._lost_entry_cause(call, lost, cached), sent_before - read)

    def _count_cause(self, cause: str, tokens: int) -> None:
        self.causes[cause] += 1
        self.tokens[cause] += tokens

    def _prefix_change_cause(self, before: TracedCall, call: TracedCall, kept: int) -> str:
        """Return the cause if the request begins differently from the one before: the edited slot, or the history window."""
        label = call.path[kept].label if kept < len(call.path) else before.path[kept].label
        if label == "messages":
            return Cause.WINDOW if call.window_start != before.window_start else Cause.UNEXPLAINED
        slots = (label, before.path[kept].label)
        edited = any(
            before.versions[kind] != call.versions[kind] for slot in slots for kind in SLOT_RECORDS.get(slot, ())
        )
        return f"{Cause.EDITED}: {label}" if edited else Cause.UNEXPLAINED

    def _lost_entry_cause(self, call: TracedCall, lost: Sequence[Node], cached: Mapping[bytes, CacheEntry]) -> str:
        """Return the cause if the prefix was sent before and yet not read."""
        if lost[-1].prefix.tokens < self.rules.minimum_prefix_tokens:
            return Cause.FLOOR
        first_begins, last_at = self._sent[lost[0].number]
        entries = [entry for node in lost if (entry := cached.get(node.prefix.digest))]
        if any(entry.expires_at > call.at for entry in entries):
            return Cause.LOOK_BACK
        if first_begins > call.at:
            return Cause.PARALLEL
        if entries or call.at - last_at >= HOUR:
            return Cause.LIFETIME
        return Cause.NO_MARK


def _common_length(one: Sequence[Node], other: Sequence[Node]) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (first, second) in enumerate(pairs) if first is not second), min(len(one), len(other)))
