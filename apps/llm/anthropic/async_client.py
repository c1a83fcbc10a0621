from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, cast

import anthropic
import httpx2

from apps.llm.anthropic.bodies import body_of
from apps.llm.anthropic.keys import key_for
from apps.llm.anthropic.refusals import TYPED_ERRORS
from apps.llm.anthropic.streaming import streamed
from apps.llm.anthropic.translation import is_from_stand_in, reply_of
from apps.llm.arguments import arguments_of
from apps.llm.backend import TimedOut
from apps.outbound.guarded_http import GuardedTransport

if TYPE_CHECKING:
    from anthropic import AsyncAPIResponse, RequestOptions

    from apps.llm.backend import AsyncBackend, Listener, Reply, Request
    from apps.outbound.ssrf import Networks

# What the SDK says of this machine and its patience: nobody needs to know, and each call that waits holds it four times.
UNTOLD: Final = {
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
MESSAGES: Final = "/v1/messages"
# By this header the SDK gives the answer with its headers.
RAW: Final = "X-Stainless-Raw-Response"
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
            api_key=key_for(api_key, base_url),
            base_url=base_url,
            max_retries=0,
            http_client=http_client or anthropic.DefaultAioHttpClient(limits=limits),
        )

    async def complete(self, request: Request, listener: Listener | None = None) -> Reply:
        try:
            # The transport limits each silence, never the whole: an answer that drips would not end.
            async with asyncio.timeout(request.timeout_seconds) as limit:
                if listener is not None or request.max_tokens > STREAM_ABOVE_TOKENS:
                    arguments = arguments_of(request) | {"timeout": _timeout(request), "extra_headers": UNTOLD}
                    return await streamed(self._client, arguments, listener)
                return await self._whole(request)
        except TimeoutError as error:
            if not limit.expired():
                raise
            sentence = "The model did not answer in time."
            raise TimedOut(sentence) from error

    async def aclose(self) -> None:
        await self._client.close()

    async def _whole(self, request: Request) -> Reply:
        with TYPED_ERRORS:
            body = body_of(request)
            headers = UNTOLD | {RAW: "raw", "Content-Length": str(body.length)}
            options: RequestOptions = {"timeout": _timeout(request), "headers": headers}
            # Not messages.create(): as long as it waits it keeps the arguments, a copy of them and the text made of it.
            asked = self._client.post(MESSAGES, cast_to=anthropic.types.Message, content=body, options=options)
            raw = cast("AsyncAPIResponse[anthropic.types.Message]", await asked)
            message = await raw.parse()
        return reply_of(message, is_stand_in=is_from_stand_in(raw.headers))


def _timeout(request: Request) -> httpx2.Timeout:
    # Waiting for a free connection counts as the call's time, not as the time to connect.
    return httpx2.Timeout(request.timeout_seconds, connect=CONNECT_SECONDS)
