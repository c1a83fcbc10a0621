from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import anthropic

from apps.llm.anthropic.keys import key_for
from apps.llm.anthropic.refusals import TYPED_ERRORS
from apps.llm.anthropic.translation import is_from_stand_in, reply_of
from apps.llm.arguments import arguments_of

if TYPE_CHECKING:
    from apps.llm.backend import Reply, Request


@cache
def backend_at(api_key: str, base_url: str) -> AnthropicBackend:
    """One client per process and endpoint."""
    return AnthropicBackend(api_key, base_url=base_url or None)


class AnthropicBackend:
    """A model behind the Messages API, at the vendor or at any address that speaks it."""

    def __init__(self, api_key: str, *, base_url: str | None = None) -> None:
        # The turn owns retries: the SDK's own obey any retry-after, however long.
        self._client = anthropic.Anthropic(api_key=key_for(api_key, base_url), base_url=base_url, max_retries=0)

    def complete(self, request: Request) -> Reply:
        arguments = arguments_of(request)
        with TYPED_ERRORS:
            raw = self._client.messages.with_raw_response.create(**arguments, timeout=request.timeout_seconds)
            message = raw.parse()
        return reply_of(message, is_stand_in=is_from_stand_in(raw.headers))

    def close(self) -> None:
        self._client.close()
