"""Threads that work with the database for many tenants: in whose order, and to whose end."""

import asyncio
import threading
from collections.abc import Iterator
from functools import partial

import pytest

from apps.runtime.worker.db_thread_pool import DatabaseThreadPool
from tests.support.timeouts import PATIENCE_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

FLOODING, OTHER, THIRD = 1, 2, 3
FLOOD = 20


class BlockedWork:
    """Work that ends when it is let go, and who began it in what order."""

    def __init__(self) -> None:
        self.begun: list[tuple[int, int]] = []
        self.let_go = threading.Event()

    def work(self, tenant_id: int, number: int) -> int:
        self.begun.append((tenant_id, number))
        assert self.let_go.wait(PATIENCE_SECONDS)
        return number


@pytest.fixture
def held() -> BlockedWork:
    return BlockedWork()


@pytest.fixture
def pool(request: pytest.FixtureRequest) -> Iterator[DatabaseThreadPool]:
    pool = DatabaseThreadPool(request.param)
    yield pool
    pool.shutdown()
    pool.close()


def start_work(pool: DatabaseThreadPool, held: BlockedWork, tenant_id: int, *numbers: int) -> list["asyncio.Task[int]"]:
    def one(number: int) -> "asyncio.Task[int]":
        return asyncio.create_task(pool.do(tenant_id, lambda: held.work(tenant_id, number)))

    return [one(number) for number in numbers]


async def wait_until_begun(held: BlockedWork, count: int) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(held.begun) < count:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("pool", [4], indirect=True)
def test_a_tenant_with_slow_work_leaves_a_thread_to_other_tenants(pool: DatabaseThreadPool, held: BlockedWork) -> None:
    async def flood() -> None:
        tasks = start_work(pool, held, FLOODING, *range(FLOOD))
        await wait_until_begun(held, 3)
        assert [await pool.do(OTHER, partial(str, number)) for number in range(2)] == ["0", "1"]
        # Threads begin in an order of their own.
        assert sorted(held.begun) == [(FLOODING, number) for number in range(3)]
        held.let_go.set()
        assert await asyncio.gather(*tasks) == list(range(FLOOD))

    asyncio.run(flood())


@pytest.mark.parametrize("pool", [1], indirect=True)
def test_others_stand_behind_the_next_piece_of_a_flood_and_not_behind_all_of_it(
    pool: DatabaseThreadPool, held: BlockedWork
) -> None:
    async def flood() -> None:
        tasks = start_work(pool, held, FLOODING, *range(FLOOD))
        await wait_until_begun(held, 1)
        tasks += start_work(pool, held, OTHER, 0, 1) + start_work(pool, held, THIRD, 0)
        # They stand in line before the thread is let go.
        await asyncio.sleep(0)
        held.let_go.set()
        await asyncio.gather(*tasks)

    asyncio.run(flood())
    served = [tenant_id for tenant_id, _ in held.begun]
    assert served == [FLOODING, FLOODING, OTHER, THIRD, FLOODING, OTHER, *[FLOODING] * (FLOOD - 3)]
    assert [number for tenant_id, number in held.begun if tenant_id == FLOODING] == list(range(FLOOD))


@pytest.mark.parametrize("pool", [2], indirect=True)
def test_a_failure_reaches_its_waiter_and_frees_the_thread(pool: DatabaseThreadPool) -> None:
    async def some_fail() -> list[object]:
        works = [pool.do(number % 3, partial(divmod, 1, number % 2)) for number in range(FLOOD)]
        return list(await asyncio.gather(*works, return_exceptions=True))

    results = asyncio.run(some_fail())
    assert [isinstance(result, ZeroDivisionError) for result in results] == [True, False] * (FLOOD // 2)
    assert results[1::2] == [(1, 0)] * (FLOOD // 2)


@pytest.mark.parametrize("pool", [1], indirect=True)
def test_work_runs_to_its_end_if_its_waiter_is_cancelled(pool: DatabaseThreadPool, held: BlockedWork) -> None:
    async def cancelled() -> None:
        running, waiting = start_work(pool, held, FLOODING, 0, 1)
        await wait_until_begun(held, 1)
        running.cancel()
        waiting.cancel()
        await asyncio.sleep(0)
        assert not running.done()
        held.let_go.set()
        ended = await asyncio.gather(running, waiting, return_exceptions=True)
        assert all(isinstance(each, asyncio.CancelledError) for each in ended)

    asyncio.run(cancelled())
    assert held.begun == [(FLOODING, 0), (FLOODING, 1)]
