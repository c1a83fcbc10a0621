from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from apps.llm.cache_rules import settle
from apps.llm.prices import PRICES, cache_rules_for
from apps.standin.behaviour import choose_decision
from apps.standin.http_api.billing import BillingLog, question_sha256
from apps.standin.http_api.controls import StandinControls
from apps.standin.http_api.responses import (
    HttpAnswer,
    compose_message,
    error_answer,
    fault_answer,
    is_refused_before_answer,
    json_answer,
    message_answer,
    usage_wire,
)
from apps.standin.requests import InvalidModelRequest, ParsedRequest, blocks_sha256, parse_request, prompt_blocks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apps.llm.cache_rules import CacheEntry
    from apps.llm.model_backend import Json, JsonObject, Usage
    from apps.standin.http_api.script import ScriptStep
    from apps.standin.requests import ArrivedRequest

REQUESTS_KEPT = 1000
# Up to this many entries, expired ones are kept, because they cost nothing.
ENTRIES_BEFORE_SWEEP = 2_000
HEADERS_KEPT = ("content-type", "anthropic-version", "anthropic-beta", "user-agent", "x-stainless-retry-count")


@dataclass(frozen=True, slots=True)
class PlannedAnswer:
    """An answer, the silence before it, the cache entries that exist once it begins, and its bill."""

    answer: HttpAnswer
    silence_seconds: float = 0.0
    entries: Mapping[bytes, CacheEntry] | None = None
    usage: Usage | None = None
    question: str = ""


class MessagesEndpoint:
    """The Messages API as served by one process: its cache, its controls, its billing log, and the received requests."""

    def __init__(self, steps: Sequence[ScriptStep] = ()) -> None:
        self.controls = StandinControls(steps)
        self.billing = BillingLog()
        self._cached: dict[bytes, CacheEntry] = {}
        self._requests: deque[JsonObject] = deque(maxlen=REQUESTS_KEPT)
        self._sweep_above = ENTRIES_BEFORE_SWEEP
        self._paused: deque[str] = deque(maxlen=REQUESTS_KEPT)

    @property
    def cached_prefixes(self) -> int:
        return len(self._cached)

    def plan_message(self, arrived: ArrivedRequest) -> PlannedAnswer:
        try:
            planned = self._plan_message(arrived)
        except InvalidModelRequest as error:
            planned = PlannedAnswer(error_answer(400, "invalid_request_error", str(error)))
        if self.controls.keeps_requests:
            self._requests.append(_request_record(arrived, planned))
        return planned

    def begin(self, planned: PlannedAnswer) -> None:
        """Begin the answer: from now on the call is billed, however it ends, and other requests can read its cache entries."""
        if planned.usage is not None:
            self.billing.bill(planned.question, planned.usage, whole=planned.answer.is_whole)
        self._cached |= planned.entries or {}
        if len(self._cached) > self._sweep_above:
            now = self._now()
            self._cached = {digest: entry for digest, entry in self._cached.items() if entry.expires_at > now}
            self._sweep_above = max(ENTRIES_BEFORE_SWEEP, 2 * len(self._cached))

    def count_tokens(self, arrived: ArrivedRequest) -> HttpAnswer:
        if not arrived.account:
            return _unauthorised_answer()
        asked = parse_request(arrived.body, counting=True)
        return json_answer({"input_tokens": sum(block.tokens for block in prompt_blocks(asked))})

    def list_models(self, arrived: ArrivedRequest) -> HttpAnswer:
        if not arrived.account:
            return _unauthorised_answer()
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

    def report_health(self, arrived: ArrivedRequest) -> HttpAnswer:
        return json_answer({"status": "ok", "stand_in": True})

    def list_requests(self, arrived: ArrivedRequest) -> HttpAnswer:
        return json_answer(list(self._requests))

    def forget_requests(self, arrived: ArrivedRequest) -> HttpAnswer:
        self._requests.clear()
        return json_answer([])

    def _plan_message(self, arrived: ArrivedRequest) -> PlannedAnswer:
        if not arrived.account:
            return PlannedAnswer(_unauthorised_answer())
        asked = parse_request(arrived.body, paused=self._paused)
        step = self.controls.step_for(arrived.body)
        if step.fault and is_refused_before_answer(step.fault, stream=asked.stream):
            return PlannedAnswer(fault_answer(step.fault, step.seconds), step.silence_seconds)
        return replace(self._plan_reply(asked, arrived.account, step), silence_seconds=step.silence_seconds)

    def _plan_reply(self, asked: ParsedRequest, account: str, step: ScriptStep) -> PlannedAnswer:
        settled = settle(
            prompt_blocks(asked),
            scope=f"{account}\n{asked.model}",
            cached=self._cached,
            rules=cache_rules_for(asked.model),
            now=self._now(),
        )
        message, usage = compose_message(
            step.decision or choose_decision(asked), model=asked.model, max_tokens=asked.max_tokens, bill=settled.bill
        )
        content = message["content"]
        if message["stop_reason"] == "pause_turn" and isinstance(content, list):
            self._paused.append(blocks_sha256([block for block in content if isinstance(block, dict)]))
        answer = message_answer(message, stream=asked.stream, step=step)
        return PlannedAnswer(answer, entries=settled.entries, usage=usage, question=question_sha256(asked))

    def _now(self) -> float:
        return time.monotonic() + self.controls.advanced_seconds


def _unauthorised_answer() -> HttpAnswer:
    return error_answer(401, "authentication_error", "x-api-key header or bearer token is required")


def _request_record(arrived: ArrivedRequest, planned: PlannedAnswer) -> JsonObject:
    headers: JsonObject = {name: arrived.headers[name] for name in HEADERS_KEPT if name in arrived.headers}
    body = arrived.body.decode(errors="replace")
    usage = usage_wire(planned.usage) if planned.usage else None
    return {"path": arrived.path, "headers": headers, "body": body, "status": planned.answer.status, "usage": usage}
