from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

import anthropic

from apps.llm.anthropic.refusals import translated
from apps.llm.anthropic.translation import arguments_of, is_from_stand_in, reply_of
from apps.llm.backend import MalformedReply, NotAuthorised

if TYPE_CHECKING:
    from apps.llm.backend import Reply, Request


@cache
def backend_at(api_key: str, base_url: str) -> AnthropicBackend:
    """One client per process and endpoint. An endpoint of one's own may want no key; the vendor's does."""
    return AnthropicBackend(api_key or ("none" if base_url else ""), base_url=base_url or None)


class AnthropicBackend:
    """A model behind the Messages API, at the vendor or at any address that speaks it."""

    def __init__(self, api_key: str, *, base_url: str | None = None) -> None:
        if not api_key:
            message = "No model key is set. Set ANTHROPIC_API_KEY, or use the stand-in model."
            raise NotAuthorised(message)
        # The turn owns retries: the SDK's own obey any retry-after, however long.
        self._client = anthropic.Anthropic(api_key=api_key, base_url=base_url, max_retries=0)

    def complete(self, request: Request) -> Reply:
        try:
            raw = self._client.messages.with_raw_response.create(
                **arguments_of(request), timeout=request.timeout_seconds
            )
            message = raw.parse()
        except anthropic.APIError as error:
            raise translated(error) from error
        except json.JSONDecodeError as error:
            sentence = "The model's answer is not JSON."
            raise MalformedReply(sentence) from error
        return reply_of(message, stand_in=is_from_stand_in(raw.headers))

    def close(self) -> None:
        self._client.close()
