"""Runs a turn to its end in one thread that waits for the model: for tests, commands and eager runs."""

import asyncio
from collections.abc import Callable

from apps.llm.model_backend import ModelBackend
from apps.runtime.tools.toolbox import NO_TOOLS, TOOL_SECONDS, ExternalCall, Toolbox
from apps.runtime.turn_store.claimed_endpoint import refuse_tenant_endpoint
from apps.runtime.turns.turn_events import CallFailed, ModelCallEvent, ModelReplied, ToolCallEvent, ToolReturned
from apps.runtime.turns.turn_machine import TurnMachine, start_turn
from apps.runtime.turns.turn_progress import AskModel, TurnEffect
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
    """Answer the waiting messages of a conversation, and those that arrive meanwhile. A failing model postpones the turn."""
    while (machine := start_turn(tenant_id, conversation_id, toolbox)) and drive_turn(machine, backend, places):
        pass


def drive_turn(machine: TurnMachine, backend: ModelBackend, places: EndpointBackends = refuse_tenant_endpoint) -> bool:
    """Run a claimed turn to its end. Returns whether the conversation needs another one."""
    while (effect := machine.effect) is not None:
        machine.advance(_perform_effect(effect, backend, places))
    return machine.more_waits


def _perform_effect(
    effect: TurnEffect, backend: ModelBackend, places: EndpointBackends
) -> ModelCallEvent | ToolCallEvent:
    try:
        match effect:
            case AskModel(request, place):
                return ModelReplied((places(place) if place else backend).complete(request))
            case ExternalCall(tool, use=use, key=key):
                called = tool.call(use.arguments, key=key, timeout_seconds=TOOL_SECONDS)
                return ToolReturned(effect, asyncio.run(called))
    except Exception as error:  # noqa: BLE001  # the turn decides what follows from it
        return CallFailed(error)
