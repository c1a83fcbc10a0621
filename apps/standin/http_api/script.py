"""Scripted answers, which a test or a demonstration sets instead of the stand-in's own behaviour."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from apps.standin.decisions import Decision, TextDecision, ToolDecision, ToolsDecision

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apps.llm.model_backend import Json, JsonObject

STEP_KINDS = ("reply", "tool", "tools", "fault", "pass")


class Fault(StrEnum):
    """A kind of failure of the endpoint."""

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


# Faults that begin with status 200.
STREAM_BREAKING_FAULTS = frozenset({Fault.CUT_STREAM, Fault.MALFORMED, Fault.STREAM_ERROR, Fault.STALL})
# The default seconds of silence for these faults.
_SILENCE_SECONDS = {Fault.TIMEOUT: 30.0, Fault.STALL: 30.0, Fault.SLOW_START: 5.0}


class BadScript(ValueError):
    """The script is not a list of steps."""


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """One scripted answer. A step without a decision or a fault is answered by the default behaviour.

    `seconds` is the retry-after of a rate limit or an overload, the silence in the middle of an answer that stalls, and
    otherwise the silence before the answer.
    """

    decision: Decision | None = None
    fault: Fault | None = None
    seconds: float | None = None
    match: str = ""

    @property
    def silence_seconds(self) -> float:
        no_silence_before = {Fault.RATE_LIMITED, Fault.OVERLOADED, Fault.STALL}
        return 0.0 if self.fault in no_silence_before else self._silence_seconds

    @property
    def stall_seconds(self) -> float:
        return self._silence_seconds if self.fault is Fault.STALL else 0.0

    @property
    def _silence_seconds(self) -> float:
        usual = _SILENCE_SECONDS.get(self.fault, 0.0) if self.fault else 0.0
        return usual if self.seconds is None else self.seconds


class Script:
    """The steps that have not been used; each step answers one call."""

    def __init__(self, steps: Sequence[ScriptStep] = ()) -> None:
        self._steps = list(steps)

    def __len__(self) -> int:
        return len(self._steps)

    def take(self, body: str) -> ScriptStep | None:
        """Return the first step that applies to this request; a step with a `match` applies only to requests that contain it."""
        for index, step in enumerate(self._steps):
            if step.match in body:
                return self._steps.pop(index)
        return None


def parse_script(text: str | bytes) -> tuple[ScriptStep, ...]:
    try:
        content: Json = json.loads(text)
    except ValueError as error:
        sentence = "The script is not valid JSON."
        raise BadScript(sentence) from error
    if not isinstance(content, list):
        sentence = "A script is a list of steps."
        raise BadScript(sentence)
    return tuple(_parse_step(item, number) for number, item in enumerate(content, 1))


def _parse_step(item: Json, number: int) -> ScriptStep:
    kinds = [kind for kind in STEP_KINDS if isinstance(item, dict) and kind in item]
    if not isinstance(item, dict) or len(kinds) != 1 or item.keys() - {*STEP_KINDS, "seconds", "match"}:
        sentence = (
            f"Step {number} needs exactly one of {', '.join(STEP_KINDS)}, and at most `seconds` and `match` besides."
        )
        raise BadScript(sentence)
    seconds, match = item.get("seconds"), item.get("match", "")
    if not isinstance(seconds, int | float | None) or not isinstance(match, str):
        sentence = f"Step {number}: `seconds` is a number and `match` is a text."
        raise BadScript(sentence)
    return ScriptStep(_parse_decision(item, number), _parse_fault(item, number), seconds, match)


def _parse_decision(item: JsonObject, number: int) -> Decision | None:
    match item:
        case {"reply": {"text": str(text), **rest}}:
            stop_reason = rest.get("stop_reason")
            return TextDecision(text, stop_reason if isinstance(stop_reason, str) else None)
        case {"tool": dict(tool)}:
            return _parse_tool(tool, number)
        case {"tools": [_, *_] as tools}:
            return ToolsDecision(tuple(_parse_tool(tool, number) for tool in tools))
        case {"reply": _} | {"tool": _} | {"tools": _}:
            raise _missing_text_error(number)
        case _:
            return None


def _parse_tool(tool: Json, number: int) -> ToolDecision:
    match tool:
        case {"name": str(name), "arguments": dict(arguments)}:
            return ToolDecision(name, arguments)
        case _:
            raise _missing_text_error(number)


def _missing_text_error(number: int) -> BadScript:
    sentence = f"Step {number}: a reply has a `text`, a tool has a `name` and `arguments`, and `tools` lists at least one tool."
    return BadScript(sentence)


def _parse_fault(item: JsonObject, number: int) -> Fault | None:
    if "fault" not in item:
        return None
    try:
        return Fault(str(item["fault"]))
    except ValueError as error:
        sentence = f"Step {number}: a fault is one of {', '.join(Fault)}."
        raise BadScript(sentence) from error
