"""Random faults, which are the same in every run with the same seed."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apps.standin.http_api.script import Fault, ScriptStep
from apps.standin.requests import InvalidModelRequest, parse_object

if TYPE_CHECKING:
    from apps.llm.model_backend import Json, JsonObject

SCALE = 2**64


@dataclass(frozen=True, slots=True)
class FaultRates:
    """The share of calls that fail in each way. `seconds` means the same as in a script's step."""

    shares: tuple[tuple[Fault, float], ...] = ()
    seed: int = 0
    seconds: float | None = None

    @property
    def wire(self) -> JsonObject:
        rates: JsonObject = {fault.value: share for fault, share in self.shares}
        return {"rates": rates, "seed": self.seed, "seconds": self.seconds}

    def fault_at(self, point: float) -> Fault | None:
        """Return the fault at a point from 0 to 1, which the shares divide into ranges; beyond the last range, nothing fails."""
        for fault, share in self.shares:
            if point < share:
                return fault
            point -= share
        return None


class FaultDice:
    """Draws the fault of each call from its request bytes and the number of repeats, so that a retry may succeed."""

    def __init__(self, rates: FaultRates) -> None:
        self.rates = rates
        self._throws: Counter[bytes] = Counter()

    def throw(self, body: bytes) -> ScriptStep:
        if not self.rates.shares:
            return ScriptStep()
        digest = hashlib.sha256(f"{self.rates.seed}\n".encode() + body).digest()
        self._throws[digest] += 1
        thrown = hashlib.sha256(digest + str(self._throws[digest]).encode()).digest()
        fault = self.rates.fault_at(int.from_bytes(thrown[:8]) / SCALE)
        return ScriptStep(fault=fault, seconds=self.rates.seconds) if fault else ScriptStep()


def parse_rates(body: bytes) -> FaultRates:
    content = parse_object(body)
    seed, seconds = content.get("seed", 0), content.get("seconds")
    if isinstance(seed, bool) or not isinstance(seed, int):
        sentence = "seed: a whole number is required"
        raise InvalidModelRequest(sentence)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float | None) or (seconds or 0) < 0:
        sentence = "seconds: a number of seconds, zero or more, is required"
        raise InvalidModelRequest(sentence)
    return FaultRates(_fault_shares(content.get("rates")), seed, seconds)


def _fault_shares(rates: Json) -> tuple[tuple[Fault, float], ...]:
    if not isinstance(rates, dict) or not all(_is_share(share) for share in rates.values()):
        sentence = "rates: an object is required, with a share between 0 and 1 for each fault"
        raise InvalidModelRequest(sentence)
    if strangers := rates.keys() - set(Fault):
        sentence = f"rates: {', '.join(sorted(strangers))} is no fault; faults are {', '.join(Fault)}"
        raise InvalidModelRequest(sentence)
    shares = tuple((fault, float(str(rates[fault]))) for fault in Fault if fault in rates)
    if sum(share for _, share in shares) > 1:
        sentence = "rates: the shares together are more than 1"
        raise InvalidModelRequest(sentence)
    return shares


def _is_share(share: Json) -> bool:
    return isinstance(share, int | float) and not isinstance(share, bool) and 0 <= share <= 1
