"""The measurement of one turn, and figures of several."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from apps.llm.model_backend import ModelBackend
from benchmarks.turn.benchmark_setup import TimedBackend, TurnRunner, TurnTestbed

CALLS_OF_A_TURN = 2
SKILL_WORDS = "Look the order up, and say what was found."


@dataclass(frozen=True, slots=True)
class TurnCost:
    """What one turn cost."""

    seconds: float
    model_seconds: float
    cpu_seconds: float
    wal_begun: int
    wal_bytes: int
    statements: int
    logged: tuple[int, int]

    @property
    def overhead(self) -> float:
        """Seconds without the model's time, but with the SDK's."""
        return self.seconds - self.model_seconds


class TurnContractBroken(Exception):
    """A turn did not do what every turn does, so its figures mean nothing."""


def expected_answer(thread: int, number: int) -> str:
    return f"This is answer {number} in thread {thread}."


def measure_turn(place: TurnTestbed, runner: TurnRunner, backend: ModelBackend, thread: int, number: int) -> TurnCost:
    """Send a message, let the model answer twice, and measure the turn."""
    tool = {"tool": {"name": "get_skill", "arguments": dict(runner.read_skill)}}
    place.play(tool, {"reply": {"text": expected_answer(thread, number)}})
    runner.receive(thread, number)
    timed, counted, wal, logged = TimedBackend(backend), runner.counted, place.wal_position(), place.log_bytes
    cpu, begun = time.process_time(), time.perf_counter()
    runner.take(thread, timed)
    seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - cpu
    wal_bytes, statements = place.wal_position() - wal, runner.counted - counted
    taken = TurnCost(seconds, timed.seconds, cpu_seconds, wal, wal_bytes, statements, (logged, place.log_bytes))
    if len(timed.requests) != CALLS_OF_A_TURN:
        raise TurnContractBroken(f"{runner.name} asked the model {len(timed.requests)} times in turn {number}.")
    if SKILL_WORDS not in str(timed.requests[-1].messages[-1]):
        raise TurnContractBroken(f"{runner.name} told the model nothing of the skill in turn {number}.")
    return taken


def find_unanswered(runner: TurnRunner, thread: int, turns: int) -> list[str]:
    """Return flaws unless each message has its own answer, once and in order."""
    expected = [expected_answer(thread, number) for number in range(1, turns + 1)]
    replies = runner.replies(thread)
    if replies == expected:
        return []
    return [f"{runner.name} answered {len(replies)} of {turns} messages of thread {thread}, or not in their order."]


def overhead_ms(turns: Sequence[TurnCost]) -> float:
    """Return the median milliseconds without the model's time."""
    return 1000 * median(turn.overhead for turn in turns)
