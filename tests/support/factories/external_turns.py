"""Lawful data of external agents: the messages, sessions and reports that their programs exchange."""

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import Act
from apps.llm.model_backend import ToolUse
from apps.runtime.external.external_tool_calls import call_tool
from apps.runtime.external.turn_handout import ExternalMessageTerms, ExternalTurn, IncomingMessage, open_external_turn
from apps.runtime.external.turn_report import ExternalTurnReport, ReportedTurn, take_report
from apps.runtime.models import Turn
from apps.tenants.authentication.actor_resolution import system_actor
from tests.support.worlds.world import World

CUSTOMER = "http:abc123"
MODEL = "claude-sonnet-5"
USAGE = {"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 0}

_numbers = count(1)


def open_external_session(world: World, *texts: str, thread: str = "elsewhere", **terms: Any) -> ExternalTurn:
    """Let a customer write to an external agent, which opens its session."""
    messages = [IncomingMessage(text, f"k-{next(_numbers)}") for text in texts]
    return open_external_turn(
        {"agent_id": world.agent.pk, "channel": "http", "conversation_key": thread},
        ExternalMessageTerms(**{"end_user_key": CUSTOMER} | terms),
        messages,
        actor=world.bot,
    )


def model_answer(text: str, **more: Any) -> dict[str, Any]:
    """Return a final answer of the model, as the API gives it."""
    given = {
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "model": MODEL,
        "stop_reason": "end_turn",
    }
    return {**given, "usage": USAGE, **more}


def tool_call_answer(name: str, call_id: str, **arguments: object) -> dict[str, Any]:
    """Return an answer of the model that calls a tool."""
    use = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
    return model_answer("", content=[use], stop_reason="tool_use")


def tool_result(call_id: str, text: str, **more: Any) -> dict[str, Any]:
    """Return the result of a tool."""
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": text, **more}]}


def report_external_turn(
    world: World, out: ExternalTurn, *messages: dict[str, Any], key: str = "report", failure: str = ""
) -> ReportedTurn:
    """Report the result of the agent's turn."""
    return take_report(out.session.pk, out.turn.pk, ExternalTurnReport.of(messages, key, failure), actor=world.bot)


def use_tool(world: World, out: ExternalTurn, name: str, call_id: str = "call-1", **arguments: Any) -> str:
    """Call a built-in tool in the agent's turn; return the result."""
    return call_tool(out.session.pk, out.turn.pk, ToolUse(call_id, name, arguments), actor=world.bot).result


def conversation_of(world: World, out: ExternalTurn) -> Conversation:
    with acting_as(world.system):
        return Conversation.objects.select_related("agent").get(pk=out.session.conversation_id)


def reload_turn(world: World, out: ExternalTurn) -> Turn:
    with acting_as(world.system):
        return Turn.objects.select_related("reply", "session").get(pk=out.turn.pk)


def make_handed_out(world: World) -> Conversation:
    """Make a customer's conversation whose turn an external agent has opened."""
    return conversation_of(world, open_external_session(world, "Where is my parcel?"))


def _load_turn(row: Conversation) -> Turn:
    system = system_actor(row.tenant_id)
    with acting_as(system):
        return Turn.objects.filter(conversation=row).latest("pk")


def report_on(row: Conversation, actor: Actor) -> ReportedTurn:
    """Report the result of the latest turn of a conversation."""
    turn = _load_turn(row)
    return take_report(
        turn.session_id or 0, turn.pk, ExternalTurnReport.of([model_answer("In Lyon.")], "matrix"), actor=actor
    )


def _open_session(scene: Any, actor: Actor) -> ExternalTurn:
    thread = {"agent_id": scene.world.agent.pk, "channel": "http", "conversation_key": "matrix"}
    return open_external_turn(thread, ExternalMessageTerms(), [IncomingMessage("Hello?", "matrix")], actor=actor)  # type: ignore[arg-type]  # a thread


def _report_request(row: Conversation) -> tuple[str, str, dict[str, object]]:
    turn = _load_turn(row)
    body = {"turn_id": turn.pk, "idempotency_key": "matrix", "messages": [model_answer("In Lyon.")]}
    return "POST", f"sessions/{turn.session_id}/turns", body


OPEN_SESSION_BODY: dict[str, object] = {
    "conversation_key": "matrix",
    "end_user_key": CUSTOMER,
    "messages": [{"text": "Hello?", "idempotency_key": "matrix"}],
}
EXTERNAL_AGENT_SUBJECTS: Mapping[Act, Callable[[World], Any]] = {
    Act.SESSION_OPEN: lambda _: None,
    Act.TURN_REPORT: make_handed_out,
}
# Each takes the scene, the row and, for actions, the actor.
EXTERNAL_AGENT_ACTS: Mapping[Act, Callable[[Any, Any, Actor], object]] = {
    Act.SESSION_OPEN: lambda scene, _, actor: _open_session(scene, actor),
    Act.TURN_REPORT: lambda _, row, actor: report_on(row, actor),
}
EXTERNAL_AGENT_REQUESTS: Mapping[Act, Callable[[Any, Any], tuple[str, str, dict[str, object]]]] = {
    Act.SESSION_OPEN: lambda _, __: ("POST", "sessions", OPEN_SESSION_BODY),
    Act.TURN_REPORT: lambda _, row: _report_request(row),
}


def _report_over_mcp(row: Conversation) -> tuple[str, dict[str, object]]:
    _, path, body = _report_request(row)
    return "report_turn", {"id": int(path.split("/")[1]), **body}


EXTERNAL_AGENT_TOOLS: Mapping[Act, Callable[[Any, Any], tuple[str, dict[str, object]]]] = {
    Act.SESSION_OPEN: lambda _, __: ("open_session", OPEN_SESSION_BODY),
    Act.TURN_REPORT: lambda _, row: _report_over_mcp(row),
}
