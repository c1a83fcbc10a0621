"""The asynchronous backend on a loop of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from apps.llm.anthropic.async_client import async_backend_at
from apps.llm.model_backend import AsyncBackend, Listener, ModelReply, ModelRequest

HELLO = ModelRequest("claude-opus-5-5", 300, (), ({"role": "user", "content": "Hello"},), timeout_seconds=10)

Given = TypeVar("Given")


def within_loop(base_url: str, work: Callable[[AsyncBackend], Awaitable[Given]], *, connections: int = 10) -> Given:
    """Return the result of the work, in a loop and with a backend of its own."""

    async def _run() -> Given:
        backend = async_backend_at("a-key", base_url, connections=connections)
        try:
            return await work(backend)
        finally:
            await backend.aclose()

    return asyncio.run(_run())


def ask_backend(base_url: str, request: ModelRequest = HELLO, listener: Listener | None = None) -> ModelReply:
    return within_loop(base_url, lambda backend: backend.complete(request, listener))


def silent(_: str) -> None:
    """A listener that only makes the answer stream."""
