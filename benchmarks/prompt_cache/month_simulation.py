"""A month of conversations as the product would send them: the real renderer, invented people.

First the times of messages, answers and edits are drawn; then every
request is rendered from the values at that moment and stored as a path in a trie of prefixes.
"""

import math
from bisect import bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from random import Random
from typing import Final, NamedTuple

from apps.prompt.prompt_input import SlotOrder

START: Final = datetime(2026, 10, 1, tzinfo=UTC)
DAY: Final = 86_400.0
# The share of a day's conversations that begin in each hour.
HOURS: Final = (1, 1, 1, 1, 1, 2, 4, 8, 14, 18, 18, 16, 14, 16, 17, 16, 14, 12, 9, 7, 5, 4, 3, 2)
# The shares of answers with no, one, two and three rounds of tools.
ROUNDS: Final = (45, 35, 15, 5)


@dataclass(frozen=True, slots=True)
class Setting:
    """The parameters from which the month is drawn."""

    seed: int = 7
    days: int = 30
    tenants: int = 20
    agents_per_tenant: int = 2
    conversations_per_day: float = 75.0
    turns_mean: float = 8.0
    think_median_seconds: float = 75.0
    think_sigma: float = 1.3
    # The share of pauses that last between an hour and three days, whatever the median.
    long_pauses: float = 0.02
    skills: tuple[int, int] = (3, 60)
    tools: int = 14
    order: SlotOrder = SlotOrder.CONTRACT_FIRST

    @property
    def agents(self) -> int:
        return self.tenants * self.agents_per_tenant


class Round(NamedTuple):
    """One model answer that calls tools, and the duration of both."""

    model_seconds: float
    tool_seconds: float
    calls: int
    result_characters: int


class SimulatedTurn(NamedTuple):
    """A customer's message and the time to answer it."""

    at: float
    message_characters: int
    rounds: tuple[Round, ...]
    model_seconds: float
    reply_characters: int

    @property
    def ends_at(self) -> float:
        return self.at + self.model_seconds + sum(round_.model_seconds + round_.tool_seconds for round_ in self.rounds)


@dataclass(frozen=True, slots=True)
class SimulatedTalk:
    """One customer's conversation with one agent."""

    talk_id: int
    agent_id: int
    customer_id: int
    turns: tuple[SimulatedTurn, ...]


@dataclass(slots=True)
class EditHistory:
    """The moments at which each record was changed; its version is the number of changes until then."""

    at: dict[tuple[str, int], list[float]] = field(default_factory=dict)

    def add(self, record_type: str, record_id: int, moment: float) -> None:
        insort(self.at.setdefault((record_type, record_id), []), moment)

    def version(self, record_type: str, record_id: int, moment: float) -> int:
        return bisect_right(self.at.get((record_type, record_id), []), moment)


@dataclass(frozen=True, slots=True)
class Month:
    """The conversations of a month, and the edits during it."""

    setting: Setting
    talks: tuple[SimulatedTalk, ...]
    edits: EditHistory


def draw(setting: Setting) -> Month:
    """Draw the month. The same setting gives the same month, whatever the slot order."""
    rng = Random(f"{setting.seed}")
    edits = EditHistory()
    for agent_id in range(setting.agents):
        _edit_agent(rng, edits, agent_id, setting.days)
    edits.add("release", 0, setting.days * DAY / 2 + 3 * 3600)
    customers: dict[int, list[int]] = {}
    talks = []
    for talk_id, at in enumerate(_draw_starts(rng, setting)):
        agent_id = _draw_agent(rng, setting)
        customer_id = _customer(rng, customers.setdefault(agent_id, []), agent_id)
        talk = SimulatedTalk(talk_id, agent_id, customer_id, tuple(_turns(rng, setting, at)))
        talks.append(talk)
        if rng.random() < 0.6:
            edits.add("profile", customer_id, talk.turns[-1].ends_at + 600)
    return Month(setting, tuple(talks), edits)


def _edit_agent(rng: Random, edits: EditHistory, agent_id: int, days: int) -> None:
    """Draw the edits: memory about every three days, the persona every ten, a new skill every ten, rules every thirty."""
    for record_type, every_days in (("memory", 3.0), ("persona", 10.0), ("skills", 10.0), ("rules", 30.0)):
        at = rng.expovariate(1 / every_days)
        while at < days:
            edits.add(record_type, agent_id, at * DAY)
            at += rng.expovariate(1 / every_days)


def _draw_starts(rng: Random, setting: Setting) -> list[float]:
    hours = tuple(accumulate(HOURS))
    count = round(setting.conversations_per_day * setting.days)
    draws = (
        rng.randrange(setting.days) * DAY + (bisect_right(hours, rng.random() * hours[-1]) + rng.random()) * 3600
        for _ in range(count)
    )
    return sorted(draws)


def _draw_agent(rng: Random, setting: Setting) -> int:
    """Draw an agent; a few agents have most of the customers."""
    return min(int(rng.paretovariate(0.7)) - 1, 10**6) % setting.agents


def _customer(rng: Random, known: list[int], agent_id: int) -> int:
    if known and rng.random() < 0.4:
        return rng.choice(known)
    known.append(agent_id * 100_000 + len(known))
    return known[-1]


def _turns(rng: Random, setting: Setting, at: float) -> Iterator[SimulatedTurn]:
    goes_on = 1 - 1 / setting.turns_mean
    while True:
        rounds = tuple(_round(rng) for _ in range(rng.choices(range(4), ROUNDS)[0]))
        turn = SimulatedTurn(at, rng.randrange(40, 400), rounds, rng.uniform(2, 8), rng.randrange(150, 900))
        yield turn
        if rng.random() > goes_on:
            return
        at = turn.ends_at + _pause(rng, setting)


def _round(rng: Random) -> Round:
    calls = rng.choices((1, 2, 3, 6), (70, 20, 8, 2))[0]
    return Round(rng.uniform(1.5, 6), rng.uniform(0.1, 2.5), calls, int(min(rng.lognormvariate(8.1, 0.9), 16_000)))


def _pause(rng: Random, setting: Setting) -> float:
    if rng.random() < setting.long_pauses:
        return float(3600 * 72 ** rng.random())
    return rng.lognormvariate(math.log(setting.think_median_seconds), setting.think_sigma)


def moment(at: float) -> datetime:
    return START + timedelta(seconds=at)
