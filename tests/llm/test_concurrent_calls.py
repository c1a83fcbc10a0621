"""Many calls on one loop: cancelled, crowded, closed over their heads, and nothing left behind."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from apps.llm.model_backend import (
    AsyncBackend,
    ConnectionLost,
    JsonObject,
    Listener,
    ModelReply,
    ModelRequest,
    TimedOut,
)
from tests.support.drivers.async_backend import HELLO, ask_backend, silent, within_loop
from tests.support.drivers.standin_http import call_standin, read_bill, wait_for_figure
from tests.support.timeouts import PATIENCE_SECONDS

pytestmark = pytest.mark.pure

# The stand-in repeats this, so that half of its answer holds words already.
LAMP_REQUEST = replace(
    HELLO, messages=({"role": "user", "content": "My lamp is broken and I would like a new one, please."},)
)


@pytest.mark.parametrize("listener", [None, silent])
@pytest.mark.parametrize("step", [{"fault": "slow_start", "seconds": 60}, {"fault": "stall", "seconds": 60}])
def test_cancelled_call_hangs_up(base_url: str, step: JsonObject, listener: Listener | None) -> None:
    call_standin(base_url, "POST", "/standin/script", [step])

    async def give_up(backend: AsyncBackend) -> None:
        task = asyncio.create_task(_complete(backend, HELLO, listener))
        await asyncio.to_thread(wait_for_figure, base_url, "in_flight", 1)
        # A stalled answer has begun by now, and its reader waits for the rest.
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(wait_for_figure, base_url, "abandoned", 1)
        await asyncio.to_thread(wait_for_figure, base_url, "in_flight", 0)
        assert (await backend.complete(HELLO, listener)).is_stand_in

    within_loop(base_url, give_up)


def test_what_the_listener_raises_reaches_the_caller_and_hangs_up(base_url: str) -> None:
    call_standin(base_url, "POST", "/standin/script", [{"fault": "stall", "seconds": 60}])

    def object_to(text: str) -> None:
        raise TimeoutError(text)

    async def listen(backend: AsyncBackend) -> None:
        with pytest.raises(TimeoutError, match="Hello"):
            await backend.complete(LAMP_REQUEST, object_to)
        await asyncio.to_thread(wait_for_figure, base_url, "abandoned", 1)

    within_loop(base_url, listen)


def test_silence_ends_with_the_time_the_request_allows(base_url: str) -> None:
    call_standin(base_url, "POST", "/standin/delay", {"seconds": 60})
    started = time.monotonic()
    for listener in (None, silent):
        with pytest.raises(TimedOut):
            ask_backend(base_url, replace(HELLO, timeout_seconds=0.2), listener)
    assert time.monotonic() - started < 50


@pytest.mark.slow
def test_two_hundred_calls_wait_together_and_leave_no_socket_behind(base_url: str) -> None:
    call_standin(base_url, "POST", "/standin/delay", {"seconds": 1})
    before = sockets()

    async def all_at_once(backend: AsyncBackend) -> list[ModelReply]:
        return await asyncio.gather(*(backend.complete(HELLO, silent if n % 2 else None) for n in range(200)))

    replies = within_loop(base_url, all_at_once, connections=200)
    assert len({reply.message_id for reply in replies}) == 200
    assert read_bill(base_url)["most_in_flight"] == 200
    assert wait_until_true(lambda: sockets() <= before)


def test_pool_is_as_large_as_the_caller_says_and_the_others_wait(base_url: str) -> None:
    call_standin(base_url, "POST", "/standin/delay", {"seconds": 0.2})

    async def three(backend: AsyncBackend) -> list[ModelReply]:
        return await asyncio.gather(*(backend.complete(HELLO) for _ in range(3)))

    assert len(within_loop(base_url, three, connections=2)) == 3
    assert read_bill(base_url)["most_in_flight"] == 2


@pytest.mark.slow
def test_waiting_for_a_connection_counts_as_the_calls_own_time(base_url: str) -> None:
    call_standin(base_url, "POST", "/standin/delay", {"seconds": 1})

    async def two(backend: AsyncBackend) -> tuple[ModelReply | BaseException, ModelReply | BaseException]:
        impatient = replace(HELLO, timeout_seconds=0.3)
        return await asyncio.gather(
            backend.complete(HELLO), _run_later(backend.complete(impatient)), return_exceptions=True
        )

    first, second = within_loop(base_url, two, connections=1)
    assert isinstance(first, ModelReply)
    assert type(second) is TimedOut


def test_closing_ends_the_calls_under_way_as_lost(base_url: str) -> None:
    call_standin(base_url, "POST", "/standin/delay", {"seconds": 60})

    async def close(backend: AsyncBackend) -> None:
        task = asyncio.create_task(_complete(backend, HELLO, None))
        await asyncio.to_thread(wait_for_figure, base_url, "in_flight", 1)
        await backend.aclose()
        with pytest.raises(ConnectionLost):
            await task
        with pytest.raises(ConnectionLost):
            await backend.complete(HELLO)
        await asyncio.to_thread(wait_for_figure, base_url, "abandoned", 1)

    within_loop(base_url, close)


async def _complete(backend: AsyncBackend, request: ModelRequest, listener: Listener | None) -> ModelReply:
    return await backend.complete(request, listener)


async def _run_later(work: Coroutine[Any, Any, ModelReply]) -> ModelReply:
    await asyncio.sleep(0.05)
    return await work


def sockets() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


def wait_until_true(holds: Callable[[], bool]) -> bool:
    until_then = time.monotonic() + PATIENCE_SECONDS
    while not holds() and time.monotonic() < until_then:
        time.sleep(0.01)
    return holds()
