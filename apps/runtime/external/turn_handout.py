"""Hands a turn out to an external agent: the turn is claimed, frozen and rendered like any other, then released."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from apps.conversations.actions import receive_message
from apps.conversations.inbound_messages import ThreadKey, refuse_other_runner
from apps.conversations.models import Conversation, InboundEvent
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as, execute_as
from apps.governance.database.sql_files import load_query
from apps.governance.errors import Conflict, NotVisible
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.llm.model_backend import ModelRequest
from apps.runtime.kill_switch_checks import StoppedByPerson, is_answering_paused, is_taken_over, stop_sentence
from apps.runtime.limits.turn_budgets import DayBudgetSpent, TurnMoney
from apps.runtime.models import Session, Turn
from apps.runtime.sessions.session_prefix import SessionPrefix
from apps.runtime.tools.toolbox import NO_TOOLS
from apps.runtime.turn_store.turn_claim import TurnClaim, claim_turn
from apps.runtime.turn_store.turn_journal import FenceLost, RenderedUserTurn, postpone
from apps.runtime.turns.model_loop import TurnFailed
from apps.runtime.turns.turn_completion import cancel_turn, fail_turn, wait_for_budget
from apps.runtime.turns.turn_events import BudgetExhausted, FailureEvent, FailureMet, FencePassed, PersonStopped
from apps.runtime.turns.turn_failures import failure_event
from apps.runtime.turns.turn_setup import set_up_turn
from apps.runtime.turns.user_turn import render_claimed_turn
from apps.tenants.authentication.actor_resolution import system_actor

_STORE_EXTERNAL_TURN: Final = load_query("apps/runtime/external/queries/store_external_turn.sql")
HANDLED_BY_COLLEAGUE = (
    "A colleague has taken this conversation over and answers the customer."
    " Send nothing; open the session again when they hand it back."
)
NOTHING_WAITS = "No message waits for an answer here. Send the customer's message."
# An agent that requests the same turn more often than this is assumed to be stuck.
MOST_REQUESTS = 1_000
TURN_IN_USE = "Another request is using this turn. Try again in a moment."


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A message of a customer, with an idempotency key, so that a message sent twice is stored once."""

    text: str
    idempotency_key: str
    sender_name: str = ""
    line_key: str = ""


@dataclass(frozen=True, slots=True)
class ExternalMessageTerms:
    """The terms of a request's messages: the customer, the proof of identity, and the record setting of a new conversation."""

    end_user_key: str = ""
    user_hash: str = ""
    off_the_record: bool | None = None


@dataclass(frozen=True, slots=True)
class ExternalTurn:
    """A turn with the complete model request. `waiting_message_count` is the number of messages left for the next turn."""

    turn: Turn
    frozen: SessionPrefix
    asked: RenderedUserTurn
    request: ModelRequest
    events: tuple[InboundEvent, ...]
    money: TurnMoney
    max_steps: int
    waiting_message_count: int

    @property
    def session(self) -> Session:
        """The session of the turn."""
        return self.frozen.session


def open_external_turn(
    thread: ThreadKey, terms: ExternalMessageTerms, handed_in: Sequence[IncomingMessage], *, actor: Actor
) -> ExternalTurn:
    """Store the customer's messages and hand out the turn that answers them. Without messages, hand out the open or due turn.

    Until the agent reports the turn, each request returns the same turn with the same text, so a crashed agent can continue.
    """
    authorize(actor, Act.SESSION_OPEN, actor.tenant_id, agent_id=thread["agent_id"])
    conversation = _receive_messages(thread, terms, handed_in, actor)
    system = system_actor(actor.tenant_id, "worker")
    with claim_for_request(conversation, system) as claimed:
        refuse_taken_over(claimed)
        return _set_up_external_turn(claimed, system)


