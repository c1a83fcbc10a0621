"""Rates of reuse: how often a prefix is sent again, counted from the calls so far."""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from apps.prompt.cache.breakpoints import Reuse, ReuseExpectation, reuse_at_rate
from benchmarks.prompt_cache.lower_bound import HOUR, MINUTES
from benchmarks.prompt_cache.request_trie import TracedCall

DAY: Final = 86_400.0


@dataclass(slots=True)
class Gaps:
    """Pauses between uses: counts of short ones, those under an hour, and longer ones. The counts begin with a guess."""

    soon: float
    later: float
    never: float

    def count(self, seconds: float) -> None:
        if seconds < MINUTES:
            self.soon += 1
        elif seconds < HOUR:
            self.later += 1
        else:
            self.never += 1

    @property
    def reuse(self) -> Reuse:
        seen = self.soon + self.later + self.never
        return Reuse(self.soon / seen, self.later / seen)


@dataclass(slots=True)
class Arrivals:
    """Conversations that begin in an hour: by agent from its days, with the hourly profile of all agents."""

    by_hour: list[float] = field(default_factory=lambda: [4.0] * 24)
    by_agent: dict[int, float] = field(default_factory=dict)
    everybody: float = 0.0

    def count(self, agent_id: int, at: float) -> None:
        self.by_hour[_hour(at)] += 1
        self.by_agent[agent_id] = self.by_agent.get(agent_id, 0.0) + 1
        self.everybody += 1

    def of_agent(self, agent_id: int, at: float) -> Reuse:
        return reuse_at_rate(self.by_agent.get(agent_id, 1.0) / (at / DAY + 0.5) * self._share(at))

    def of_everybody(self, at: float) -> Reuse:
        return reuse_at_rate(self.everybody / (at / DAY + 0.5) * self._share(at))

    def _share(self, at: float) -> float:
        """Return the share of a day's conversations that begin in the coming hour."""
        passed = at % HOUR / HOUR
        hour = _hour(at)
        to_come = (1 - passed) * self.by_hour[hour] + passed * self.by_hour[(hour + 1) % 24]
        return to_come / sum(self.by_hour)


def _hour(at: float) -> int:
    return int(at // HOUR) % 24


@dataclass(slots=True)
class ObservedReuse:
    """The pauses within conversations, and the rate of new ones."""

    pauses: Gaps = field(default_factory=lambda: Gaps(16, 2, 2))
    arrivals: Arrivals = field(default_factory=Arrivals)
    waiting: deque[tuple[float, int]] = field(default_factory=deque)
    latest: dict[int, float] = field(default_factory=dict)

    def expectation(self, call: TracedCall) -> ReuseExpectation:
        """Return the expected reuse after this call, from all calls before it."""
        self._observe_call(call)
        agent_id = call.talk.agent_id
        return ReuseExpectation(
            conversation=self.pauses.reuse,
            customer=Reuse(0.0, 0.02),
            agent=self.arrivals.of_agent(agent_id, call.at),
            workspace=self.arrivals.of_everybody(call.at),
        )

    def _observe_call(self, call: TracedCall) -> None:
        talk_id = call.talk.talk_id
        before = self.latest.get(talk_id)
        if before is None:
            self.arrivals.count(call.talk.agent_id, call.at)
        elif call.at - before < HOUR:
            self.pauses.count(call.at - before)
        self.latest[talk_id] = call.at
        self.waiting.append((call.at, talk_id))
        while self.waiting and call.at - self.waiting[0][0] >= HOUR:
            at, quiet = self.waiting.popleft()
            if self.latest[quiet] == at:
                self.pauses.count(HOUR)
