"""The turn engine of a worker process: one event loop that waits for models and tools, and a few threads for the database.

The loop polls the database for due work; a wake-up call from outside only shortens the wait. A waiting turn costs a task and
its prompt, but no thread and no connection (MEASUREMENTS A6).
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
from apps.runtime.schedules.schedule_runner import collect_due_work
from apps.runtime.streaming.reply_listeners import ListenerLookup, guarded_listener, no_listener
from apps.runtime.tools.toolbox import NO_TOOLS, TOOL_SECONDS, Toolbox
from apps.runtime.turn_store.claimed_endpoint import refuse_tenant_endpoint
from apps.runtime.turns.turn_events import (
    CallFailed,
    Interruption,
    MachineEvent,
    MessagesArrived,
    ModelCallEvent,
    ModelReplied,
    PersonStopped,
    ToolCallEvent,
    ToolReturned,
    WorkerStopping,
)
from apps.runtime.turns.turn_machine import TurnMachine, start_turn
from apps.runtime.turns.turn_progress import AskModel, TurnEffect
from apps.runtime.webhook_delivery.dispatcher import DeliveryDispatcher
from apps.runtime.worker.db_thread_pool import NO_TENANT, DatabaseThreadPool
from apps.runtime.worker.fair_queue import FairQueue
from apps.runtime.worker.heartbeat import RunningTurn, TurnUnderWay, describe_turn, extend_all_leases, find_interrupted
from apps.runtime.worker.model_clients import ModelClients
from apps.runtime.worker.model_metrics import ModelCallTimer, count_tokens
from apps.telemetry.log_context import add_log_facts, log_context
from apps.telemetry.product_metrics import TURN_SECONDS
from apps.tenants.due_work import due_work
from apps.tenants.endpoints.decrypted_endpoint import OpenedEndpoint

logger = logging.getLogger(__name__)

# Random variation of the poll interval, so that workers do not keep polling at the same moment.
JITTER = 0.2
# The delay until new messages during a turn are noticed if the wake-up call was lost.
NEW_MESSAGE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """Limits of one process: turns at once, database threads, seconds between polls, and seconds of a lease."""

    in_flight: int
    threads: int
    poll_seconds: float
    lease_seconds: float


class Engine:
    """Answers due turns until it is stopped."""

    def __init__(
        self,
        make_backend: Callable[[], AsyncBackend],
        limits: EngineLimits,
        toolbox: Toolbox = NO_TOOLS,
        make_backend_at: Callable[[OpenedEndpoint], AsyncBackend] = refuse_tenant_endpoint,
        listeners: ListenerLookup = no_listener,
    ) -> None:
        self.limits, self.toolbox, self.listeners = limits, toolbox, listeners
        self._clients = ModelClients(make_backend, make_backend_at)
        self._threads = DatabaseThreadPool(limits.threads)
        # Starting turns may use half of the threads, so that turns that are ending are not delayed.
        beginning = max(1, limits.threads // 2)
        self._beginning = asyncio.Semaphore(beginning)
        # One tenant's starting turns never use all of that half, so that another tenant's turn can start at once.
        self._begins_each = max(1, beginning - 1)
        self._begins: Counter[int] = Counter()
        self._fair = FairQueue(limits.in_flight)
        self._dispatcher = DeliveryDispatcher(self._threads.do, self._find_due_deliveries)
        self._held: dict[int, RunningTurn] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._woken = asyncio.Event()
        self._heard = asyncio.Event()
        self._stopping = asyncio.Event()
        self._is_draining = False
        self._drain_seconds = 0.0
        self._up = threading.Event()
        self._thread = threading.Thread(target=self._run, name="turn engine", daemon=True)

    def start(self) -> None:
        """Start the engine's thread, and return when it takes turns."""
        self._thread.start()
        self._up.wait()

    def wake(self, tenant_id: int, conversation_id: int, in_seconds: float = 0) -> None:
        """Check this conversation in so many seconds. Thread-safe."""
        self._call_from_thread(partial(self._enqueue_in, in_seconds, tenant_id, conversation_id))

    def stop(self, drain_seconds: float) -> None:
        """Take no more turns, give the running ones so many seconds, release the rest, and return when all is done."""
        self._drain_seconds = drain_seconds
        self._call_from_thread(self._stop)
        self._thread.join()

    def turns_under_way(self) -> list[TurnUnderWay]:
        """The turns that run here, the oldest first. Thread-safe."""
        now = time.monotonic()
        # `list` is one atomic operation, so no turn is added or removed meanwhile.
        held = list(self._held.values())
        return [describe_turn(holding, now) for holding in sorted(held, key=lambda holding: holding.begun_at)]

    def _call_from_thread(self, call: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:
            logger.info("the turn engine has stopped; a sweep will find the waiting turns")

    def _enqueue_in(self, seconds: float, tenant_id: int, conversation_id: int) -> None:
        self._loop.call_later(seconds, self._enqueue, tenant_id, conversation_id)

    def _enqueue(self, tenant_id: int, conversation_id: int) -> None:
        self._fair.add(tenant_id, conversation_id)
        self._woken.set()
        self._heard.set()

    def _stop(self) -> None:
        self._stopping.set()
        self._woken.set()

    def _run(self) -> None:
        try:
            asyncio.run(self._run_loop())
        finally:
            self._threads.close()

    async def _run_loop(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._up.set()
        beats = asyncio.gather(self._extend_leases(), self._restart_interrupted())
        try:
            await self._take_turns()
            await self._drain()
        finally:
            beats.cancel()
            await asyncio.gather(beats, return_exceptions=True)
            await self._clients.aclose()
            self._threads.shutdown()

    async def _take_turns(self) -> None:
        polled = -self.limits.poll_seconds
        while not self._stopping.is_set():
            self._woken.clear()
            if self._loop.time() - polled >= self.limits.poll_seconds and self._fair.free:
                polled = self._loop.time()
                await self._poll()
            # Conversations are chosen as late as possible, since their order is fixed once they are queued for a thread.
            while self._may_begin and (picked := self._fair.take()):
                await self._beginning.acquire()
                self._begins[picked[0]] += 1
                task = asyncio.create_task(self._serve_conversation(*picked))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            await _wait_for_event(self._woken, self.limits.poll_seconds * random.uniform(1 - JITTER, 1 + JITTER))  # noqa: S311  # spread, not secret

    @property
    def _may_begin(self) -> bool:
        """Whether the next turn may begin now."""
        tenant_id = self._fair.next_tenant
        return not self._beginning.locked() and tenant_id is not None and self._begins[tenant_id] < self._begins_each

    async def _poll(self) -> None:
        try:
            due = await self._threads.do(NO_TENANT, collect_due_work)
            for tenant_id, conversation_id in due.turns:
                self._fair.add(tenant_id, conversation_id)
            self._dispatcher.send(due.deliveries)
        except (DatabaseError, InterfaceError) as error:
            logger.warning("due work could not be read", extra={"error": type(error).__name__})

    async def _find_due_deliveries(self) -> list[tuple[int, int]]:
        due: list[tuple[int, int]] = await self._threads.do(NO_TENANT, partial(due_work, "webhook_deliveries"))
        return due

    async def _serve_conversation(self, tenant_id: int, conversation_id: int) -> None:
        """Run one turn, and queue the conversation again if another waits. If this fails, the lease brings the turn back."""
        try:
            with log_context(tenant_id=tenant_id, actor="agent", conversation_id=conversation_id):
                if (machine := await self._begin_turn(tenant_id, conversation_id)) and await self._finish_measured(
                    machine
                ):
                    self._fair.add(tenant_id, conversation_id)
        except (DatabaseError, InterfaceError) as error:
            logger.warning("turn abandoned until its lease ends", extra={"error": type(error).__name__})
        finally:
            self._fair.ended(tenant_id, conversation_id)
            self._woken.set()

    async def _begin_turn(self, tenant_id: int, conversation_id: int) -> TurnMachine | None:
        try:
            return await self._threads.do(tenant_id, partial(start_turn, tenant_id, conversation_id, self.toolbox))
        finally:
            self._begins -= Counter([tenant_id])
            self._beginning.release()
            self._woken.set()

    async def _finish_measured(self, machine: TurnMachine) -> bool:
        add_log_facts(turn_id=machine.turn.pk)
        begun = self._loop.time()
        try:
            return await self._finish(machine)
        finally:
            seconds = self._loop.time() - begun
            TURN_SECONDS.observe(seconds)
            logger.info("turn ended on this worker", extra={"seconds": round(seconds, 3)})

    async def _finish(self, machine: TurnMachine) -> bool:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("A turn runs in a task.")
        holding = self._held[machine.turn.pk] = RunningTurn(machine, task)
        try:
            while (effect := machine.effect) is not None:
                await self._report_to_turn(machine, await self._await_event(holding, effect))
            return machine.more_waits
        except asyncio.CancelledError:
            interruption = self._interruption(holding)
            if interruption and machine.effect:
                await self._report_to_turn(machine, interruption)
            return False
        finally:
            del self._held[machine.turn.pk]

    def _interruption(self, holding: RunningTurn) -> Interruption | None:
        """The reason why a turn was cancelled; None if another worker has claimed it, so that nothing may be written."""
        if holding.is_stopped:
            return PersonStopped()
        return WorkerStopping() if self._is_draining else None

    async def _await_event(self, holding: RunningTurn, effect: TurnEffect) -> ModelCallEvent | ToolCallEvent:
        """The event of the finished effect, or an event that new messages arrived and the effect was abandoned."""
        holding.is_thinking = isinstance(effect, AskModel)
        try:
            return await self._perform_effect(holding.machine, effect)
        except asyncio.CancelledError:
            if not holding.has_new_messages or self._interruption(holding):
                raise
            holding.task.uncancel()
            return MessagesArrived()
        finally:
            holding.is_thinking = holding.has_new_messages = False

    async def _perform_effect(self, machine: TurnMachine, effect: TurnEffect) -> ModelCallEvent | ToolCallEvent:
        try:
            if isinstance(effect, AskModel):
                listener = guarded_listener(self.listeners, machine.claimed)
                async with self._clients.at(effect.place) as backend:
                    with ModelCallTimer():
                        reply = await backend.complete(effect.request, listener)
                count_tokens(reply.usage)
                return ModelReplied(reply)
            called = effect.tool.call(effect.use.arguments, key=effect.key, timeout_seconds=TOOL_SECONDS)
            return ToolReturned(effect, await called)
        except Exception as error:  # noqa: BLE001  # the turn decides what follows from it
            return CallFailed(error)

    async def _report_to_turn(self, machine: TurnMachine, event: MachineEvent) -> None:
        await self._threads.do(machine.turn.tenant_id, partial(machine.advance, event))

    async def _extend_leases(self) -> None:
        """Extend the leases of running turns. Turns that another worker claimed are abandoned here."""
        while True:
            await asyncio.sleep(self.limits.lease_seconds / 3)
            held = list(self._held.values())
            try:
                beaten = await self._threads.do(NO_TENANT, partial(extend_all_leases, held))
            except (DatabaseError, InterfaceError) as error:
                logger.warning("leases could not be extended", extra={"error": type(error).__name__})
                continue
            for holding in beaten.stopped:
                holding.is_stopped = True
            for holding in (*beaten.lost, *beaten.stopped):
                holding.task.cancel()

    async def _restart_interrupted(self) -> None:
        """Restart turns whose customers wrote again, if their agents are set to do so."""
        while True:
            await _wait_for_event(self._heard, NEW_MESSAGE_SECONDS)
            self._heard.clear()
            thinking = [holding for holding in self._held.values() if holding.may_restart]
            if not thinking:
                continue
            try:
                found = await self._threads.do(NO_TENANT, partial(find_interrupted, thinking))
            except (DatabaseError, InterfaceError) as error:
                logger.warning("new messages could not be read", extra={"error": type(error).__name__})
                continue
            for holding in found:
                if holding.is_thinking:
                    holding.has_new_messages = True
                    holding.task.cancel()

    async def _drain(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._drain_seconds)
        self._is_draining = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._dispatcher.drain(self._drain_seconds)


async def _wait_for_event(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
