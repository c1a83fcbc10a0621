"""Renders the user turn: first the lines that vary from turn to turn, then the events that arrived (R127, R139)."""

from dataclasses import replace

from apps.conversations.models import Conversation, InboundEvent, Message
from apps.desk.models import Draft
from apps.governance.actors import Actor
from apps.governance.audit.row_history import field_authorships
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Taint
from apps.learning.lessons.models import Example as KeptExample
from apps.learning.lessons.models import LearningVersion
from apps.learning.lessons.rules import render_summary
from apps.llm.model_backend import JsonObject
from apps.personas.models import IdentityCard
from apps.prompt.builtin_tools import DRAFT_SKILL, SKILL_SAVE
from apps.prompt.instruction_texts import DELAY_NOTICE_SENT
from apps.prompt.prompt_input import (
    CorrectionExample,
    Delegation,
    EventKind,
    LineCard,
    Passage,
    TextProvenance,
    TurnEvent,
    TurnInput,
)
from apps.prompt.rendering.data_fences import OWNER_KINDS, date_line
from apps.prompt.rendering.segments import SlotText, encode_segments
from apps.prompt.rendering.user_turn import render_user_turn
from apps.runtime.limits.turn_limits import is_nudged
from apps.runtime.prompt_snapshot.optional_reads import read_or_omit
from apps.runtime.prompt_snapshot.prompt_input_builder import line_card
from apps.runtime.turn_store.model_steps import canonical_object
from apps.runtime.turn_store.turn_claim import TurnClaim
from apps.runtime.turn_store.turn_context import MAX_EXAMPLES, BankExample, CorrectedDraft
from apps.runtime.turn_store.turn_journal import RenderedUserTurn
from apps.tenants.models import Agent

SMS = "sms"
KINDS = {
    InboundEvent.Kind.MESSAGE: EventKind.MESSAGE,
    InboundEvent.Kind.OPERATOR: EventKind.OPERATOR,
    InboundEvent.Kind.SCHEDULE: EventKind.SCHEDULE,
    InboundEvent.Kind.TASK: EventKind.TASK,
    InboundEvent.Kind.ANSWER: EventKind.ANSWER,
    InboundEvent.Kind.PROGRESS: EventKind.NOTE,
}
# Events between agents are data for the agent that reads them, and carry the taint of a customer.
BETWEEN_AGENTS = (InboundEvent.Kind.TASK, InboundEvent.Kind.ANSWER, InboundEvent.Kind.PROGRESS)


def render_claimed_turn(claimed: TurnClaim, *, actor: Actor) -> RenderedUserTurn:
    """Render the user turn of the claimed events."""
    agent, conversation, context = claimed.agent, claimed.conversation, claimed.context
    turned = render_user_turn(
        TurnInput(
            events=(*(prompt_event(event, conversation) for event in claimed.events), *_delay_notice(claimed, actor)),
            now_line=date_line(context.now.astimezone(context.zone)) if agent.has_current_time else None,
            off_the_record=conversation.tells_off_the_record,
            delegation=_delegation(claimed),
            send_mode=claimed.send_mode if agent.has_learning and _serves_customers(conversation) else None,
            open_escalations=context.open_escalations,
            save_with=saving_tool(claimed),
            learning=_learning(claimed),
            examples=_examples(claimed),
            line_cards=_line_cards(claimed, actor),
        )
    )
    return RenderedUserTurn(user_turn_message(turned.part), encode_segments(turned.part))


def _delay_notice(claimed: TurnClaim, actor: Actor) -> tuple[TurnEvent, ...]:
    """The sentence that the customer got while the turn was delayed, so that the agent does not repeat it."""
    notice_id, agent = claimed.turn.delay_notice_id, claimed.agent
    if notice_id is None:
        return ()
    with acting_as(actor):
        text = Message.objects.values_list("text", flat=True).get(tenant_id=agent.tenant_id, pk=notice_id)
    source = TextProvenance(Agent._meta.label_lower, agent.pk, agent.version, "delay_notice", taint=Taint.OPERATOR)
    at = max([claimed.context.now, *(event.received_at for event in claimed.events)])
    return (TurnEvent(EventKind.OPERATOR, f"{DELAY_NOTICE_SENT}\n\n{text}", at, source=source),)


def _learning(claimed: TurnClaim) -> tuple[Passage, ...]:
    """The first bullets of the pinned learning version; data unless a person approved it (R145, R146)."""
    pinned = claimed.context.learning
    if pinned is None:
        return ()
    kind = LearningVersion._meta.label_lower
    source = TextProvenance(kind, pinned.id, pinned.version, "body", approver=pinned.approver, taint=pinned.taint)
    return (Passage(render_summary(pinned.body), source),)


