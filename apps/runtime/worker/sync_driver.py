"""A turn driven to its end by one thread that waits for the model: for tests, commands and eager runs."""

import asyncio
from collections.abc import Callable
from functools import partial

from apps.llm.model_backend import Backend, BackendError
from apps.runtime.tools.toolbox import NO_TOOLS, TOOL_SECONDS, OutsideCall, Toolbox
from apps.runtime.turn_store.claimed_endpoint import nowhere_else
from apps.runtime.turns.turn_machine import AskModel, Over, Turning, begin
from apps.tenants.endpoints.decrypted_endpoint import Reached

Places = Callable[[Reached], Backend]


def answer(
    tenant_id: int,
    conversation_id: int,
    *,
    backend: Backend,
    toolbox: Toolbox = NO_TOOLS,
    places: Places = nowhere_else,
) -> None:
    """Answer what waits in a conversation, and what arrives meanwhile. A failing model postpones the turn."""
    while (turning := begin(tenant_id, conversation_id, toolbox)) and more_waits(turning, backend, places):
        pass


def more_waits(turning: Turning, backend: Backend, places: Places = nowhere_else) -> bool:
    """Drive one turn that was taken to its end; whether the conversation waits for another."""
    while True:
        match turning.move:
            case AskModel() as asking:
                turning.go(partial(_ask, turning, asking, backend, places))
            case OutsideCall() as call:
                turning.go(partial(_call, turning, call))
            case Over() as over:
                return over.more_waits


def _ask(turning: Turning, asking: AskModel, backend: Backend, places: Places) -> None:
    try:
        reply = (places(asking.place) if asking.place else backend).complete(asking.request)
    except BackendError as error:
        turning.failed(error)
    else:
        turning.took_reply(reply)


def _call(turning: Turning, call: OutsideCall) -> None:
    called = call.tool.call(call.use.arguments, key=call.key, timeout_seconds=TOOL_SECONDS)
    turning.took_result(call, asyncio.run(called))
