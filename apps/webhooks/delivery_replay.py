"""Replays dead deliveries, which is the only change that people make in the outbox."""

from collections.abc import Sequence

from django.db.models.functions import Now

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, NotVisible
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.governance.refusal_log import recording_refusals
from apps.tenants.authentication.actor_resolution import system_actor
from apps.webhooks.models import Delivery, Webhook, WebhookHealth


def replay_deliveries(webhook_id: int, *, actor: Actor, delivery_id: int | None = None) -> int:
    """Queue one dead delivery or all of them again, under the same ids. Return the number of queued deliveries."""
    authorize(actor, Act.WEBHOOK_REPLAY, actor.tenant_id)
    with recording_refusals(actor, Act.WEBHOOK_REPLAY), acting_as(actor):
        webhook = Webhook.objects.visible_to(actor).filter(pk=webhook_id).first()
        if webhook is None:
            raise NotVisible("There is no such webhook.")
        given_up = Delivery.objects.filter(tenant_id=actor.tenant_id, webhook=webhook).dead()
        ids = list(given_up.filter(**({"pk": delivery_id} if delivery_id else {})).values_list("pk", flat=True))
        if not ids:
            raise Conflict(
                "No delivery was given up, so nothing is sent again. Waiting deliveries are retried automatically."
            )
        return _requeue(webhook, ids, actor)


def _requeue(webhook: Webhook, delivery_ids: Sequence[int], actor: Actor) -> int:
    """Reset the attempts of the deliveries and make them due at once."""
    system = system_actor(actor.tenant_id, "outbox")
    with acting_as(system):
        WebhookHealth.objects.filter(tenant_id=webhook.tenant_id, webhook=webhook).update(paused_until=None)
    given_up = Delivery.objects.filter(tenant_id=webhook.tenant_id, webhook=webhook, pk__in=delivery_ids).dead()
    return given_up.update(
        status=Delivery.Status.WAITING, attempts=0, next_attempt_at=Now(), lease_until=Now(), replayed_by=actor.label
    )
