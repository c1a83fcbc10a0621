"""The turns of one worker process: one event loop that waits for models and tools, and a few threads for the database.

The loop itself asks the database what is due; a wake-up call from outside only shortens the wait. Every waiting turn costs a
task and its prompt, no thread and no connection (MEASUREMENTS A6).
"""

import asyncio
import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from django.db import DatabaseError, InterfaceError

from apps.llm.model_backend import AsyncBackend
from apps.runtime.schedules.schedule_runner import due_now
from apps.runtime.streaming.reply_listeners import Ears, attentive, nobody
from apps.runtime.tools.toolbox import NO_TOOLS, TOOL_SECONDS, OutsideCall, Toolbox
from apps.runtime.turn_store.claimed_endpoint import nowhere_else
from apps.runtime.turns.turn_machine import AskModel, Over, Turning, begin
from apps.runtime.webhook_delivery.dispatcher import Couriers
from apps.runtime.worker.db_thread_pool import HOUSE, Crew
from apps.runtime.worker.fair_queue import Fair
from apps.runtime.worker.heartbeat import Holding, TurnUnderWay, beat_all, interrupted, under_way
from apps.runtime.worker.model_clients import Clients
from apps.runtime.worker.model_metrics import AskedModel, note_tokens
from apps.telemetry.log_context import note, scene
from apps.telemetry.product_metrics import TURN_SECONDS
from apps.tenants.endpoints.decrypted_endpoint import Reached

logger = logging.getLogger(__name__)

