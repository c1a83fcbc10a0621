"""Admission control for customers' messages: rate limits, and proof of identity."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.db.models import F, Q, QuerySet, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from apps.conversations.models import Conversation, InboundEvent
from apps.conversations.rules import seconds_to_wait
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid, TooManyRequests
from apps.governance.governed_write import governed
from apps.governance.policy.policy_table import Act
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.models import TenantSettings

ONE_MICROSECOND: Final = timedelta(microseconds=1)
MINUTE: Final = timedelta(minutes=1)
DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class CustomerProof:
    """Proof of a customer's identity: a signature of the tenant's server, and the key used for it."""

    key_id: int


def prove_conversation(conversation: Conversation, *, actor: Actor, proof: CustomerProof) -> Conversation:
    """Record that the customer of a conversation is verified. Its next session carries their profile."""
    with governed(Act.CONVERSATION_PROVE, conversation, actor=actor) as row:
        if not row.end_user_key:
            raise Conflict("This conversation names no customer, so no customer can be verified.")
        if row.is_proven:
            raise Conflict("The customer of this conversation is verified already.")
        # Later than every earlier message, even one that was timestamped by another machine's clock.
        last = row.events.order_by("-received_at").values_list("received_at", flat=True).first()
        now = timezone.now()
        row.proven_at, row.proven_key_id = max(now, last + ONE_MICROSECOND if last else now), proof.key_id
    return conversation


def admit_message(conversation: Conversation, proof: CustomerProof | None, *, actor: Actor) -> None:
    """Admit one more message of the customer, or refuse it. The caller has the conversation locked.

    Once the customer is verified, later messages need proof too, because the agent has the profile in its prompt.
    """
    system = system_actor(actor.tenant_id, "admission")
    with acting_as(system):
        settings = TenantSettings.objects.visible_to(system).get()
        if conversation.is_proven and proof is None and settings.is_customer_proof_required:
            flaw = "The customer of this thread is verified. Send their user_hash with every message."
            raise Invalid(flaw, {"user_hash": [flaw]})
        _refuse_over_limit(conversation, settings, is_proven=proof is not None or conversation.is_proven)
        if proof is not None and not conversation.is_proven:
            prove_conversation(conversation, actor=system, proof=proof)


def _refuse_over_limit(conversation: Conversation, settings: TenantSettings, *, is_proven: bool) -> None:
    now, limits = timezone.now(), (settings.messages_per_minute, settings.messages_per_day)
    sent = _sent_by_customer(conversation, is_proven=is_proven).filter(received_at__gt=now - DAY)
    counted = sent.annotate(nth=Window(RowNumber(), order_by=F("received_at").desc())).filter(nth__in=limits)
    reached = dict(counted.order_by().values_list("nth", "received_at"))
    for limit, span, named in zip(limits, (MINUTE, DAY), ("a minute", "24 hours"), strict=True):
        nth_at = reached.get(limit)
        if nth_at is not None and nth_at > now - span:
            wait = seconds_to_wait(nth_at, span, now)
            raise TooManyRequests(
                f"This customer has sent {limit} messages within {named}, which is the limit."
                f" Send the next one in {wait} seconds.",
                wait,
            )


def _sent_by_customer(conversation: Conversation, *, is_proven: bool) -> QuerySet[InboundEvent]:
    """Return the customer's messages to all agents of the tenant, or the thread's messages if it names no customer.

    Messages without proof are counted separately from verified ones, so that nobody can use up another customer's limit.
    """
    messages = InboundEvent.objects.filter(tenant_id=conversation.tenant_id, kind=InboundEvent.Kind.MESSAGE)
    if not conversation.end_user_key:
        return messages.filter(conversation=conversation)
    proven_at = "conversation__proven_at"
    borne_out = (
        Q(received_at__gte=F(proven_at)) if is_proven else Q(received_at__lt=F(proven_at)) | Q((proven_at, None))
    )
    return messages.filter(
        borne_out,
        conversation__tenant_id=conversation.tenant_id,
        conversation__end_user_key=conversation.end_user_key,
        conversation__origin=Conversation.Origin.LIVE,
    )
