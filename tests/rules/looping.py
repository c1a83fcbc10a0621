"""The asynchronous backend on a loop of its own, and what the stand-in counts meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from apps.llm.anthropic.async_client import async_backend_at
from apps.llm.backend import AsyncBackend, Listener, Reply, Request
from tests.rules.standin_http import call

HELLO = Request("claude-opus-5-5", 300, (), ({"role": "user", "content": "Hello"},), timeout_seconds=10)

Given = TypeVar("Given")


def within_loop(base_url: str, work: Callable[[AsyncBackend], Awaitable[Given]], *, connections: int = 10) -> Given:
    """What the work gives, on a loop and with a backend of its own."""

    async def _run() -> Given:
        backend = async_backend_at("a-key", base_url, connections=connections)
        try:
            return await work(backend)
        finally:
            await backend.aclose()

    return asyncio.run(_run())


def ask(base_url: str, request: Request = HELLO, listener: Listener | None = None) -> Reply:
    return within_loop(base_url, lambda backend: backend.complete(request, listener))


def silent(_: str) -> None:
    """A listener that only makes the answer stream."""


def bill(base_url: str) -> dict[str, Any]:
    _, content = call(base_url, "GET", "/standin/bill")
    assert isinstance(content, dict)
    return content


async def until(base_url: str, figure: str, count: int) -> None:
    """Wait until the stand-in counts so many."""
    async with asyncio.timeout(10):
        while (await asyncio.to_thread(bill, base_url))[figure] != count:
            await asyncio.sleep(0.01)
