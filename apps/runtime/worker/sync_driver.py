"""A turn driven to its end by one thread that waits for the model: for tests, commands and eager runs."""

import asyncio
from collections.abc import Callable
from functools import partial

from apps.llm.model_backend import BackendError, ModelBackend
from apps.runtime.tools.toolbox import NO_TOOLS, TOOL_SECONDS, ExternalCall, Toolbox
from apps.runtime.turn_store.claimed_endpoint import refuse_tenant_endpoint
from apps.runtime.turns.turn_machine import AskModel, TurnMachine, TurnOver, start_turn
from apps.tenants.endpoints.decrypted_endpoint import OpenedEndpoint

EndpointBackends = Callable[[OpenedEndpoint], ModelBackend]


def answer_conversation(
    tenant_id: int,
    conversation_id: int,
    *,
    backend: ModelBackend,
    toolbox: Toolbox = NO_TOOLS,
    places: EndpointBackends = refuse_tenant_endpoint,
) -> None:
    """Answer what waits in a conversation, and what arrives meanwhile. A failing model postpones the turn."""
    while (machine := start_turn(tenant_id, conversation_id, toolbox)) and drive_turn(machine, backend, places):
        pass


def drive_turn(machine: TurnMachine, backend: ModelBackend, places: EndpointBackends = refuse_tenant_endpoint) -> bool:
    """Drive one turn that was taken to its end; whether the conversation waits for another."""
    while True:
        match machine.move:
            case AskModel() as asking:
                machine.advance(partial(_ask_model, machine, asking, backend, places))
            case ExternalCall() as call:
                machine.advance(partial(_call_tool, machine, call))
            case TurnOver() as over:
                return over.more_waits


def _ask_model(machine: TurnMachine, asking: AskModel, backend: ModelBackend, places: EndpointBackends) -> None:
    try:
        reply = (places(asking.place) if asking.place else backend).complete(asking.request)
    except BackendError as error:
        machine.failed(error)
    else:
        machine.record_reply(reply)


def _call_tool(machine: TurnMachine, call: ExternalCall) -> None:
    called = call.tool.call(call.use.arguments, key=call.key, timeout_seconds=TOOL_SECONDS)
    machine.record_result(call, asyncio.run(called))
