"""Taking a delivery and noting what came of it, each in one commit; in between, while another server is asked, nothing is open.

A worker that dies on the way leaves a lease that runs out, and the delivery is sent once more under the same number. One that
was overtaken notes nothing: its fence is gone.
"""

import logging
import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.conf import settings

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as, execute_as
from apps.runtime.webhook_delivery.payloads import ContentErased, DeliveryAttempt, DeliveryRequest, build_request
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.sealed_secrets import CannotOpen
from apps.webhooks.models import Delivery
from apps.webhooks.rules import rest_seconds, retry_pause

logger = logging.getLogger(__name__)

# Longer than any answer is waited for.
LEASE: Final = timedelta(seconds=60)
ACCEPTED_STATUSES: Final = range(200, 300)

# What was said first is told first: nothing of a conversation overtakes what still waits before it. Nor is one that is left
# alone tried because somebody looked before its rest began.
_DUE_CONDITION: Final = """delivery.status = 'waiting'
    AND greatest(delivery.next_attempt_at, delivery.lease_until) <= statement_timestamp()
       AND webhook.tenant_id = delivery.tenant_id AND webhook.id = delivery.webhook_id AND webhook.is_active
       AND NOT EXISTS (
           SELECT 1 FROM webhooks_webhookhealth AS health WHERE health.tenant_id = delivery.tenant_id
              AND health.webhook_id = delivery.webhook_id AND health.paused_until > statement_timestamp())
       AND NOT EXISTS (
           SELECT 1 FROM webhooks_delivery AS before WHERE before.tenant_id = delivery.tenant_id
              AND before.webhook_id = delivery.webhook_id AND before.conversation_id = delivery.conversation_id
              AND before.status = 'waiting' AND before.id < delivery.id)"""
TAKE_DELIVERY: Final = f"""
UPDATE webhooks_delivery AS delivery SET lease_until = statement_timestamp() + %(lease)s::interval, fence = delivery.fence + 1,
       attempts = delivery.attempts + 1
  FROM webhooks_webhook AS webhook
 WHERE delivery.tenant_id = app_tenant() AND delivery.id = %(delivery)s AND {_DUE_CONDITION}
RETURNING statement_timestamp()
"""  # noqa: S608  # of constants
# Of what the webhook took long ago so much goes with each try: more than comes, so that it ends.
PRUNED_PER_TRY: Final = 20
# The try's end and the webhook's health in one statement. The next in line comes with it. Of tries that were under way when a
# rest began it is known already that they fail: they neither count nor lengthen it.
RECORD_ATTEMPT: Final = """
WITH tried AS (
    UPDATE webhooks_delivery SET status = %(status)s::text, next_attempt_at = statement_timestamp() + %(pause)s::interval,
           lease_until = statement_timestamp(), http_status = %(http_status)s, failure_code = %(failure_code)s,
           delivered_at = CASE WHEN %(status)s::text = 'delivered' THEN statement_timestamp() END
     WHERE tenant_id = app_tenant() AND id = %(delivery)s AND fence = %(fence)s AND status = 'waiting'
    RETURNING tenant_id, webhook_id, conversation_id, id
), health AS (
    INSERT INTO webhooks_webhookhealth AS health (tenant_id, webhook_id, consecutive_failures, failing_since)
    SELECT tenant_id, webhook_id, %(failed)s::integer, CASE WHEN %(failed)s > 0 THEN statement_timestamp() END FROM tried
    ON CONFLICT (tenant_id, webhook_id) DO UPDATE
       SET consecutive_failures = CASE WHEN %(failed)s = 0 THEN 0
                                       WHEN health.paused_until > %(taken_at)s::timestamptz THEN health.consecutive_failures
                                       ELSE health.consecutive_failures + 1 END,
           failing_since = CASE WHEN %(failed)s > 0 THEN coalesce(health.failing_since, statement_timestamp()) END,
           paused_until = CASE WHEN %(failed)s > 0 THEN health.paused_until END
    RETURNING health.consecutive_failures
), gone AS (
    DELETE FROM webhooks_delivery AS told USING (
        SELECT old.id FROM webhooks_delivery AS old JOIN tried
            ON tried.tenant_id = old.tenant_id AND tried.webhook_id = old.webhook_id
         WHERE old.status = 'delivered' AND old.delivered_at < statement_timestamp() - %(kept)s::interval
         ORDER BY old.delivered_at LIMIT %(at_once)s::integer FOR UPDATE OF old SKIP LOCKED) AS old
     WHERE told.tenant_id = app_tenant() AND told.id = old.id
)
SELECT (SELECT consecutive_failures FROM health), (
    SELECT delivery.id FROM webhooks_delivery AS delivery JOIN tried
        ON tried.tenant_id = delivery.tenant_id AND tried.webhook_id = delivery.webhook_id
       AND tried.conversation_id = delivery.conversation_id AND delivery.id > tried.id
     WHERE delivery.status = 'waiting' ORDER BY delivery.id LIMIT 1)
"""
PAUSE_WEBHOOK: Final = """
UPDATE webhooks_webhookhealth SET paused_until = statement_timestamp() + %(rest)s::interval
 WHERE tenant_id = app_tenant() AND webhook_id = %(webhook)s AND coalesce(paused_until <= %(taken_at)s::timestamptz, true)
RETURNING id
"""
# Nothing was tried, so it says nothing of how the webhook fares.
DROP_DELIVERY: Final = """
UPDATE webhooks_delivery SET status = 'dead', failure_code = 'content_gone', lease_until = statement_timestamp()
 WHERE tenant_id = app_tenant() AND id = %(delivery)s AND status = 'waiting' RETURNING id
"""


