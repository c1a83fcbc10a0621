"""One turn end to end: claim, session, user turn, loop, close (R126, R127). Every transaction is short."""

import logging
from dataclasses import replace
from functools import partial

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from apps.conversations.models import Conversation, InboundEvent
from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.governance.history import stamps
from apps.governance.models import Taint
from apps.llm.backend import Backend, BackendError, Reply, WhoActs
from apps.personas.models import IdentityCard
from apps.prompt.framing import date_line
from apps.prompt.turns import user_turn
from apps.prompt.values import Event, EventKind, LineCard, SendMode, Source, TurnInput
from apps.runtime.accounts import Account, Planned
from apps.runtime.gather import line_card
from apps.runtime.house_tools import HOUSE_TOOLS, Context
from apps.runtime.journal import (
    Asked,
    Claim,
    FenceLost,
    claim,
    close,
    enter_session,
    give_up,
    history_of,
    note_call,
    postpone,
)
from apps.runtime.ledger import notes_of
from apps.runtime.looking_up import omitted_if_unreadable
from apps.runtime.loop import Loop, TurnFailed
from apps.runtime.models import Turn
from apps.runtime.rows import zone_now
from apps.runtime.rules import retry_after
from apps.runtime.sessions import PrefixChanged, session_of
from apps.runtime.steps import canonical_object
from apps.runtime.stops import Stopped, refuse_if_frozen, refuse_if_stopped
from apps.tenants.identity import agent_actor, system_actor
from apps.tenants.models import Agent

logger = logging.getLogger(__name__)

SMS = "sms"
KINDS = {InboundEvent.Kind.MESSAGE: EventKind.MESSAGE, InboundEvent.Kind.OPERATOR: EventKind.OPERATOR}


def answer(tenant_id: int, conversation_id: int, *, backend: Backend) -> None:
    """Take the conversation's turn if there is one to take. A failing model postpones it; nothing has left the house then."""
    system = system_actor(tenant_id, "worker")
    conversation = _conversation(conversation_id, system)
    if conversation is None or not _is_ours(conversation.agent):
        return
    agent = conversation.agent
    # What arrives while the model thinks is answered next, without waiting for the sweep.
    while not _is_stopped(conversation, system) and (claimed := claim(conversation_id, actor=system)):
        if not _finished(claimed, agent, system, backend):
            return


def _is_stopped(conversation: Conversation, system: Actor) -> bool:
    """While an operator holds it, no turn begins and none that waits grows older; the sweep takes it up afterwards."""
    try:
        refuse_if_stopped(conversation, actor=system)
    except Stopped as stop:
        logger.info("turn waits", extra={"conversation_id": conversation.pk, "code": stop.code})
        return True
    return False


def _finished(claimed: Claim, agent: Agent, system: Actor, backend: Backend) -> bool:
    asked = _asked(claimed, agent, system)
    if claimed.is_spent:
        give_up(
            claimed,
            asked,
            "attempts_spent",
            "The workers that took this turn died, or it waited longer than a day.",
            actor=system,
        )
        return True
    try:
        _answer(claimed, asked, agent, system, backend)
    except BackendError as error:
        return _put_off(claimed, asked, error, system)
    except (TurnFailed, PrefixChanged) as error:
        give_up(claimed, asked, error.code, str(error), actor=system)
    except Stopped as stop:
        postpone(claimed.turn, stop.code, str(stop), 0, actor=system)
        return False
    except FenceLost:
        logger.warning("turn taken over by another worker", extra={"turn_id": claimed.turn.pk})
        return False
    except (InterfaceError, OperationalError):
        # The database itself is away; the lease brings the turn back.
        raise
    except Exception as error:  # noqa: BLE001  # the worker's edge: the text may quote a customer and stays out of logs
        logger.error("turn failed", extra={"turn_id": claimed.turn.pk, "error": type(error).__name__})
        give_up(claimed, asked, "unexpected", f"The worker met {type(error).__name__}.", actor=system)
    return True


def _put_off(claimed: Claim, asked: Asked, error: BackendError, system: Actor) -> bool:
    """Wait where time or an operator can help; say whether the turn has ended."""
    if error.who_acts is WhoActs.DEVELOPER:
        give_up(claimed, asked, error.code, str(error), actor=system)
        return True
    seconds = retry_after(claimed.turn.attempts, error.retry_after_seconds)
    postpone(claimed.turn, error.code, str(error), seconds, actor=system)
    return False