def _receive_messages(
    thread: ThreadKey, terms: ExternalMessageTerms, handed_in: Sequence[IncomingMessage], actor: Actor
) -> Conversation:
    with acting_as(actor):
        for message in handed_in:
            receive_message(
                **thread,
                actor=actor,
                text=message.text,
                idempotency_key=message.idempotency_key,
                sender_name=message.sender_name,
                line_key=message.line_key,
                end_user_key=terms.end_user_key,
                user_hash=terms.user_hash,
                off_the_record=terms.off_the_record,
                has_external_agent=True,
            )
        conversation = Conversation.objects.visible_to(actor).open().filter(**thread).first()
        if conversation is None:
            raise NotVisible("There is no open conversation on this thread. Send the customer's message to open one.")
        refuse_other_runner(conversation, has_external_agent=True)
    return conversation


@contextmanager
def claim_for_request(conversation: Conversation, system: Actor) -> Iterator[TurnClaim]:
    """Claim the conversation's turn for one request and release it afterwards. Raises Conflict if the turn cannot be used now."""
    claimed = claim_turn(conversation.pk, actor=system, external=True)
    if claimed is None:
        raise Conflict(_refusal_sentence(conversation, system))
    # External agents get no tools of tool servers, since only workers call those.
    claimed = replace(claimed, server_tools=())
    try:
        if claimed.turn.attempts > MOST_REQUESTS:
            raise TurnFailed("attempts_spent", f"There were more than {MOST_REQUESTS} requests about this turn.")
        yield claimed
    except Exception as error:
        refusal = _meet_failure(claimed, failure_event(error), system)
        if refusal is None:
            raise
        raise Conflict(refusal) from error
    finally:
        postpone(claimed.turn, "", "", 0, actor=system)


def _meet_failure(claimed: TurnClaim, failure: FailureEvent | None, system: Actor) -> str | None:
    """Close or postpone the turn after a failure. Returns the reason to refuse the request, or None for an unexpected failure."""
    asked = RenderedUserTurn.kept(claimed.asked) if claimed.asked else None
    match failure:
        case PersonStopped():
            if claimed.conversation.is_held:
                cancel_turn(claimed, asked, (), actor=system)
            return _refusal_sentence(claimed.conversation, system)
        case BudgetExhausted():
            spent = DayBudgetSpent()
            wait_for_budget(claimed, spent, actor=system)
            return f"{spent} Open the session again then."
        case FailureMet(code, sentence):
            fail_turn(claimed, asked, (), code, sentence, actor=system)
            return f"{sentence} The turn is over, and a person was asked. Send nothing."
        case FencePassed():
            return TURN_IN_USE
    return None


def refuse_taken_over(claimed: TurnClaim) -> None:
    """Raise StoppedByPerson if a colleague has taken the conversation over."""
    if claimed.conversation.is_held:
        raise StoppedByPerson


def _refusal_sentence(conversation: Conversation, system: Actor) -> str:
    if is_taken_over(conversation, actor=system):
        return HANDLED_BY_COLLEAGUE
    if is_answering_paused(conversation, actor=system):
        return f"{stop_sentence(conversation, actor=system)} Send nothing; open it again later."
    with acting_as(system):
        runs = Turn.objects.filter(conversation=conversation, status=Turn.Status.RUNNING).exists()
    return TURN_IN_USE if runs else NOTHING_WAITS


def _set_up_external_turn(claimed: TurnClaim, system: Actor) -> ExternalTurn:
    asked = RenderedUserTurn.kept(claimed.asked) if claimed.asked else render_claimed_turn(claimed, actor=system)
    loop, _ = set_up_turn(claimed, asked, NO_TOOLS, system=system)
    request, turn, frozen = loop.request(), claimed.turn, loop.account.frozen
    framed = json.dumps(asked.stored, ensure_ascii=False)
    given = {"turn": turn.pk, "fence": turn.fence, "session": frozen.session.pk, "external_user_turn": framed}
    if not execute_as(system, _STORE_EXTERNAL_TURN, given):
        raise FenceLost(turn)
    with acting_as(system):
        waiting_message_count = InboundEvent.objects.filter(conversation=claimed.conversation, turn_id=None).count()
    return ExternalTurn(
        turn, frozen, asked, request, claimed.events, claimed.money, loop.max_steps, waiting_message_count
    )
