"""What a test or a demonstration wants the stand-in to do next, instead of what it would do by itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from apps.standin.decisions import Call, Calls, Decision, Say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apps.llm.model_backend import Json, JsonObject

KINDS = ("reply", "tool", "tools", "fault", "pass")


class Fault(StrEnum):
    """A way for the endpoint to fail."""

    OVERLOADED = "overloaded"
    RATE_LIMITED = "rate_limited"
    TIMEOUT = "timeout"
    SERVER_ERROR = "server_error"
    CUT_STREAM = "cut_stream"
    MALFORMED = "malformed"
    SPEND_LIMIT = "spend_limit"
    PROMPT_TOO_LONG = "prompt_too_long"
    STREAM_ERROR = "stream_error"
    STALL = "stall"
    SLOW_START = "slow_start"


# These begin with the status 200.
BREAKING_OFF = frozenset({Fault.CUT_STREAM, Fault.MALFORMED, Fault.STREAM_ERROR, Fault.STALL})
# Seconds of silence that these faults keep unless told otherwise.
_SILENCES = {Fault.TIMEOUT: 30.0, Fault.STALL: 30.0, Fault.SLOW_START: 5.0}


class BadScript(ValueError):
    """The script is not a list of steps."""


@dataclass(frozen=True, slots=True)
class Step:
    """One scripted answer. Neither a decision nor a fault means: answer as always.

    `seconds` is the advice to wait for a rate limit or an overload, the silence in the middle of an answer that stalls,
    and otherwise the silence before the answer.
    """

    decision: Decision | None = None
    fault: Fault | None = None
    seconds: float | None = None
    match: str = ""

    @property
    def silence_seconds(self) -> float:
        no_silence_before = {Fault.RATE_LIMITED, Fault.OVERLOADED, Fault.STALL}
        return 0.0 if self.fault in no_silence_before else self._silence

    @property
    def stall_seconds(self) -> float:
        return self._silence if self.fault is Fault.STALL else 0.0

    @property
    def _silence(self) -> float:
        usual = _SILENCES.get(self.fault, 0.0) if self.fault else 0.0
        return usual if self.seconds is None else self.seconds


class Script:
    """Steps waiting for their call; each is used once."""

    def __init__(self, steps: Sequence[Step] = ()) -> None:
        self._steps = list(steps)

    def __len__(self) -> int:
        return len(self._steps)

    def take(self, body: str) -> Step | None:
        """The first step that this request may use; a step bound to other words waits for its own."""
        for index, step in enumerate(self._steps):
            if step.match in body:
                return self._steps.pop(index)
        return None


def parse_script(text: str | bytes) -> tuple[Step, ...]:
    try:
        content: Json = json.loads(text)
    except ValueError as error:
        sentence = "The script is not valid JSON."
        raise BadScript(sentence) from error
    if not isinstance(content, list):
        sentence = "A script is a list of steps."
        raise BadScript(sentence)
    return tuple(_step(item, number) for number, item in enumerate(content, 1))


def _step(item: Json, number: int) -> Step:
    kinds = [kind for kind in KINDS if isinstance(item, dict) and kind in item]
    if not isinstance(item, dict) or len(kinds) != 1 or item.keys() - {*KINDS, "seconds", "match"}:
        sentence = f"Step {number} needs exactly one of {', '.join(KINDS)}, and at most `seconds` and `match` besides."
        raise BadScript(sentence)
    seconds, match = item.get("seconds"), item.get("match", "")
    if not isinstance(seconds, int | float | None) or not isinstance(match, str):
        sentence = f"Step {number}: `seconds` is a number and `match` is a text."
        raise BadScript(sentence)
    return Step(_decision(item, number), _fault(item, number), seconds, match)


def _decision(item: JsonObject, number: int) -> Decision | None:
    match item:
        case {"reply": {"text": str(text), **rest}}:
            stop_reason = rest.get("stop_reason")
            return Say(text, stop_reason if isinstance(stop_reason, str) else None)
        case {"tool": dict(tool)}:
            return _call(tool, number)
        case {"tools": [_, *_] as tools}:
            return Calls(tuple(_call(tool, number) for tool in tools))
        case {"reply": _} | {"tool": _} | {"tools": _}:
            raise _misses_words(number)
        case _:
            return None


def _call(tool: Json, number: int) -> Call:
    match tool:
        case {"name": str(name), "arguments": dict(arguments)}:
            return Call(name, arguments)
        case _:
            raise _misses_words(number)


def _misses_words(number: int) -> BadScript:
    sentence = f"Step {number}: a reply has a `text`, a tool has a `name` and `arguments`, and `tools` lists at least one tool."
    return BadScript(sentence)


def _fault(item: JsonObject, number: int) -> Fault | None:
    if "fault" not in item:
        return None
    try:
        return Fault(str(item["fault"]))
    except ValueError as error:
        sentence = f"Step {number}: a fault is one of {', '.join(Fault)}."
        raise BadScript(sentence) from error
