"""Builds the payload of a delivery from its row at the moment it is sent, so that nothing is stored twice."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.core.exceptions import ObjectDoesNotExist

from apps.conversations.models import Conversation, InboundEvent, Message
from apps.desk.models import Draft, Escalation
from apps.llm.model_backend import JsonObject
from apps.tenants.models.endpoints import SealedSecret
from apps.tenants.sealed_secrets import CannotOpen, unseal
from apps.webhooks.models import Delivery, Webhook
from apps.webhooks.outbox import PAYLOAD_BUILDERS
from apps.webhooks.rules import WebhookEvent, secret_flaw


class ContentErased(Exception):
    """The content of the delivery was erased: it was off the record, or belonged to an old version."""


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """An attempt of a delivery: its ids, its start, and the fence of the worker."""

    tenant_id: int
    delivery_id: int
    webhook_id: int
    fence: int
    attempts: int
    taken_at: datetime


@dataclass(frozen=True, slots=True)
class DeliveryRequest(DeliveryAttempt):
    """The request of an attempt: URL, secrets, body and event."""

    url: str
    secrets: tuple[str, ...]
    body: bytes
    told: str


def build_request(tried: DeliveryAttempt, delivery: Delivery) -> DeliveryRequest:
    """Build the request, as the system. Raises `CannotOpen` if the secret can't be unsealed, `ContentErased` without content."""
    webhook: Webhook = delivery.webhook
    return DeliveryRequest(
        tried.tenant_id,
        tried.delivery_id,
        tried.webhook_id,
        tried.fence,
        tried.attempts,
        tried.taken_at,
        webhook.url,
        _secrets(webhook),
        json.dumps(_build_payload(delivery), ensure_ascii=False, separators=(",", ":")).encode(),
        delivery.event,
    )


def _secrets(webhook: Webhook) -> tuple[str, ...]:
    """The webhook's secrets, the present one first. If they were changed after the webhook was read, they are read again, since
    nothing is sent unsigned."""
    if found := _unsealed_secrets(webhook):
        return found
    webhook.refresh_from_db(fields=["secret", "former_secret"])
    if found := _unsealed_secrets(webhook):
        return found
    raise CannotOpen("The webhook has no secret to sign with.")


def _unsealed_secrets(webhook: Webhook) -> tuple[str, ...]:
    named = [each for each in (webhook.secret_id, webhook.former_secret_id) if each is not None]
    kept = SealedSecret.objects.filter(tenant_id=webhook.tenant_id, pk__in=named).defer(None).order_by("-pk")
    # A secret that was stored in another form would sign with bytes that the receiver does not know.
    opened = (unseal(secret.ciphertext, secret.tenant_id) for secret in kept)
    return tuple(secret for secret in opened if not secret_flaw(secret))


def _build_payload(delivery: Delivery) -> JsonObject:
    noted = {"id": str(delivery.pk), "event": delivery.event, "at": _format_time(delivery.created_at)}
    conversation = delivery.conversation
    if conversation is None:
        try:
            agent_key, words = PAYLOAD_BUILDERS[WebhookEvent(delivery.event)](delivery.tenant_id, delivery.subject_id)
        except ObjectDoesNotExist:
            raise ContentErased from None
        return {**noted, "agent": agent_key, delivery.event: words}
    return {
        **noted,
        "agent": conversation.agent.key,
        "conversation": {
            "id": conversation.pk,
            "channel": conversation.channel,
            "key": conversation.conversation_key,
            "end_user_key": conversation.end_user_key,
        },
        delivery.event if delivery.event != WebhookEvent.RESOLVED else "outcome": _CONTENT_BY_EVENT[
            WebhookEvent(delivery.event)
        ](delivery, conversation),
    }


def _reply(delivery: Delivery, conversation: Conversation) -> JsonObject:
    message = Message.objects.get(tenant_id=delivery.tenant_id, pk=delivery.subject_id)
    if conversation.erased_at is not None and not message.text:
        raise ContentErased
    reply: JsonObject = {
        "message_id": message.pk,
        "text": message.text,
        "sender": message.sender,
        "turn_id": message.turn_id,
    }
    return {**reply, "line": _line_answered(message)}


def _line_answered(message: Message) -> str:
    """The line that the customer last wrote on before this message: a reply is sent from the same line (R137)."""
    written = InboundEvent.objects.filter(
        tenant_id=message.tenant_id, conversation=message.conversation_id, kind=InboundEvent.Kind.MESSAGE
    )
    # Events that came during a turn belong to the next one. A message of a person answers all events so far.
    before = {"turn_id__lte": message.turn_id} if message.turn_id else {"received_at__lte": message.created_at}
    return written.filter(**before).order_by("-id").values_list("line_key", flat=True).first() or ""


def _draft(delivery: Delivery, _conversation: Conversation) -> JsonObject:
    draft = Draft.objects.get(tenant_id=delivery.tenant_id, pk=delivery.subject_id)
    return {"id": draft.pk, "grounding": draft.grounding, "turn_id": draft.turn_id}


def _escalation(delivery: Delivery, _conversation: Conversation) -> JsonObject:
    escalation = Escalation.objects.get(tenant_id=delivery.tenant_id, pk=delivery.subject_id)
    return {"id": escalation.pk, "reason": escalation.reason, "question": escalation.question}


def _outcome(_delivery: Delivery, conversation: Conversation) -> str:
    return str(conversation.outcome)


_CONTENT_BY_EVENT: Final[Mapping[WebhookEvent, Callable[[Delivery, Conversation], Any]]] = {
    WebhookEvent.REPLY: _reply,
    WebhookEvent.DRAFT: _draft,
    WebhookEvent.ESCALATION: _escalation,
    WebhookEvent.RESOLVED: _outcome,
}


def _format_time(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
