"""Claims a delivery and records its result, each in one commit. No transaction is open while the other server is called.

If a worker dies in between, its lease expires and the delivery is sent again under the same id. If another worker has claimed the
delivery meanwhile, the first worker's fence is no longer valid, and it records nothing.
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
from apps.governance.database.sql_files import load_query
from apps.runtime.webhook_delivery.payloads import ContentErased, DeliveryAttempt, DeliveryRequest, build_request
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.sealed_secrets import CannotOpen
from apps.webhooks.models import Delivery
from apps.webhooks.rules import rest_seconds, retry_pause

logger = logging.getLogger(__name__)

# Longer than the timeout of a delivery.
LEASE: Final = timedelta(seconds=60)
ACCEPTED_STATUSES: Final = range(200, 300)

# How many old deliveries each attempt removes: more than one, so that a backlog shrinks.
PRUNED_PER_TRY: Final = 20

TAKE_DELIVERY: Final = load_query("apps/runtime/webhook_delivery/queries/take_delivery.sql")
RECORD_ATTEMPT: Final = load_query("apps/runtime/webhook_delivery/queries/record_attempt.sql")
PAUSE_WEBHOOK: Final = load_query("apps/runtime/webhook_delivery/queries/pause_webhook.sql")
DROP_DELIVERY: Final = load_query("apps/runtime/webhook_delivery/queries/drop_delivery.sql")


@dataclass(frozen=True, slots=True)
class DeliveryResponse:
    """The response to an attempt: an HTTP status or a failure code, and the delay that the other server asks for."""

    status: int | None = None
    failure: str = ""
    retry_after_seconds: int = 0

    @property
    def is_taken(self) -> bool:
        """Whether the other server accepted the delivery."""
        return self.status in ACCEPTED_STATUSES


def take_delivery(tenant_id: int, delivery_id: int) -> DeliveryRequest | None:
    """Claim a due delivery for one attempt. None if another worker has it, or it is not due yet."""
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
    """Record the result of an attempt. Returns the conversation's next delivery to the same webhook if this one was accepted."""
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
    # The random number spreads retries; it is not secret.
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
