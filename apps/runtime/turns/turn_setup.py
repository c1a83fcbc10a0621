"""Prepares a turn for its first model call: the session, the history, and the tools."""

from functools import partial

from django.conf import settings

from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.runtime.kill_switch_checks import refuse_if_frozen
from apps.runtime.limits.turn_budgets import (
    LOOP_WINDOW,
    SAVES_PER_NUDGE,
    DayBudgetSpent,
    TurnKind,
    detect_loop,
    steps_allowed,
)
from apps.runtime.sessions.prompt_cache_plan import PromptCachePlanner
from apps.runtime.sessions.session_prefix import SessionPrefix, is_session_over, open_session, prefix_from_claim
from apps.runtime.tools.builtin_catalog import BUILTIN_TOOLS
from apps.runtime.tools.builtin_tool import ToolContext
from apps.runtime.tools.tool_approvals import approval_request_tools, guarded_tools
from apps.runtime.tools.tool_search import is_routed, routed_toolbox, routing_tools
from apps.runtime.tools.toolbox import NO_TOOLS, Toolbox
from apps.runtime.turn_store.turn_claim import TurnClaim
from apps.runtime.turn_store.turn_journal import RenderedUserTurn, enter_session, lock_turn
from apps.runtime.turns.model_loop import ModelLoop, TurnFailed
from apps.runtime.turns.scheduled_run_check import refuse_withdrawn_skill
from apps.runtime.turns.tool_calls import ToolCalls
from apps.runtime.turns.turn_completion import NOT_REPORTED
from apps.runtime.turns.user_turn import saving_tool
from apps.tenants.authentication.actor_resolution import agent_with_grants


def set_up_turn(
    claimed: TurnClaim, asked: RenderedUserTurn, toolbox: Toolbox, frozen: SessionPrefix | None = None, *, system: Actor
) -> tuple[ModelLoop, ToolCalls]:
    """Build the model loop and the tools of a claimed turn. The loop has the history but none of the turn's steps.

    A turn that restarts stays in the session `frozen`.
    """
    conversation, agent = claimed.conversation, claimed.agent
    if claimed.turn.external_user_turn is None:
        _refuse_to_begin(claimed)
    # Tool servers act with their own rights. An assistant may use only its member's rights, so it gets no external tools.
    toolbox = NO_TOOLS if _is_assistant_talk(conversation) else _add_server_tools(toolbox, claimed)
    if claimed.kind is TurnKind.SCHEDULED:
        refuse_withdrawn_skill(conversation, actor=system)
    identity = _identity(claimed)
    frozen = frozen or _find_or_open_session(claimed, toolbox, identity, system)
    context = ToolContext(
        identity, agent.pk, conversation, frozen.session.snapshot_at, claimed.turn.pk, money=claimed.money
    )
    return _build_loop(claimed, asked, frozen, system), _build_tool_calls(claimed, frozen, toolbox, context, system)


def _identity(claimed: TurnClaim) -> Actor:
    """The agent as an actor that sees only the data of the customer or member whom it answers."""
    conversation, agent = claimed.conversation, claimed.agent
    identity = agent_with_grants(agent.tenant_id, agent.pk, agent.service_user_id, agent.key, claimed.context.grants)
    if conversation.member_user_id is not None:
        return identity.for_member(conversation.member_user_id)
    # A customer without a key is never verified. A scheduled run to which nobody wrote has no customer and counts as verified.
    is_proven = bool(conversation.end_user_key) or claimed.answers_nobody
    return identity.serving(conversation.end_user_key, is_proven=is_proven and claimed.customer_is_proven)


def _is_assistant_talk(conversation: Conversation) -> bool:
    return conversation.is_talk and not conversation.is_trial