def _answer(claimed: Claim, asked: Asked, agent: Agent, system: Actor, backend: Backend) -> None:
    conversation, turn = claimed.conversation, claimed.turn
    identity = agent_actor(agent.tenant_id, agent.pk, agent.service_user_id, agent.key).serving(
        conversation.end_user_key
    )
    frozen = session_of(conversation, agent, system=system, agent_actor=identity, now=timezone.now())
    enter_session(turn, frozen.session, actor=system)
    account = Account(frozen, agent.model or settings.DEFAULT_MODEL, conversation.pk, system)
    loop = Loop(
        backend=backend,
        account=account,
        tools=tuple(tool for tool in HOUSE_TOOLS if tool.name in frozen.session.tool_names),
        context=Context(identity, agent.pk, conversation, frozen.session.snapshot_at),
        max_steps=agent.max_steps,
        deadline_seconds=settings.TURN_DEADLINE_SECONDS,
        on_reply=partial(_note, turn, account),
        before_call=partial(refuse_if_stopped, conversation, actor=system),
        before_keeping=partial(refuse_if_frozen, conversation, actor=system),
    )
    steps = loop.run(history_of(conversation, actor=system), asked.wire)
    refuse_if_stopped(conversation, actor=system)
    close(claimed, asked, steps, actor=system)


def _asked(claimed: Claim, agent: Agent, system: Actor) -> Asked:
    """The user turn: what arrived, under what varies from turn to turn (R127, R139)."""
    with acting(system):
        zone = zone_now(system)
        line_cards: tuple[LineCard, ...] = omitted_if_unreadable(
            "line cards", lambda: _line_cards(claimed, agent, system), ()
        )
    conversation = claimed.conversation
    now = timezone.localtime(timezone=zone)
    turned = user_turn(
        TurnInput(
            events=tuple(_event(event, conversation) for event in claimed.events),
            now_line=date_line(now) if agent.tells_time else None,
            off_the_record=conversation.off_the_record,
            send_mode=SendMode.AUTONOMOUS if agent.learns else None,
            line_cards=line_cards,
        )
    )
    wire = canonical_object({"role": "user", "content": [{"type": "text", "text": turned.text}]})
    return Asked(wire, turned.part)


def _line_cards(claimed: Claim, agent: Agent, system: Actor) -> tuple[LineCard, ...]:
    """Who is in charge of the lines that these events came in on, where that is not the agent's default (R187)."""
    keys = sorted({event.line_key for event in claimed.events if event.line_key})
    if not keys or not agent.learns:
        return ()
    cards = tuple(IdentityCard.objects.visible_to(system).filter(agent_id=agent.pk, line_key__in=keys))
    known = stamps(cards, agent.tenant_id)
    return tuple(card for row in cards if (card := line_card(row, known)))


def _event(event: InboundEvent, conversation: Conversation) -> Event:
    kind = KINDS[InboundEvent.Kind(event.kind)]
    source = Source(InboundEvent._meta.label_lower, event.pk, 1, "text", taint=Taint.CUSTOMER_DERIVED)
    if kind is EventKind.OPERATOR:
        sender = event.sent_by or "operator"
        source = replace(source, author=sender, approver=sender, taint=Taint.OPERATOR)
        return Event(kind, event.text, event.received_at, line=event.line_key, source=source)
    if conversation.channel == SMS:
        kind = EventKind.SMS
    source = replace(source, author=conversation.end_user_key)
    return Event(
        kind, event.text, event.received_at, event.sender_name, conversation.end_user_key, event.line_key, source
    )


def _note(turn: Turn, account: Account, step: int, reply: Reply, planned: Planned) -> None:
    note_call(turn, step, reply, notes_of(planned, reply, account), actor=account.actor)
    account.keep(planned, reply)


def _conversation(conversation_id: int, system: Actor) -> Conversation | None:
    with acting(system):
        return Conversation.objects.visible_to(system).filter(pk=conversation_id).select_related("agent").first()


def _is_ours(agent: Agent) -> bool:
    """`AGENT_KEY=tenant/agent` restricts a worker to one agent; unset, it serves every agent (R002, R011, Z-17)."""
    if not settings.AGENT_KEY:
        return True
    tenant_key, _, agent_key = settings.AGENT_KEY.partition("/")
    with acting(system_actor(agent.tenant_id)):
        return (agent.tenant.key, agent.key) == (tenant_key, agent_key)
