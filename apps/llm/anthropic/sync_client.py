"""Blocking clients of the Messages API: one per process and endpoint, and a guarded one for addresses that a tenant entered."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import anthropic

from apps.llm.anthropic.async_client import guarded_backend_at, require_api_key
from apps.llm.anthropic.error_mapping import TYPED_ERRORS
from apps.llm.anthropic.reply_parsing import is_from_stand_in, reply_of
from apps.llm.request_body import arguments_of

if TYPE_CHECKING:
    from apps.llm.model_backend import ModelBackend, ModelReply, ModelRequest
    from apps.outbound.ssrf import Networks


@cache
def backend_at(api_key: str, base_url: str) -> AnthropicBackend:
    """Return this process's client for an endpoint."""
    return AnthropicBackend(api_key, base_url=base_url or None)


class AnthropicBackend:
    """A model behind the Messages API, at the vendor or at any compatible address."""

    def __init__(self, api_key: str, *, base_url: str | None = None) -> None:
        # The turn decides about retries: the SDK's own retries would wait as long as a retry-after header says.
        self._client = anthropic.Anthropic(api_key=require_api_key(api_key, base_url), base_url=base_url, max_retries=0)

    def complete(self, request: ModelRequest) -> ModelReply:
        arguments = arguments_of(request)
        with TYPED_ERRORS:
            raw = self._client.messages.with_raw_response.create(**arguments, timeout=request.timeout_seconds)
            message = raw.parse()
        return reply_of(message, is_stand_in=is_from_stand_in(raw.headers))

    def close(self) -> None:
        self._client.close()


def blocking_guarded_backend_at(api_key: str, base_url: str, *, allowed: Networks) -> ModelBackend:
    """Return a client for an address that a tenant entered. It blocks its thread and opens a new connection for each call."""
    return _BlockingGuardedBackend(api_key, base_url, allowed)


@dataclass(frozen=True, slots=True)
class _BlockingGuardedBackend:
    """A client that runs the asynchronous client once per call."""

    api_key: str = field(repr=False)
    base_url: str
    allowed: Networks

    def complete(self, request: ModelRequest) -> ModelReply:
        return asyncio.run(self._complete_async(request))

    async def _complete_async(self, request: ModelRequest) -> ModelReply:
        backend = guarded_backend_at(self.api_key, self.base_url, connections=1, allowed=self.allowed)
        try:
            return await backend.complete(request)
        finally:
            await backend.aclose()