def _build_tool_calls(
    claimed: TurnClaim, frozen: SessionPrefix, toolbox: Toolbox, context: ToolContext, system: Actor
) -> ToolCalls:
    """The tools that the session names and that still exist. A tool whose calls need approval is replaced by a built-in one."""
    names = {tool.name: tool for tool in frozen.definitions}
    routed = routed_toolbox(toolbox, names)
    routing = routing_tools(routed) if is_routed(names) else ()
    guarded = (
        {} if _is_assistant_talk(claimed.conversation) else guarded_tools(claimed.server_tools, {*names, *routed.tools})
    )
    builtin_tools = {tool.name: tool for tool in (*BUILTIN_TOOLS, *routing) if tool.name in names}
    return ToolCalls(
        builtin_tools=builtin_tools | approval_request_tools(guarded, system),
        toolbox=Toolbox({name: tool for name, tool in toolbox.tools.items() if name in names}),
        routed=routed,
        frozen=names,
        context=context,
        before_keeping=partial(refuse_if_frozen, claimed.conversation, actor=system),
        guarded=guarded,
        approved=dict(claimed.approved_calls),
        saves_left=SAVES_PER_NUDGE if saving_tool(claimed) else None,
    )


def _add_server_tools(toolbox: Toolbox, claimed: TurnClaim) -> Toolbox:
    """The worker's own tools and the server tools that the agent may call; off the record only read-only ones (R178)."""
    others = [
        tool
        for tool in claimed.server_tools
        if tool.is_offered(off_the_record=claimed.conversation.tells_off_the_record)
    ]
    return Toolbox({**{tool.definition.name: tool for tool in others}, **toolbox.tools}) if others else toolbox


def _build_loop(claimed: TurnClaim, asked: RenderedUserTurn, frozen: SessionPrefix, system: Actor) -> ModelLoop:
    conversation, rates = claimed.conversation, claimed.terms.rates
    account = PromptCachePlanner(
        frozen, claimed.model, conversation.pk, system, claimed.context.earlier_calls, rates=rates
    )
    steps = steps_allowed(claimed.kind, conversation.channel, claimed.agent.max_steps, claimed.steps_wanted)
    loop = ModelLoop(account, steps, settings.TURN_DEADLINE_SECONDS, money=claimed.money)
    loop.open_history(claimed.context.history, asked.wire, claimed.turn.history_halvings)
    return loop


def refuse_exhausted_turn(claimed: TurnClaim) -> None:
    """Raise TurnFailed for a turn that crashed too many workers, is too old, or was not reported in time by an external agent."""
    if claimed.conversation.has_external_agent:
        raise TurnFailed(NOT_REPORTED, "The external agent did not report the turn within fifteen minutes.")
    if claimed.is_spent:
        raise TurnFailed("attempts_spent", "The workers that took this turn died, or it waited longer than a day.")


def _refuse_to_begin(claimed: TurnClaim) -> None:
    """Refuse to begin a turn if the day's budget is spent, or if two agents seem to be answering each other in a loop."""
    if claimed.money.day_left is not None and claimed.money.day_left <= 0:
        raise DayBudgetSpent
    if detect_loop(claimed.conversation.hops, claimed.turns_lately, settings.LOOP_TURNS):
        minutes = LOOP_WINDOW.seconds // 60
        raise TurnFailed(
            "agent_loop",
            f"There were more than {settings.LOOP_TURNS} turns within {minutes} minutes, as if two machines talked to each other.",
        )


def _find_or_open_session(claimed: TurnClaim, toolbox: Toolbox, identity: Actor, system: Actor) -> SessionPrefix:
    """Find the session of a turn: the turn's own if it has steps, else the conversation's current one.

    The write that closes the turn stores the session. If the current session is over, a new one is opened, in one commit with the
    turn that enters it. A new session is also opened, even for a turn with steps, if the current one contains text that a person
    has quarantined, or the customer's profile while the tenant has since begun to require a proof of identity.
    """
    running, turn = claimed.context.running, claimed.turn
    is_begun = claimed.kept or turn.round > 1 or turn.external_user_turn
    # If a turn was handed out, the external agent already has its prompt.
    is_withdrawn = (
        running is not None
        and not turn.external_user_turn
        and (running.has_quarantined_text or (running.tells_of_customer and not claimed.customer_is_proven))
    )
    if running and not is_withdrawn and (is_begun or not is_session_over(running, claimed.agent, claimed.context.now)):
        turn.session = running.session
        return prefix_from_claim(running, claimed.known_parts)
    with acting_as(system):
        lock_turn(turn)
        frozen = open_session(
            claimed.conversation, claimed.agent, system=system, agent_actor=identity, outside=toolbox.definitions
        )
        enter_session(claimed.turn, frozen.session, actor=system)
        return frozen
