"""Taking a turn: one statement decides who holds it, and brings all it needs."""

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
# Of what a claim brings.
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
    """A turn this worker holds, with the events it answers, what earlier workers kept of it, and what it needs to go on.

    `known_parts` are parts of prompts this process has read already, by their marks.
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
    # Ids of the approvals of tool calls, by the hash of the call.
    approved_calls: dict[str, int] = field(default_factory=dict)
    # As the latest write of the turn found it.
    is_sending_paused: bool = False

    @property
    def agent(self) -> Agent:
        """Who answers."""
        return self.conversation.agent

    @property
    def model(self) -> str:
        """Which model is asked: one for the whole turn, where another had to be chosen."""
        return self.turn.model or self.agent.model or settings.DEFAULT_MODEL

    @property
    def endpoint_id(self) -> int:
        """Where it is asked; 0 is the installation's endpoint."""
        return self.agent.endpoint_id or 0

    @property
    def kind(self) -> TurnKind:
        """What the turn answers: nobody at all where its schedule began it."""
        if any(event.kind == InboundEvent.Kind.SCHEDULE for event in self.events):
            return TurnKind.SCHEDULED
        return TurnKind.DELEGATED if self.conversation.is_asked else TurnKind.MESSAGE

    @property
    def send_mode(self) -> SendMode:
        """What becomes of the reply, as people had set it when the turn was claimed (R134)."""
        return self.send_mode_by(self.context.rules, self.agent.send_mode, self.context.history.skills)

    def send_mode_by(self, rules: Iterable[SendRuleValue], of_agent: str, followed_skills: Collection[int]) -> SendMode:
        """What becomes of the reply by these rules, for the skills that it followed; only noted where nobody can read it."""
        if self.is_heard_by_nobody:
            return SendMode.OBSERVE
        return send_mode_of(SendMode(of_agent), rules, self.conversation.channel, set(followed_skills))

    @property
    def steps_wanted(self) -> int | None:
        """How many steps what it answers asks for itself; of several the latest that says so (R124)."""
        return next((event.max_steps for event in reversed(self.events) if event.max_steps is not None), None)

    @property
    def may_be_silent(self) -> bool:
        """A schedule may come to nothing (R121), and word of what becomes of a question needs no reply."""
        noted_only = all(event.kind == InboundEvent.Kind.PROGRESS for event in self.events)
        return noted_only or self.kind is TurnKind.SCHEDULED

    @property
    def is_heard_by_nobody(self) -> bool:
        """Whether it was begun by a schedule that posts nowhere, or by what an agent answers to such a run."""
        spoken = {InboundEvent.Kind.MESSAGE, InboundEvent.Kind.OPERATOR}
        return self.conversation.channel == SCHEDULE_CHANNEL and not any(event.kind in spoken for event in self.events)

    @property
    def customer_is_proven(self) -> bool:
        """Whether the agent may be told what is known of the customer, and may note more.

        What came in before the proof may be anybody's words, so a turn that answers any of it is nobody's proven.
        """
        if not self.context.is_customer_proof_required:
            return True
        proven_at = self.conversation.proven_at
        words = (event for event in self.events if event.kind == InboundEvent.Kind.MESSAGE)
        return proven_at is not None and all(event.received_at >= proven_at for event in words)

    @property
    def answers_nobody(self) -> bool:
        """Whether all it answers is a schedule, and what operators say besides: what is noted then is about no customer."""
        kinds = {event.kind for event in self.events}
        return InboundEvent.Kind.SCHEDULE in kinds and kinds <= {InboundEvent.Kind.SCHEDULE, InboundEvent.Kind.OPERATOR}

    @property
    def is_spent(self) -> bool:
        """Its workers died too often, so the turn itself kills them; waiting for the model is no death. Or it is too old."""
        return self.turn.deadline_at <= self.context.now or self.turn.crashes >= CRASHES_PER_TURN

    @property
    def begun(self) -> "TurnClaim":
        """The same without what only its beginning reads. Thousands wait like this; one that may begin anew reads more again."""
        earlier_calls = self.context.earlier_calls if self.agent.begins_anew else None
        return replace(self, known_parts={}, context=replace(self.context, running=None, earlier_calls=earlier_calls))


def claim_turn(conversation_id: int, *, actor: Actor, external: bool = False) -> TurnClaim | None:
    """Take the waiting events of a conversation, or a turn whose lease ran out; None if there is nothing to take.

    Nothing is, while an operator holds it: no turn begins then, and none that waits grows older. `AGENT_KEY=tenant/agent`
    restricts a worker to one agent; unset, it serves every agent (R002, R011, Z-17). `external`: for an external agent.
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
    # Two at once would wait for each other: one holds the messages and waits for the turn, the other holds the turn.
    rows = execute_as(actor, CLAIM, given, alone=f"claim in conversation {conversation_id}")
    if not rows:
        return None
    return _parse_claim(json.loads(rows[0][0]), known_parts, known_tools)


def _parse_claim(
    claim_row: JsonRow, known_parts: dict[str, SlotText], known_tools: Mapping[str, ToolDescription]
) -> TurnClaim:
    """What the statement brought, with a type to each part of it; nothing behind this reads its JSON."""
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
    """The row as it stands now, once for all turns that were claimed while it stood so; none of them changes it."""
    return row_from_json(Agent, json.loads(stated))


def _turn_money(claim_row: JsonRow, conversation: Conversation, calling_agent: CallingAgent | None) -> TurnMoney:
    """What was set aside for others is spent where the turn has a budget; an answer has what is left of the question's."""
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
        # The calls of an external agent are known before the reply that it made them in.
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
