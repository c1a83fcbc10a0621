from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apps.llm.caching import settle
from apps.llm.prices import PRICES, cache_rules
from apps.llm.standin.answers import (
    Answer,
    compose_message,
    error_answer,
    fault_answer,
    json_answer,
    message_answer,
)
from apps.llm.standin.behaviour import decide
from apps.llm.standin.requests import Asked, InvalidRequest, parse_object, parse_request, prompt_blocks
from apps.llm.standin.script import BadScript, Fault, Script, parse_script

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apps.llm.backend import Json, JsonObject
    from apps.llm.caching import Entry
    from apps.llm.standin.script import Step

REQUESTS_KEPT = 1000
# Up to so many entries, expired ones cost nothing.
ENTRIES_BEFORE_SWEEP = 2_000
HEADERS_KEPT = ("content-type", "anthropic-version", "anthropic-beta", "user-agent", "x-stainless-retry-count")


@dataclass(frozen=True, slots=True)
class Arrived:
    """An HTTP request, read whole."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def account(self) -> str:
        """Whose key it is: caches are not shared between accounts. Empty without a key."""
        return self.headers.get("x-api-key") or self.headers.get("authorization", "").removeprefix("Bearer ").strip()


@dataclass(frozen=True, slots=True)
class Planned:
    """An answer, how long the endpoint keeps silent before it, and what is cached once it begins."""

    answer: Answer
    silence_seconds: float = 0.0
    entries: Mapping[bytes, Entry] | None = None


class Endpoint:
    """The Messages API as one process serves it: its cache, its script, and what it was asked."""

    def __init__(self, steps: Sequence[Step] = ()) -> None:
        self._cached: dict[bytes, Entry] = {}
        self._script = Script(steps)
        self._requests: deque[JsonObject] = deque(maxlen=REQUESTS_KEPT)
        self._advanced_seconds = 0.0
        self._sweep_above = ENTRIES_BEFORE_SWEEP

    @property
    def cached_prefixes(self) -> int:
        return len(self._cached)

    def plan_message(self, arrived: Arrived) -> Planned:
        try:
            planned, usage = self._plan_message(arrived)
        except InvalidRequest as error:
            planned, usage = Planned(error_answer(400, "invalid_request_error", str(error))), None
        self._requests.append(_recorded(arrived, planned.answer.status, usage))
        return planned

    def begin(self, planned: Planned) -> None:
        """From here on other requests can read what this one wrote."""
        self._cached |= planned.entries or {}
        if len(self._cached) > self._sweep_above:
            now = self._now()
            self._cached = {digest: entry for digest, entry in self._cached.items() if entry.expires_at > now}
            self._sweep_above = max(ENTRIES_BEFORE_SWEEP, 2 * len(self._cached))

    def count_tokens(self, arrived: Arrived) -> Answer:
        if not arrived.account:
            return _unauthorised()
        try:
            asked = parse_request(arrived.body, counting=True)
        except InvalidRequest as error:
            return error_answer(400, "invalid_request_error", str(error))
        return json_answer({"input_tokens": sum(block.tokens for block in prompt_blocks(asked))})

    def list_models(self, arrived: Arrived) -> Answer:
        if not arrived.account:
            return _unauthorised()
        models: list[Json] = [
            {
                "type": "model",
                "id": price.model,
                "display_name": f"Stand-in for {price.model}",
                "created_at": f"{price.as_of.isoformat()}T00:00:00Z",
            }
            for price in PRICES
        ]
        return json_answer(
            {"data": models, "has_more": False, "first_id": PRICES[0].model, "last_id": PRICES[-1].model}
        )

    def report_health(self, arrived: Arrived) -> Answer:  # noqa: ARG002 - every route takes the request
        return json_answer({"status": "ok", "stand_in": True})

    def replace_script(self, arrived: Arrived) -> Answer:
        try:
            self._script = Script(parse_script(arrived.body))
        except BadScript as error:
            return error_answer(400, "invalid_request_error", str(error))
        return json_answer({"steps": len(self._script)})

    def show_script(self, arrived: Arrived) -> Answer:  # noqa: ARG002 - every route takes the request
        return json_answer({"steps": len(self._script)})

    def list_requests(self, arrived: Arrived) -> Answer:  # noqa: ARG002 - every route takes the request
        return json_answer(list(self._requests))

    def forget_requests(self, arrived: Arrived) -> Answer:  # noqa: ARG002 - every route takes the request
        self._requests.clear()
        return json_answer([])

    def advance_clock(self, arrived: Arrived) -> Answer:
        try:
            seconds = _advance(arrived.body)
        except InvalidRequest as error:
            return error_answer(400, "invalid_request_error", str(error))
        self._advanced_seconds += seconds
        return json_answer({"advanced_seconds": self._advanced_seconds})

    def _plan_message(self, arrived: Arrived) -> tuple[Planned, Json]:
        if not arrived.account:
            return Planned(_unauthorised()), None
        asked = parse_request(arrived.body)
        step = self._script.take(arrived.body.decode(errors="replace"))
        if step.fault not in {None, Fault.CUT_STREAM, Fault.MALFORMED}:
            return Planned(fault_answer(step.fault, step.seconds), step.silence_seconds), None
        return self._plan_reply(asked, arrived.account, step)

    def _plan_reply(self, asked: Asked, account: str, step: Step) -> tuple[Planned, Json]:
        settled = settle(
            prompt_blocks(asked),
            scope=f"{account}\n{asked.model}",
            cached=self._cached,
            rules=cache_rules(asked.model),
            now=self._now(),
        )
        message = compose_message(
            step.decision or decide(asked), model=asked.model, max_tokens=asked.max_tokens, bill=settled.bill
        )
        answer = message_answer(message, stream=asked.stream, fault=step.fault)
        return Planned(answer, step.silence_seconds, settled.entries), message["usage"]

    def _now(self) -> float:
        return time.monotonic() + self._advanced_seconds


def _unauthorised() -> Answer:
    return error_answer(401, "authentication_error", "x-api-key header or bearer token is required")


def _recorded(arrived: Arrived, status: int, usage: Json) -> JsonObject:
    headers: JsonObject = {name: arrived.headers[name] for name in HEADERS_KEPT if name in arrived.headers}
    body = arrived.body.decode(errors="replace")
    return {"path": arrived.path, "headers": headers, "body": body, "status": status, "usage": usage}


def _advance(body: bytes) -> float:
    seconds = parse_object(body).get("advance_seconds")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds < 0:
        sentence = "advance_seconds: a number of seconds, zero or more, is required"
        raise InvalidRequest(sentence)
    return float(seconds)
