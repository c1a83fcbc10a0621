from __future__ import annotations

from typing import TYPE_CHECKING

from apps.standin.http_api.delays import AnswerDelay
from apps.standin.http_api.fault_rates import FaultDice, FaultRates, parse_rates
from apps.standin.http_api.responses import HttpAnswer, json_answer
from apps.standin.http_api.script import Script, parse_script
from apps.standin.requests import InvalidModelRequest, parse_object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apps.standin.http_api.script import ScriptStep
    from apps.standin.requests import ArrivedRequest


class StandinControls:
    """The controls for tests and benchmarks: a script, random faults, delays, a different clock, less memory."""

    def __init__(self, steps: Sequence[ScriptStep] = ()) -> None:
        self.delay = AnswerDelay()
        self._release()
        self._script = Script(steps)
        self.advanced_seconds = 0.0

    def step_for(self, body: bytes) -> ScriptStep:
        """Return the script's step if there is one, else a random fault."""
        step = self._script.take(body.decode(errors="replace")) if self._script else None
        return step or self._dice.throw(body)

    def replace_script(self, arrived: ArrivedRequest) -> HttpAnswer:
        self._script = Script(parse_script(arrived.body))
        return self.show_script(arrived)

    def show_script(self, arrived: ArrivedRequest) -> HttpAnswer:
        return json_answer({"steps": len(self._script)})

    def replace_faults(self, arrived: ArrivedRequest) -> HttpAnswer:
        self._dice = FaultDice(parse_rates(arrived.body))
        return self.show_faults(arrived)

    def show_faults(self, arrived: ArrivedRequest) -> HttpAnswer:
        return json_answer(self._dice.rates.wire)

    def set_delay(self, arrived: ArrivedRequest) -> HttpAnswer:
        self.delay.change(_parse_seconds(arrived.body, "seconds"))
        return json_answer({"seconds": self.delay.seconds})

    def set_keeping(self, arrived: ArrivedRequest) -> HttpAnswer:
        keeps = parse_object(arrived.body).get("requests")
        if not isinstance(keeps, bool):
            sentence = "requests: true or false is required"
            raise InvalidModelRequest(sentence)
        self.keeps_requests = keeps
        return json_answer({"requests": keeps})

    def advance_clock(self, arrived: ArrivedRequest) -> HttpAnswer:
        self.advanced_seconds += _parse_seconds(arrived.body, "advance_seconds")
        return json_answer({"advanced_seconds": self.advanced_seconds})

    def release(self, arrived: ArrivedRequest) -> HttpAnswer:
        """Reset to the initial state, without a script; the clock is never set back."""
        self._release()
        return self.show_script(arrived)

    def _release(self) -> None:
        self._script = Script()
        self._dice = FaultDice(FaultRates())
        self.delay.change(0.0)
        self.keeps_requests = True


def _parse_seconds(body: bytes, field: str) -> float:
    seconds = parse_object(body).get(field)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds < 0:
        sentence = f"{field}: a number of seconds, zero or more, is required"
        raise InvalidModelRequest(sentence)
    return float(seconds)