# No two workers ask what is due in the same moment for long.
JITTER = 0.2
# How soon a customer who goes on writing is noticed, where no wake-up call came.
LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one process takes on: turns at once, threads for the database, seconds between two looks and of a lease."""

    in_flight: int
    threads: int
    poll_seconds: float
    lease_seconds: float


class Engine:
    """Answers whatever is due until it is stopped."""

    def __init__(
        self,
        make_backend: Callable[[], AsyncBackend],
        limits: Limits,
        toolbox: Toolbox = NO_TOOLS,
        make_backend_at: Callable[[Reached], AsyncBackend] = nowhere_else,
        ears: Ears = nobody,
    ) -> None:
        self.limits, self.toolbox, self.ears = limits, toolbox, ears
        self._clients = Clients(make_backend, make_backend_at)
        self._crew = Crew(limits.threads)
        # Turns that end go before turns that begin.
        beginning = max(1, limits.threads // 2)
        self._beginning = asyncio.Semaphore(beginning)
        # However many turns of one tenant begin, the next of another stands behind none of them.
        self._begins_each = max(1, beginning - 1)
        self._begins: Counter[int] = Counter()
        self._fair = Fair(limits.in_flight)
        self._couriers = Couriers(self._crew.do)
        self._held: dict[int, Holding] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._woken = asyncio.Event()
        self._heard = asyncio.Event()
        self._stopping = asyncio.Event()
        self._is_draining = False
        self._drain_seconds = 0.0
        self._up = threading.Event()
        self._thread = threading.Thread(target=self._run, name="turn engine", daemon=True)

    def start(self) -> None:
        """Return once turns are taken."""
        self._thread.start()
        self._up.wait()

    def wake(self, tenant_id: int, conversation_id: int, in_seconds: float = 0) -> None:
        """Look at this conversation in so many seconds; from any thread."""
        self._from_outside(partial(self._want_in, in_seconds, tenant_id, conversation_id))

    def stop(self, drain_seconds: float) -> None:
        """Take no more turns, give those that run so many seconds, give the rest back, and return when all is done."""
        self._drain_seconds = drain_seconds
        self._from_outside(self._stop)
        self._thread.join()

    def turns_under_way(self) -> list[TurnUnderWay]:
        """The turns that run here, the oldest first; from any thread."""
        now = time.monotonic()
        # One step of the interpreter, so that none comes or goes meanwhile.
        held = list(self._held.values())
        return [under_way(holding, now) for holding in sorted(held, key=lambda holding: holding.begun_at)]

    def _from_outside(self, call: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:
            logger.info("the turn engine has stopped; a sweep will find what waits")

    def _want_in(self, seconds: float, tenant_id: int, conversation_id: int) -> None:
        self._loop.call_later(seconds, self._want, tenant_id, conversation_id)

    def _want(self, tenant_id: int, conversation_id: int) -> None:
        self._fair.add(tenant_id, conversation_id)
        self._woken.set()
        self._heard.set()

    def _stop(self) -> None:
        self._stopping.set()
        self._woken.set()

    def _run(self) -> None:
        try:
            asyncio.run(self._live())
        finally:
            self._crew.close()

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._up.set()
        beats = asyncio.gather(self._beat(), self._listen())
        try:
            await self._pump()
            await self._drain()
        finally:
            beats.cancel()
            await asyncio.gather(beats, return_exceptions=True)
            await self._clients.aclose()
            self._crew.shutdown()

    async def _pump(self) -> None:
        polled = -self.limits.poll_seconds
        while not self._stopping.is_set():
            self._woken.clear()
            if self._loop.time() - polled >= self.limits.poll_seconds and self._fair.free:
                polled = self._loop.time()
                await self._poll()
            # Chosen as late as can be: whoever stood in line for a thread already could not be overtaken any more.
            while self._may_begin and (picked := self._fair.take()):
                await self._beginning.acquire()
                self._begins[picked[0]] += 1
                task = asyncio.create_task(self._serve(*picked))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            await _wait(self._woken, self.limits.poll_seconds * random.uniform(1 - JITTER, 1 + JITTER))  # noqa: S311  # spread, not secret

    @property
    def _may_begin(self) -> bool:
        """Whether the turn that is to be taken next may begin now."""
        tenant_id = self._fair.next_tenant
        return not self._beginning.locked() and tenant_id is not None and self._begins[tenant_id] < self._begins_each

    async def _poll(self) -> None:
        try:
            due = await self._crew.do(HOUSE, due_now)
            for tenant_id, conversation_id in due.turns:
                self._fair.add(tenant_id, conversation_id)
            self._couriers.send(due.deliveries)
        except (DatabaseError, InterfaceError) as error:
            logger.warning("what is due cannot be read", extra={"error": type(error).__name__})

    async def _serve(self, tenant_id: int, conversation_id: int) -> None:
        """One turn, and the word that another waits. Whatever fails here, its lease brings the turn back."""
        try:
            with scene(tenant_id=tenant_id, actor="agent", conversation_id=conversation_id):
                if (turning := await self._begun(tenant_id, conversation_id)) and await self._counted(turning):
                    self._fair.add(tenant_id, conversation_id)
        except (DatabaseError, InterfaceError) as error:
            logger.warning("turn left to its lease", extra={"error": type(error).__name__})
        finally:
            self._fair.ended(tenant_id, conversation_id)
            self._woken.set()

    async def _begun(self, tenant_id: int, conversation_id: int) -> Turning | None:
        try:
            return await self._crew.do(tenant_id, partial(begin, tenant_id, conversation_id, self.toolbox))
        finally:
            self._begins -= Counter([tenant_id])
            self._beginning.release()
            self._woken.set()

    async def _counted(self, turning: Turning) -> bool:
        note(turn_id=turning.turn.pk)
        begun = self._loop.time()
        try:
            return await self._finish(turning)
        finally:
            seconds = self._loop.time() - begun
            TURN_SECONDS.observe(seconds)
            logger.info("turn left this worker", extra={"seconds": round(seconds, 3)})

    async def _finish(self, turning: Turning) -> bool:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("A turn runs in a task.")
        holding = self._held[turning.turn.pk] = Holding(turning, task)
        try:
            while not isinstance(move := turning.move, Over):
                await self._go(turning, await self._reported(holding, move))
            return move.more_waits
        except asyncio.CancelledError:
            if holding.is_stopped:
                await self._go(turning, turning.stopped)
            elif self._is_draining:
                await self._go(turning, turning.let_go)
            return False
        finally:
            del self._held[turning.turn.pk]

    async def _reported(self, holding: Holding, move: AskModel | OutsideCall) -> Callable[[], None]:
        """What came of the move; or that it is not waited for any more, because the customer went on writing."""
        holding.is_thinking = isinstance(move, AskModel)
        try:
            return await self._made(holding.turning, move)
        except asyncio.CancelledError:
            if not holding.has_said_more or holding.is_stopped or self._is_draining:
                raise
            holding.task.uncancel()
            return holding.turning.said_more
        finally:
            holding.is_thinking = holding.has_said_more = False

    async def _made(self, turning: Turning, move: AskModel | OutsideCall) -> Callable[[], None]:
        """Make the call; what came back, as the turn wants it told."""
        try:
            if isinstance(move, AskModel):
                listener = attentive(self.ears, turning.claimed)
                async with self._clients.at(move.place) as backend:
                    with AskedModel():
                        reply = await backend.complete(move.request, listener)
                note_tokens(reply.usage)
                return partial(turning.took_reply, reply)
            called = move.tool.call(move.use.arguments, key=move.key, timeout_seconds=TOOL_SECONDS)
            return partial(turning.took_result, move, await called)
        except Exception as error:  # noqa: BLE001  # the turn sorts out whom it concerns
            return partial(turning.failed, error)

    async def _go(self, turning: Turning, report: Callable[[], None]) -> None:
        await self._crew.do(turning.turn.tenant_id, partial(turning.go, report))

    async def _beat(self) -> None:
        """Extend the leases of what runs; what another worker took over is left to it."""
        while True:
            await asyncio.sleep(self.limits.lease_seconds / 3)
            held = list(self._held.values())
            try:
                beaten = await self._crew.do(HOUSE, partial(beat_all, held))
            except (DatabaseError, InterfaceError) as error:
                logger.warning("leases could not be extended", extra={"error": type(error).__name__})
                continue
            for holding in beaten.stopped:
                holding.is_stopped = True
            for holding in (*beaten.lost, *beaten.stopped):
                holding.task.cancel()

    async def _listen(self) -> None:
        """Have turns begin anew whose customers went on writing, where their agents do that."""
        while True:
            await _wait(self._heard, LOOK_SECONDS)
            self._heard.clear()
            thinking = [holding for holding in self._held.values() if holding.may_begin_anew]
            if not thinking:
                continue
            try:
                found = await self._crew.do(HOUSE, partial(interrupted, thinking))
            except (DatabaseError, InterfaceError) as error:
                logger.warning("what arrived meanwhile cannot be read", extra={"error": type(error).__name__})
                continue
            for holding in found:
                if holding.is_thinking:
                    holding.has_said_more = True
                    holding.task.cancel()

    async def _drain(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._drain_seconds)
        self._is_draining = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._couriers.drain(self._drain_seconds)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
