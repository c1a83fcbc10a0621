"""Calls of built-in tools by an external agent, within a turn that was handed out to it."""

from collections.abc import Sequence

from apps.conversations.models import Conversation
from apps.conversations.rules import ToolCall
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid, NotVisible
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.llm.model_backend import ToolUse
from apps.prompt.builtin_tools import READ_MY_MEMORY, UPDATE_MEMORY, UPDATE_MY_MEMORY
from apps.runtime.external.report_parsing import InvalidReport, storable_json
from apps.runtime.external.turn_handout import HANDLED_BY_COLLEAGUE, claim_for_request, refuse_taken_over
from apps.runtime.models import ToolStep, Turn
from apps.runtime.tools.memory_editing_tools import MEMORY_SHOWN
from apps.runtime.tools.toolbox import NO_TOOLS
from apps.runtime.turn_store.journal_rows import tool_row
from apps.runtime.turn_store.turn_claim import TurnClaim
from apps.runtime.turn_store.turn_journal import RenderedUserTurn, lock_turn, record_steps
from apps.runtime.turns.turn_setup import set_up_turn
from apps.tenants.authentication.actor_resolution import system_actor

# The step number of tool calls whose model answer the agent has not reported yet.
UNREPORTED_STEP = 0
TURN_IS_OVER = "This turn is over: {said}. Send nothing, and open the session again."


def find_external_turn(session_id: int, turn_id: int, *, actor: Actor) -> Turn:
    """The turn, if it belongs to this agent and was handed out in this session."""
    authorize(actor, Act.TURN_REPORT, actor.tenant_id, agent_id=actor.agent_id)
    with acting_as(actor):
        # `authorize` has refused every actor that is not an agent.
        threads = Conversation.objects.visible_to(actor).filter(has_external_agent=True, agent_id=actor.agent_id or 0)
        found = Turn.objects.filter(pk=turn_id, session_id=session_id, conversation__in=threads)
        turn = found.select_related("conversation__agent").first()
    if turn is None:
        raise NotVisible("No turn of this number was handed out to you in this session.")
    return turn


def refuse_ended_turn(turn: Turn) -> None:
    """Raise Conflict if the turn has ended."""
    if turn.failure_code == "taken_over":
        raise Conflict(HANDLED_BY_COLLEAGUE)
    if turn.status != Turn.Status.RUNNING:
        raise Conflict(TURN_IS_OVER.format(said=turn.failure.rstrip(".") or f"it is {turn.status}"))


def call_tool(session_id: int, turn_id: int, use: ToolUse, *, actor: Actor) -> ToolCall:
    """Call a tool of the session. If the call's id was used before, return the first result."""
    turn = find_external_turn(session_id, turn_id, actor=actor)
    refuse_ended_turn(turn)
    try:
        use = ToolUse(use.tool_use_id, use.name, storable_json(use.arguments))
    except InvalidReport as flaw:
        raise Invalid(f"The call cannot be made. {flaw}", {"input": [str(flaw)]}) from flaw
    system = system_actor(actor.tenant_id, "worker")
    with claim_for_request(turn.conversation, system) as claimed:
        refuse_taken_over(claimed)
        before = calls_of_turn(claimed, system)
        if known := next((call for call in before if call.call_id == use.tool_use_id), None):
            if (known.name, known.arguments) != (use.name, use.arguments):
                raise Conflict("This id was used for another call of the turn. Use a fresh id per call.")
            return known
        return _run_call(claimed, use, before, system)


def calls_of_turn(claimed: TurnClaim, system: Actor) -> list[ToolCall]:
    """The tool calls of a turn, in order."""
    with acting_as(system):
        rows = ToolStep.objects.filter(turn_id=claimed.turn.pk, round=claimed.turn.round).order_by("step", "position")
        call_rows = rows.values_list("call_id", "name", "arguments", "result", "is_error")
        return [
            ToolCall(call_id, name, {**given}, result, failed) for call_id, name, given, result, failed in call_rows
        ]


def _run_call(claimed: TurnClaim, use: ToolUse, before: Sequence[ToolCall], system: Actor) -> ToolCall:
    if claimed.asked is None:
        raise ValueError("A tool is called in a turn that was handed out.")
    loop, tool_calls = set_up_turn(claimed, RenderedUserTurn.kept(claimed.asked), NO_TOOLS, system=system)
    tool_calls.count_calls(before)
    if {call.name for call in before} & {READ_MY_MEMORY, UPDATE_MEMORY, UPDATE_MY_MEMORY}:
        tool_calls.context.shown.add(MEMORY_SHOWN)
    use = tool_calls.resolve_route(use)
    refused = tool_calls.refuse_call(use)
    if refused or tool_calls.builtin_tools[use.name].reads:
        made = refused or tool_calls.call_builtin_tool(use)
        _record_call(claimed, made, len(before), ToolStep.RepeatSafety.READ_ONLY, loop.asking, system)
        return made
    with acting_as(system):
        # The tool's writes and the step that records the call are one commit.
        lock_turn(claimed.turn)
        made = tool_calls.call_builtin_tool(use)
        _record_call(claimed, made, len(before), ToolStep.RepeatSafety.TRANSACTIONAL, loop.asking, system)
    return made


def _record_call(
    claimed: TurnClaim, made: ToolCall, place: int, repeat_safety: ToolStep.RepeatSafety, asking: int, system: Actor
) -> None:
    row = tool_row(UNREPORTED_STEP, place, made, repeat_safety, ToolStep.State.DONE)
    record_steps(claimed.turn, (), [row], asking, actor=system)
