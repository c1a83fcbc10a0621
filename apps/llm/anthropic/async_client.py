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


# Any: see `arguments_of`.
async def stream_reply(client: AsyncAnthropic, arguments: dict[str, Any], listener: Listener | None) -> ModelReply:
    """The whole answer of a stream. What the listener raises is its caller's, and hangs up."""
    async with AsyncExitStack() as connection:
        with TYPED_ERRORS:
            stream = await connection.enter_async_context(client.messages.stream(**arguments))
        while (event := await _next_event(stream)) is not None:
            if event.type == "text" and listener is not None:
                listener(event.text)
            if event.type == "message_stop":
                # Without a beginning the end carries no message.
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
    """An endpoint of one's own may want no key; the vendor's does."""
    if not api_key and not base_url:
        sentence = "No model key is set. Set ANTHROPIC_API_KEY, or use the stand-in model."
        raise NotAuthorised(sentence)
    return api_key or "none"


# What the SDK says of this machine and its patience: nobody needs to know, and each call that waits holds it four times.
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
# By this header the SDK gives the answer with its headers.
RAW_RESPONSE_HEADER: Final = "X-Stainless-Raw-Response"
# Far more than any connection needs: on a loop that begins two thousand calls at once, each waits for the others' beginnings.
CONNECT_SECONDS = 15.0
# A shorter life would have busy workers greet the endpoint anew between two steps of a turn.
KEEPALIVE_SECONDS = 30.0
# A longer answer may take so long that something on the way hangs up on a silent connection.
STREAM_ABOVE_TOKENS = 20_000


def async_backend_at(api_key: str, base_url: str, *, connections: int) -> AsyncBackend:
    """A client for one event loop and up to `connections` calls at once; whoever asked for it closes it."""
    return AsyncAnthropicBackend(api_key, base_url=base_url or None, connections=connections)


def guarded_backend_at(api_key: str, base_url: str, *, connections: int, allowed: Networks) -> AsyncBackend:
    """The same for an address that a tenant typed in, which may lead nowhere inside."""
    transport = GuardedTransport(allowed, connections=connections, keepalive_seconds=KEEPALIVE_SECONDS)
    client = httpx2.AsyncClient(transport=transport, follow_redirects=False, trust_env=False)
    return AsyncAnthropicBackend(api_key, base_url=base_url, connections=connections, http_client=client)


class AsyncAnthropicBackend:
    """A model behind the Messages API, for many calls that wait at once on one event loop."""

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
            # The transport limits each silence, never the whole: an answer that drips would not end.
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
            # Not messages.create(): as long as it waits it keeps the arguments, a copy of them and the text made of it.
            asked = self._client.post(MESSAGES_PATH, cast_to=anthropic.types.Message, content=body, options=options)
            raw = cast("AsyncAPIResponse[anthropic.types.Message]", await asked)
            message = await raw.parse()
        return reply_of(message, is_stand_in=is_from_stand_in(raw.headers))


def _timeout(request: ModelRequest) -> httpx2.Timeout:
    # Waiting for a free connection counts as the call's time, not as the time to connect.
    return httpx2.Timeout(request.timeout_seconds, connect=CONNECT_SECONDS)
