"""Claims a turn: one statement decides which worker gets the turn, and reads everything that the turn needs."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import lru_cache
from typing import Any, Final

from django.conf import settings

from apps.conversations.models import Conversation, InboundEvent
from apps.conversations.rules import SCHEDULE_CHANNEL, ToolCall
from apps.desk.rules import SendRuleValue, send_mode_of
from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import execute_as
from apps.governance.database.sql_files import load_query
from apps.learning.lessons.example_rules import KEYWORD_LETTERS, MIN_WORD_LETTERS
from apps.llm.model_backend import JsonObject
from apps.prompt.prompt_input import SendMode
from apps.prompt.rendering.segments import SlotText
from apps.runtime.kill_switch_checks import STOPS_ANSWERING, STOPS_SENDING, StoppedByPerson
from apps.runtime.limits.turn_budgets import LOOP_WINDOW, DayBudgetSpent, TurnKind, TurnMoney, smallest_budget
from apps.runtime.limits.turn_limits import CRASHES_PER_TURN, EXTERNAL_TURN_DEADLINE, HISTORY_MESSAGES, TURN_DEADLINE
from apps.runtime.models import ToolStep, Turn
from apps.runtime.prompt_snapshot.part_cache import CLAIMED_PARTS
from apps.runtime.tools.tool_server_tools import KNOWN_DESCRIPTIONS, ToolDescription, ToolServerTool, build_server_tools
from apps.runtime.turn_store.cached_prefixes import OTHERS_CALLS, OWN_TURNS
from apps.runtime.turn_store.claimed_endpoint import DEFAULT_ENDPOINT, ModelEndpoint
from apps.runtime.turn_store.json_rows import JsonRow, row_from_json
from apps.runtime.turn_store.model_steps import AssistantMessage
from apps.runtime.turn_store.resume import JournaledCall, JournaledStep
from apps.runtime.turn_store.turn_context import COMPARED_CHARACTERS, MAX_EXAMPLES, CallingAgent, TurnContext
from apps.tenants.authentication.actor_resolution import GRANT_ORIGINS
from apps.tenants.models import Agent

CLAIM: Final = load_query("apps/runtime/turn_store/queries/claim_turn.sql")
AGENTS_KEPT = 512
# Limits on the numbers of rows that a claim reads.
_QUERY_LIMITS = {
    "history": HISTORY_MESSAGES,
    "examples": MAX_EXAMPLES,
    "compared": COMPARED_CHARACTERS,
    "keyword_letters": KEYWORD_LETTERS,
    "min_word_letters": MIN_WORD_LETTERS,
    "own_turns": OWN_TURNS,
    "others_calls": OTHERS_CALLS,
}


@dataclass(frozen=True, slots=True)
class TurnClaim:
    """A turn that this worker has claimed, with its events, the steps of earlier workers, and its context.

    `known_parts` are prompt parts that this process has cached, by mark.
    """

    turn: Turn
    conversation: Conversation
    events: tuple[InboundEvent, ...]
    context: TurnContext
    known_parts: dict[str, SlotText]
    kept: tuple[JournaledStep, ...] = ()
    asked: JsonObject | None = None
    terms: ModelEndpoint = DEFAULT_ENDPOINT
    money: TurnMoney = field(default_factory=TurnMoney)
    turns_lately: int = 1
    server_tools: tuple[ToolServerTool, ...] = ()
    # The ids of tool call approvals, by the hash of the call.
    approved_calls: dict[str, int] = field(default_factory=dict)
    # Whether sending was paused at the turn's latest write.
    is_sending_paused: bool = False

    @property
    def agent(self) -> Agent:
        """The agent that answers."""
        return self.conversation.agent

    @property
    def model(self) -> str:
        """The model of the turn: the fallback if the turn changed to it, otherwise the agent's model."""
        return self.turn.model or self.agent.model or settings.DEFAULT_MODEL

    @property
    def endpoint_id(self) -> int:
        """The endpoint of the model; 0 is the installation's."""
        return self.agent.endpoint_id or 0

    @property
    def kind(self) -> TurnKind:
        """The kind of turn: begun by a schedule, by another agent, or by a message."""
        if any(event.kind == InboundEvent.Kind.SCHEDULE for event in self.events):
            return TurnKind.SCHEDULED
        return TurnKind.DELEGATED if self.conversation.is_asked else TurnKind.MESSAGE

    @property
    def send_mode(self) -> SendMode:
        """The send mode of the reply (sent, draft or only recorded), by the send rules at the time of the claim (R134)."""
        return self.send_mode_by(self.context.rules, self.agent.send_mode, self.context.history.skills)

    def send_mode_by(self, rules: Iterable[SendRuleValue], of_agent: str, followed_skills: Collection[int]) -> SendMode:
        """The send mode of the reply by these rules and the skills that it followed; OBSERVE if nobody can read the reply."""
        if self.is_heard_by_nobody:
            return SendMode.OBSERVE
        return send_mode_of(SendMode(of_agent), rules, self.conversation.channel, set(followed_skills))

    @property
    def steps_wanted(self) -> int | None:
        """The limit of model calls set by the latest event that sets one; None if no event does (R124)."""
        return next((event.max_steps for event in reversed(self.events) if event.max_steps is not None), None)

    @property
    def may_be_silent(self) -> bool:
        """Whether the turn may end without a reply: a scheduled run (R121), or only notices about a delegated question."""
        noted_only = all(event.kind == InboundEvent.Kind.PROGRESS for event in self.events)
        return noted_only or self.kind is TurnKind.SCHEDULED

    @property
    def is_heard_by_nobody(self) -> bool:
        """Whether nobody reads the reply: the run of a schedule that posts nowhere, or another agent's answer in such a run."""
        spoken = {InboundEvent.Kind.MESSAGE, InboundEvent.Kind.OPERATOR}
        return self.conversation.channel == SCHEDULE_CHANNEL and not any(event.kind in spoken for event in self.events)

    @property
    def customer_is_proven(self) -> bool:
        """Whether the customer is verified for this turn, so that the agent may read their profile and add to it.

        Anybody may have written the messages that came before the proof. So a turn that answers one of them is not verified.
        """
        if not self.context.is_customer_proof_required:
            return True
        proven_at = self.conversation.proven_at
        words = (event for event in self.events if event.kind == InboundEvent.Kind.MESSAGE)
        return proven_at is not None and all(event.received_at >= proven_at for event in words)

    @property
    def answers_nobody(self) -> bool:
        """Whether the turn answers only a schedule and notes of operators, so that its new notes are about no customer."""
        kinds = {event.kind for event in self.events}
        return InboundEvent.Kind.SCHEDULE in kinds and kinds <= {InboundEvent.Kind.SCHEDULE, InboundEvent.Kind.OPERATOR}

    @property
    def is_spent(self) -> bool:
        """Whether the turn has to be given up: it is too old, or too many workers crashed during it."""
        return self.turn.deadline_at <= self.context.now or self.turn.crashes >= CRASHES_PER_TURN

    @property
    def begun(self) -> "TurnClaim":
        """The claim without data that only the start of the turn needs, which saves memory while thousands of turns wait.

        A turn that may restart keeps the earlier model calls.
        """
        earlier_calls = self.context.earlier_calls if self.agent.begins_anew else None
        return replace(self, known_parts={}, context=replace(self.context, running=None, earlier_calls=earlier_calls))


