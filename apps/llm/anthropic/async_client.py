"""Async client of the Messages API for many concurrent calls on one event loop, with streaming and an SSRF-guarded variant."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final, cast

import anthropic
import httpx2

from apps.llm.anthropic.error_mapping import TYPED_ERRORS
from apps.llm.anthropic.reply_parsing import NOT_A_MESSAGE, SHAPE_ERRORS, is_from_stand_in, reply_of
from apps.llm.anthropic.shared_request_bodies import body_of
from apps.llm.model_backend import ConnectionLost, MalformedReply, NotAuthorised, TimedOut
from apps.llm.request_body import arguments_of
from apps.outbound.guarded_http import GuardedTransport

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, AsyncAPIResponse, RequestOptions
    from anthropic.lib.streaming import AsyncMessageStream, ParsedMessageStreamEvent

    from apps.llm.model_backend import AsyncBackend, Listener, ModelReply, ModelRequest
    from apps.outbound.ssrf import Networks


# Any: the reason is beside `arguments_of`.
async def stream_reply(client: AsyncAnthropic, arguments: dict[str, Any], listener: Listener | None) -> ModelReply:
    """Read a streamed reply to its end. An exception raised by the listener ends the stream and reaches the caller."""
    async with AsyncExitStack() as connection:
        with TYPED_ERRORS:
            stream = await connection.enter_async_context(client.messages.stream(**arguments))
        while (event := await _next_event(stream)) is not None:
            if event.type == "text" and listener is not None:
                listener(event.text)
            if event.type == "message_stop":
                # Without a start event, the SDK has no message to return at the end.
                message = getattr(event, "message", None)
                return reply_of(message, is_stand_in=is_from_stand_in(stream.response.headers))
        sentence = "The model's answer broke off before its end."
        raise ConnectionLost(sentence)


async def _next_event(stream: AsyncMessageStream[None]) -> ParsedMessageStreamEvent[None] | None:
    try:
        with TYPED_ERRORS:
            return await anext(stream)
    except StopAsyncIteration:
        return None
    except SHAPE_ERRORS as error:
        raise MalformedReply(NOT_A_MESSAGE) from error


def require_api_key(api_key: str, base_url: str | None) -> str:
    """Return the API key. An empty key is refused, except at a tenant's own endpoint, which may need no key."""
    if not api_key and not base_url:
        sentence = "No model key is set. Set ANTHROPIC_API_KEY, or use the stand-in model."
        raise NotAuthorised(sentence)
    return api_key or "none"


# Headers in which the SDK describes this machine and its timeouts. No endpoint needs them, and each waiting call keeps 4 copies.
OMITTED_HEADERS: Final = {
    f"X-Stainless-{name}": anthropic.Omit()
    for name in (
        "Lang",
        "Package-Version",
        "OS",
        "Arch",
        "Runtime",
        "Runtime-Version",
        "Async",
        "Timeout",
        "Read-Timeout",
    )
}
MESSAGES_PATH: Final = "/v1/messages"
# With this header the SDK returns the HTTP response together with its headers.
RAW_RESPONSE_HEADER: Final = "X-Stainless-Raw-Response"
# Longer than any single connection needs: on a loop that starts two thousand calls at once, connections wait for each other.
CONNECT_SECONDS = 15.0
# A shorter keep-alive would make a busy worker reconnect to the endpoint between two steps of a turn.
KEEPALIVE_SECONDS = 30.0
# A longer answer without streaming may be silent for so long that a proxy closes the connection.
STREAM_ABOVE_TOKENS = 20_000


def async_backend_at(api_key: str, base_url: str, *, connections: int) -> AsyncBackend:
    """Return a client for one event loop and up to `connections` calls at once. The caller closes it."""
    return AsyncAnthropicBackend(api_key, base_url=base_url or None, connections=connections)


def guarded_backend_at(api_key: str, base_url: str, *, connections: int, allowed: Networks) -> AsyncBackend:
    """Return a client like `async_backend_at` for an address that a tenant entered; it never connects to an internal address."""
    transport = GuardedTransport(allowed, connections=connections, keepalive_seconds=KEEPALIVE_SECONDS)
    client = httpx2.AsyncClient(transport=transport, follow_redirects=False, trust_env=False)
    return AsyncAnthropicBackend(api_key, base_url=base_url, connections=connections, http_client=client)


class AsyncAnthropicBackend:
    """A model behind the Messages API, for many concurrent calls on one event loop."""

    def __init__(
        self,
        api_key: str,
        *,
        base_url: str | None = None,
        connections: int,
        http_client: httpx2.AsyncClient | None = None,
    ) -> None:
        limits = httpx2.Limits(max_connections=connections, keepalive_expiry=KEEPALIVE_SECONDS)
        self._client = anthropic.AsyncAnthropic(
            api_key=require_api_key(api_key, base_url),
            base_url=base_url,
            max_retries=0,
            http_client=http_client or anthropic.DefaultAioHttpClient(limits=limits),
        )

    async def complete(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply:
        try:
            # The transport's timeout limits each silence, not the whole call, so an answer that arrives in drips would never end.
            async with asyncio.timeout(request.timeout_seconds) as limit:
                if listener is not None or request.max_tokens > STREAM_ABOVE_TOKENS:
                    arguments = arguments_of(request) | {"timeout": _timeout(request), "extra_headers": OMITTED_HEADERS}
                    return await stream_reply(self._client, arguments, listener)
                return await self._complete_unstreamed(request)
        except TimeoutError as error:
            if not limit.expired():
                raise
            sentence = "The model did not answer in time."
            raise TimedOut(sentence) from error

    async def aclose(self) -> None:
        await self._client.close()

    async def _complete_unstreamed(self, request: ModelRequest) -> ModelReply:
        with TYPED_ERRORS:
            body = body_of(request)
            headers = OMITTED_HEADERS | {RAW_RESPONSE_HEADER: "raw", "Content-Length": str(body.length)}
            options: RequestOptions = {"timeout": _timeout(request), "headers": headers}
            # Not `messages.create()`, which keeps the arguments, a copy of them and their JSON text in memory while it waits.
            asked = self._client.post(MESSAGES_PATH, cast_to=anthropic.types.Message, content=body, options=options)
            raw = cast("AsyncAPIResponse[anthropic.types.Message]", await asked)
            message = await raw.parse()
        return reply_of(message, is_stand_in=is_from_stand_in(raw.headers))


def _timeout(request: ModelRequest) -> httpx2.Timeout:
    # Waiting for a free connection counts towards the time of the call, not towards the time to connect.
    return httpx2.Timeout(request.timeout_seconds, connect=CONNECT_SECONDS)