@dataclass(frozen=True, slots=True)
class DeliveryResponse:
    """What the other side said to a try: an HTTP status, or why there is none; and when it wants to be asked again."""

    status: int | None = None
    failure: str = ""
    retry_after_seconds: int = 0

    @property
    def is_taken(self) -> bool:
        """Whether it need not be sent again."""
        return self.status in ACCEPTED_STATUSES


def take_delivery(tenant_id: int, delivery_id: int) -> DeliveryRequest | None:
    """Take a delivery that is due, for one try; None where another worker has it or its turn has not come."""
    system = system_actor(tenant_id, "worker")
    with acting_as(system):
        taken = execute_as(system, TAKE_DELIVERY, {"delivery": delivery_id, "lease": LEASE})
        if not taken:
            return None
        [(taken_at,)] = taken
        rows = Delivery.objects.select_related("webhook", "conversation__agent")
        delivery = rows.get(tenant_id=tenant_id, pk=delivery_id)
        tried = DeliveryAttempt(
            tenant_id, delivery_id, delivery.webhook_id, delivery.fence, delivery.attempts, taken_at
        )
        try:
            return build_request(tried, delivery)
        except CannotOpen:
            logger.error("a webhook's secret cannot be opened", extra={"webhook_id": delivery.webhook_id})
            _record_attempt(tried, DeliveryResponse(failure="secret_unreadable"), system)
        except ContentErased:
            execute_as(system, DROP_DELIVERY, {"delivery": delivery.pk})
    return None


def record_response(request: DeliveryRequest, answer: DeliveryResponse) -> int | None:
    """Write what came of a try; the conversation's next delivery to the same webhook, if this one is out of its way."""
    system = system_actor(request.tenant_id, "worker")
    with acting_as(system):
        attempt = _record_attempt(request, answer, system)
        if attempt is None:
            return None
        failures, following = attempt
        rest = rest_seconds(failures)
        given = {"webhook": request.webhook_id, "rest": timedelta(seconds=rest), "taken_at": request.taken_at}
        if rest and execute_as(system, PAUSE_WEBHOOK, given):
            logger.warning("webhook paused after failures", extra={"webhook_id": request.webhook_id, "seconds": rest})
    return following if answer.is_taken else None


def _record_attempt(tried: DeliveryAttempt, answer: DeliveryResponse, system: Actor) -> tuple[int, int | None] | None:
    [(failures, following)] = execute_as(system, RECORD_ATTEMPT, _attempt_parameters(tried, answer))
    return None if failures is None else (failures, following)


def _attempt_parameters(tried: DeliveryAttempt, answer: DeliveryResponse) -> Mapping[str, Any]:
    # Spread, not secret.
    pause = None if answer.is_taken else retry_pause(tried.attempts, random.random(), answer.retry_after_seconds)  # noqa: S311
    status = Delivery.Status.WAITING
    if pause is None:
        status = Delivery.Status.DELIVERED if answer.is_taken else Delivery.Status.DEAD
    return {
        "delivery": tried.delivery_id,
        "fence": tried.fence,
        "taken_at": tried.taken_at,
        "status": status.value,
        "pause": timedelta(seconds=pause or 0),
        "http_status": answer.status,
        "failure_code": answer.failure,
        "failed": 0 if answer.is_taken else 1,
        "kept": timedelta(days=settings.DELIVERIES_KEPT_DAYS),
        "at_once": PRUNED_PER_TRY,
    }