def claim_turn(conversation_id: int, *, actor: Actor, external: bool = False) -> TurnClaim | None:
    """Claim a turn for the pending events of a conversation, or a turn with an expired lease. None if there is nothing to claim.

    While an operator has paused the agent, there is nothing to claim, and the deadlines of waiting turns are extended.
    `AGENT_KEY=tenant/agent` restricts a worker to one agent; a worker without it serves every agent (R002, R011, Z-17).
    `external` claims the turn for an external agent.
    """
    known_parts, known_tools = CLAIMED_PARTS.known(actor.tenant_id), KNOWN_DESCRIPTIONS.known(actor.tenant_id)
    given: dict[str, Any] = {
        "conversation": conversation_id,
        "external": external,
        "external_patience": EXTERNAL_TURN_DEADLINE,
        "only": "" if external else settings.AGENT_KEY,
        "stops": list(STOPS_ANSWERING),
        "sending": list(STOPS_SENDING),
        "stopped": [StoppedByPerson.code, DayBudgetSpent.code],
        "lease": timedelta(seconds=settings.TURN_LEASE_SECONDS),
        "patience": EXTERNAL_TURN_DEADLINE if external else TURN_DEADLINE,
        "known_parts": list(known_parts),
        "known_tools": list(known_tools),
        **_QUERY_LIMITS,
        "role": Role.AGENT.value,
        "tenant": actor.tenant_id,
        "loop_window": LOOP_WINDOW,
        **GRANT_ORIGINS,
    }
    # Claims of one conversation run one at a time. Otherwise two could deadlock: one locks the messages and waits for the turn,
    # the other has locked the turn and waits for the messages.
    rows = execute_as(actor, CLAIM, given, alone=f"claim in conversation {conversation_id}")
    if not rows:
        return None
    return _parse_claim(json.loads(rows[0][0]), known_parts, known_tools)


