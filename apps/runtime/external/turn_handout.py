"""A turn handed out to an agent that runs elsewhere: claimed, frozen and framed like one of ours, then let go of."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from apps.conversations.actions import receive_message
from apps.conversations.inbound_messages import Thread, refuse_other_runner
from apps.conversations.models import Conversation, InboundEvent
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting, one_shot
from apps.governance.errors import Conflicting, NotVisible
from apps.governance.governed_write import authorize
from apps.governance.policy.table import Act
from apps.llm.model_backend import Request
from apps.runtime.kill_switch_checks import Stopped, is_answering_paused, is_taken_over, why_stopped
from apps.runtime.limits.turn_budgets import DaySpent, Money
from apps.runtime.models import Session, Turn
from apps.runtime.prompt_snapshot.snapshot_store import NotFrozen
from apps.runtime.sessions.session_prefix import Frozen
from apps.runtime.tools.toolbox import NO_TOOLS
from apps.runtime.turn_store.journal_sql import HAND_OUT
from apps.runtime.turn_store.turn_claim import Claim, claim
from apps.runtime.turn_store.turn_journal import Asked, FenceLost, postpone
from apps.runtime.turns.model_loop import TurnFailed
from apps.runtime.turns.turn_completion import cancel, fail, mode_at_first, wait_for_money
from apps.runtime.turns.turn_setup import opened
from apps.runtime.turns.user_turn import asked_of
from apps.tenants.authentication.actor_resolution import system_actor

IN_HAND = "A colleague has this conversation in hand and answers the customer. Send nothing; open it again when they hand it back."
NOTHING_WAITS = "Nothing waits here to be answered. Hand in what the customer wrote."
# An agent that asks for the same turn again and again is stuck.
MOST_REQUESTS = 1_000
AT_ONCE = "Another request has this turn in hand at this moment. Ask again in a moment."


@dataclass(frozen=True, slots=True)
class HandedIn:
    """What somebody wrote, under a key that makes handing it in twice harmless."""

    text: str
    idempotency_key: str
    sender_name: str = ""
    line_key: str = ""


@dataclass(frozen=True, slots=True)
class Terms:
    """For whom the messages of one request are: the customer, their proof, and what the first of them settles."""

    end_user_key: str = ""
    user_hash: str = ""
    off_the_record: bool | None = None


@dataclass(frozen=True, slots=True)
class HandedOut:
    """A turn with all its model is to be sent. `waiting_message_count` is how much arrived that the next turn answers."""

    turn: Turn
    frozen: Frozen
    asked: Asked
    request: Request
    events: tuple[InboundEvent, ...]
    money: Money
    max_steps: int
    waiting_message_count: int

    @property
    def session(self) -> Session:
        """What the turn was frozen in."""
        return self.frozen.session


def hand_out(thread: Thread, terms: Terms, handed_in: Sequence[HandedIn], *, actor: Actor) -> HandedOut:
    """Take in what the customer wrote, and hand out the turn that answers it; without messages the one that stands or waits.

    Asked again before its report, it is the same turn with the same words: whoever died in between goes on with it.
    """
    authorize(actor, Act.SESSION_OPEN, actor.tenant_id, agent_id=thread["agent_id"])
    conversation = _taken_in(thread, terms, handed_in, actor)
    system = system_actor(actor.tenant_id, "worker")
    with in_hand(conversation, system) as claimed:
        refuse_held(claimed)
        return _handed_out(claimed, system)


def _taken_in(thread: Thread, terms: Terms, handed_in: Sequence[HandedIn], actor: Actor) -> Conversation:
    with acting(actor):
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
            raise NotVisible(
                "There is no open conversation on this thread. Hand in what the customer wrote to open one."
            )
        refuse_other_runner(conversation, has_external_agent=True)
    return conversation


@contextmanager
def in_hand(conversation: Conversation, system: Actor) -> Iterator[Claim]:
    """The conversation's turn, claimed for one request and let go of after it; what ends it here is told in a sentence."""
    claimed = claim(conversation.pk, actor=system, elsewhere=True)
    if claimed is None:
        raise Conflicting(_why_not(conversation, system))
    # Tools of others are called by workers alone.
    claimed = replace(claimed, others=())
    asked = Asked.kept(claimed.asked) if claimed.asked else None
    try:
        if claimed.turn.attempts > MOST_REQUESTS:
            raise TurnFailed("attempts_spent", f"There were more than {MOST_REQUESTS} requests about this turn.")
        yield claimed
    except Stopped as stopped:
        if claimed.conversation.is_held:
            cancel(claimed, asked, (), actor=system)
        raise Conflicting(_why_not(conversation, system)) from stopped
    except DaySpent as spent:
        wait_for_money(claimed, spent, actor=system)
        raise Conflicting(f"{spent} Open the session again then.") from spent
    except (TurnFailed, NotFrozen) as error:
        fail(claimed, asked, (), error.code, str(error), actor=system)
        raise Conflicting(f"{error} The turn is over, and a person was asked. Send nothing.") from error
    except FenceLost as lost:
        raise Conflicting(AT_ONCE) from lost
    finally:
        postpone(claimed.turn, "", "", 0, actor=system)


def refuse_held(claimed: Claim) -> None:
    """What a colleague answers by now is not begun, nor gone on with."""
    if claimed.conversation.is_held:
        raise Stopped


def _why_not(conversation: Conversation, system: Actor) -> str:
    if is_taken_over(conversation, actor=system):
        return IN_HAND
    if is_answering_paused(conversation, actor=system):
        return f"{why_stopped(conversation, actor=system)} Send nothing; open it again later."
    with acting(system):
        runs = Turn.objects.filter(conversation=conversation, status=Turn.Status.RUNNING).exists()
    return AT_ONCE if runs else NOTHING_WAITS


def _handed_out(claimed: Claim, system: Actor) -> HandedOut:
    asked = Asked.kept(claimed.asked) if claimed.asked else asked_of(claimed, mode_at_first(claimed), actor=system)
    loop, _ = opened(claimed, asked, NO_TOOLS, system=system)
    request, turn, frozen = loop.request(), claimed.turn, loop.account.frozen
    framed = json.dumps(asked.stored, ensure_ascii=False)
    given = {"turn": turn.pk, "fence": turn.fence, "session": frozen.session.pk, "external_user_turn": framed}
    if not one_shot(system, HAND_OUT, given):
        raise FenceLost(turn)
    with acting(system):
        waiting_message_count = InboundEvent.objects.filter(conversation=claimed.conversation, turn_id=None).count()
    return HandedOut(turn, frozen, asked, request, claimed.events, claimed.money, loop.max_steps, waiting_message_count)