def _examples(claimed: TurnClaim) -> tuple[CorrectionExample, ...]:
    """Up to three examples: first those for all customers, then corrections for this customer if their identity is proven.

    Examples for all customers name nobody, and the agent's settings decide whether they are used (R164, Z-12).
    """
    own = claimed.context.corrected_drafts if claimed.customer_is_proven else ()
    bank = claimed.context.bank_examples[: MAX_EXAMPLES - len(own)]
    kept = (_bank_example(each, at) for at, each in enumerate(bank))
    return (*kept, *(_draft_example(each, at) for at, each in enumerate(own, len(bank))))


def _bank_example(kept: BankExample, at: int) -> CorrectionExample:
    named = {"author": kept.by, "approver": kept.by, "taint": kept.taint}
    asked = TextProvenance(KeptExample._meta.label_lower, kept.id, kept.version, "situation", **named)
    return CorrectionExample(
        situation=Passage(kept.situation, asked, at),
        draft=Passage(kept.draft, replace(asked, field="draft"), at),
        correction=Passage(kept.correction, replace(asked, field="correction"), at),
    )


def _draft_example(corrected: CorrectedDraft, at: int) -> CorrectionExample:
    written = TextProvenance(Draft._meta.label_lower, corrected.id, corrected.version, "text", taint=Taint.CUSTOMER)
    sent = replace(written, field="sent_text", author=corrected.by)
    return CorrectionExample(Passage(corrected.draft, written, at), Passage(corrected.sent, sent, at))


def saving_tool(claimed: TurnClaim) -> str:
    """The tool with which this turn asks the agent to save a procedure; empty if it does not ask."""
    agent, conversation = claimed.agent, claimed.conversation
    serves_customers = _serves_customers(conversation) and not conversation.tells_off_the_record
    if not (agent.has_learning and serves_customers and is_nudged(claimed.context.answered_turns)):
        return ""
    return SKILL_SAVE if agent.may_edit_skills else DRAFT_SKILL


def _serves_customers(conversation: Conversation) -> bool:
    """Whether the agent gets the instructions for answering customers. A person who tries the agent counts as a customer."""
    return conversation.is_trial or not (conversation.is_asked or conversation.is_talk)


def _delegation(claimed: TurnClaim) -> Delegation | None:
    """The agent that delegated, by its title (R054)."""
    by = claimed.context.calling_agent
    if by is None:
        return None
    return Delegation(
        by.title, TextProvenance(Agent._meta.label_lower, by.agent_id, by.version, "title", taint=Taint.OPERATOR)
    )


def user_turn_message(turned: SlotText) -> JsonObject:
    """A user turn in the form of the Messages API."""
    return canonical_object({"role": "user", "content": [{"type": "text", "text": turned.text}]})


def _line_cards(claimed: TurnClaim, actor: Actor) -> tuple[LineCard, ...]:
    """The identity cards of the lines on which the events arrived, if they differ from the agent's default (R187)."""
    keys = sorted({event.line_key for event in claimed.events if event.line_key})
    if not keys or not claimed.agent.has_learning:
        return ()
    with acting_as(actor):
        return read_or_omit("line cards", lambda: _cards(claimed.agent, keys, actor), ())


def _cards(agent: Agent, keys: list[str], actor: Actor) -> tuple[LineCard, ...]:
    cards = tuple(IdentityCard.objects.visible_to(actor).filter(agent_id=agent.pk, line_key__in=keys))
    known = field_authorships(cards, agent.tenant_id)
    return tuple(card for row in cards if (card := line_card(row, known)))


def prompt_event(event: InboundEvent, conversation: Conversation) -> TurnEvent:
    """An inbound event as the prompt shows it, with its source."""
    kind, at = KINDS[InboundEvent.Kind(event.kind)], event.received_at
    source = TextProvenance(InboundEvent._meta.label_lower, event.pk, 1, "text", taint=Taint.CUSTOMER)
    if kind in OWNER_KINDS:
        sender = event.sent_by or "operator"
        source = replace(source, author=sender, approver=sender, taint=Taint.OPERATOR)
        return TurnEvent(kind, event.text, at, line=event.line_key, source=source)
    if event.kind in BETWEEN_AGENTS:
        return TurnEvent(
            kind, event.text, at, event.sender_name, event.sent_by, source=replace(source, author=event.sent_by)
        )
    if conversation.channel == SMS:
        kind = EventKind.SMS
    source = replace(source, author=conversation.end_user_key)
    return TurnEvent(kind, event.text, at, event.sender_name, conversation.end_user_key, event.line_key, source)