def _parse_claim(
    claim_row: JsonRow, known_parts: dict[str, SlotText], known_tools: Mapping[str, ToolDescription]
) -> TurnClaim:
    """Parse the JSON result of the claim statement into typed values. No other code reads this JSON."""
    conversation = row_from_json(Conversation, claim_row["conversation"])
    conversation.agent = _read_agent(claim_row["agent"])
    turn = row_from_json(Turn, claim_row["turn"])
    turn.conversation = conversation
    context = TurnContext.of(claim_row)
    model_calls = claim_row["calls"] or ()
    return TurnClaim(
        turn=turn,
        conversation=conversation,
        events=tuple(row_from_json(InboundEvent, event) for event in claim_row["events"] or ()),
        context=context,
        known_parts=known_parts,
        kept=_journaled_steps(model_calls, claim_row["tools"] or ()),
        asked=next((call["user_turn"] for call in model_calls if call["user_turn"]), turn.external_user_turn),
        terms=ModelEndpoint.of(claim_row, conversation.tenant_id),
        money=_turn_money(claim_row, conversation, context.calling_agent),
        turns_lately=claim_row["other_recent_turns"] + 1,
        server_tools=build_server_tools(claim_row["server_tools"] or (), known_tools, conversation.tenant_id),
        approved_calls=claim_row["approved_calls"] or {},
        is_sending_paused=claim_row["is_sending_paused"],
    )


@lru_cache(AGENTS_KEPT)
def _read_agent(stated: str) -> Agent:
    """The agent's row. Cached, so that turns with the same row share one object, which must not be changed."""
    return row_from_json(Agent, json.loads(stated))


def _turn_money(claim_row: JsonRow, conversation: Conversation, calling_agent: CallingAgent | None) -> TurnMoney:
    """The money of a turn. Money set aside for other agents counts as spent. A delegated turn has the rest of its share."""
    own, given = conversation.agent.turn_budget_micro_usd, conversation.budget_micro_usd
    left = None if given is None or calling_agent is None else max(0, given - calling_agent.spent_micro_usd)
    spent = claim_row["turn_cost_micro_usd"] + claim_row["set_aside_micro_usd"]
    return TurnMoney(spent, smallest_budget(own, left), claim_row["day_left_micro_usd"])


def _journaled_steps(model_calls: Sequence[JsonRow], tools: Sequence[JsonRow]) -> tuple[JournaledStep, ...]:
    calls_by_step: dict[int, dict[int, JournaledCall]] = {call["step"]: {} for call in model_calls}
    for row in tools:
        call = ToolCall(
            call_id=row["call_id"],
            name=row["name"],
            arguments=row["arguments"],
            result=row["result"],
            is_error=row["is_error"],
        )
        # Tool calls of an external agent are stored before the model answer that they belong to, so their step may be missing.
        calls_by_step.setdefault(row["step"], {})[row["position"]] = JournaledCall(
            call,
            is_open=row["state"] == ToolStep.State.STARTED,
            may_be_repeated=row["repeat_safety"] != ToolStep.RepeatSafety.UNSAFE,
        )
    return tuple(
        JournaledStep(
            AssistantMessage(
                number=call["step"],
                text=call["text"],
                wire=call["assistant_message"],
                stop_reason=call["stop_reason"],
            ),
            calls_by_step[call["step"]],
        )
        for call in model_calls
        if call["assistant_message"] is not None
    )
