"""Why a prefix that was sent before was not read: one declared cause for each call, or none that is known."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from apps.llm.cache_rules import CacheRules, Entry
from benchmarks.prompt_cache.lower_bound import HOUR
from benchmarks.prompt_cache.request_trie import Call, Node

# Which versions a slot is made from; tools and contract change with a release, and the contract with the agent's rules.
MADE_FROM: Final[Mapping[str, tuple[str, ...]]] = {
    "tools": ("release",),
    "contract": ("release", "rules"),
    "persona": ("persona",),
    "skills": ("skills",),
    "memory": ("memory",),
    "profile": ("profile",),
}


class Cause(StrEnum):
    """What may be the reason that something was not read."""

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
class Witness:
    """Looks at every call of a strategy and says why it read less than was sent before."""

    rules: CacheRules
    causes: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    _before: dict[int, Call] = field(default_factory=dict)
    _sent: dict[int, tuple[float, float]] = field(default_factory=dict)

    def see(self, call: Call, read: int, cached: Mapping[bytes, Entry]) -> None:
        """One call after the other, with what was cached when it came."""
        before = self._before.get(call.talk.talk_id)
        known = self._known(call)
        self._declare(call, read, before, known, cached)
        self._before[call.talk.talk_id] = call
        for node in call.path:
            # Only the first sending and the last one matter: parallel calls begin together.
            first_begins = self._sent.get(node.number, (call.begins_at, 0.0))[0]
            self._sent[node.number] = (min(first_begins, call.begins_at), call.at)

    def _known(self, call: Call) -> int:
        """How many blocks of it somebody had sent before."""
        return next((at for at, node in enumerate(call.path) if node.number not in self._sent), len(call.path))

    def _declare(self, call: Call, read: int, before: Call | None, known: int, cached: Mapping[bytes, Entry]) -> None:
        sent_before = call.path[known - 1].prefix.tokens if known else 0
        kept = _common(before.path, call.path) if before else 0
        if before is None:
            self._note(Cause.FIRST_CALL, call.path[-1].prefix.tokens - max(sent_before, read))
        elif kept < len(before.path):
            self._note(
                self._parted(before, call, kept), before.path[-1].prefix.tokens - before.path[kept - 1].prefix.tokens
            )
        if read < sent_before:
            lost = [node for node in call.path[:known] if node.prefix.tokens > read]
            self._note(self._lost(call, lost, cached), sent_before - read)

    def _note(self, cause: str, tokens: int) -> None:
        self.causes[cause] += 1
        self.tokens[cause] += tokens

    def _parted(self, before: Call, call: Call, kept: int) -> str:
        """The request no longer begins as the one before it: which slot an edit changed, or what the window let go."""
        label = call.path[kept].label if kept < len(call.path) else before.path[kept].label
        if label == "messages":
            return Cause.WINDOW if call.window_start != before.window_start else Cause.UNEXPLAINED
        slots = (label, before.path[kept].label)
        edited = any(before.versions[kind] != call.versions[kind] for slot in slots for kind in MADE_FROM.get(slot, ()))
        return f"{Cause.EDITED}: {label}" if edited else Cause.UNEXPLAINED

    def _lost(self, call: Call, lost: Sequence[Node], cached: Mapping[bytes, Entry]) -> str:
        """Somebody had sent it, and yet it was not read."""
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


def _common(one: Sequence[Node], other: Sequence[Node]) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (first, second) in enumerate(pairs) if first is not second), min(len(one), len(other)))
