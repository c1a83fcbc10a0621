"""Lawful data of webhooks, a server that receives their events, and how each surface performs the acts on them."""

import base64
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Thread
from typing import Any

from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import Act
from apps.runtime.webhook_delivery.delivery_lease import take_delivery
from apps.runtime.webhook_delivery.payloads import DeliveryRequest
from apps.tenants.due_work import due_work
from apps.webhooks.actions import amend_webhook, create_webhook, rotate_webhook_secret
from apps.webhooks.delivery_replay import replay_deliveries
from apps.webhooks.models import Delivery, Webhook, WebhookHealth
from apps.webhooks.rules import WebhookEvent
from tests.support.worlds.world import World, make_conversation

_numbers = count(1)
ADDRESS = "https://hooks.example/told"
SECRET = f"whsec_{base64.b64encode(b's' * 32).decode()}"
NEW_SECRET = f"whsec_{base64.b64encode(b't' * 32).decode()}"
ALL_EVENTS = {f"on_{event.value}": True for event in WebhookEvent}


def make_webhook(world: World, url: str = ADDRESS, **values: Any) -> Webhook:
    """Make a webhook for all events."""
    key = f"hook-{next(_numbers)}"
    given: dict[str, Any] = {"key": key, "title": "Our server", "secret": SECRET, **ALL_EVENTS} | values
    return create_webhook(actor=world.admin, url=url, **given)


def make_failed_delivery(world: World, webhook: Webhook | None = None) -> Webhook:
    """Make a webhook with a delivery that was given up."""
    webhook = webhook or make_webhook(world)
    conversation = make_conversation(world)
    with acting_as(world.system):
        delivery = Delivery.objects.create(
            tenant_id=world.tenant.pk,
            webhook=webhook,
            conversation=conversation,
            event="resolved",
            subject_id=conversation.pk,
        )
        Delivery.objects.filter(pk=delivery.pk).update(
            status="dead", attempts=12, next_attempt_at=Now(), failure_code="timeout"
        )
    return webhook


def make_tried_webhook(world: World) -> Webhook:
    """Make a webhook that was tried once, with a pending delivery."""
    webhook = make_failed_delivery(world)
    with acting_as(world.system):
        WebhookHealth.objects.create(tenant_id=world.tenant.pk, webhook=webhook)
    return webhook


def deliveries(world: World) -> list[Delivery]:
    """Return the deliveries to the tenant's webhooks, oldest first."""
    with acting_as(world.operator):
        return list(Delivery.objects.filter(tenant=world.tenant).order_by("pk"))


def due_deliveries(world: World) -> list[int]:
    """Return the ids of deliveries that may be tried now."""
    return [row_id for tenant_id, row_id in due_work("webhook_deliveries") if tenant_id == world.tenant.pk]


def take_first_delivery(world: World) -> DeliveryRequest:
    """Take the first due delivery."""
    request = take_delivery(world.tenant.pk, due_deliveries(world)[0])
    assert request is not None
    return request


def make_deliveries_due(world: World, **columns: Any) -> None:
    """Let time pass until every pending delivery may be tried."""
    before = timezone.now() - timedelta(seconds=1)
    with acting_as(world.system):
        Delivery.objects.filter(tenant=world.tenant, status="waiting").update(
            next_attempt_at=before, lease_until=before, **columns
        )


@dataclass
class WebhookReceiver:
    """The requests that a server received, and its responses."""

    url: str = ""
    answers: list[int] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    moved_to: str = ""


@contextmanager
def run_webhook_receiver() -> Iterator[WebhookReceiver]:
    """Run a server on loopback that accepts every request unless it is set to respond otherwise."""
    receiver = WebhookReceiver()

    class Handler(BaseHTTPRequestHandler):
        """One request."""

        def do_POST(self) -> None:
            receiver.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            receiver.headers.append(dict(self.headers))
            self.send_response(receiver.answers.pop(0) if receiver.answers else 204)
            if receiver.moved_to:
                self.send_header("Location", receiver.moved_to)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the library's name
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_port}/told"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


WEBHOOK_SUBJECTS: Mapping[Act, Callable[[World], Any]] = {
    Act.WEBHOOK_AMEND: make_webhook,
    Act.WEBHOOK_ROTATE_SECRET: make_webhook,
    Act.WEBHOOK_REPLAY: make_failed_delivery,
}
# Each takes the scene, the row and, for actions, the actor.
WEBHOOK_ACTS: Mapping[Act, Callable[[Any, Any, Actor], object]] = {
    Act.WEBHOOK_CREATE: lambda _, __, actor: create_webhook(
        actor=actor, key="mine", title="Mine", url=ADDRESS, secret=SECRET
    ),
    Act.WEBHOOK_AMEND: lambda _, row, actor: amend_webhook(row, actor=actor, title="New."),
    Act.WEBHOOK_ROTATE_SECRET: lambda _, row, actor: rotate_webhook_secret(row, actor=actor, secret=NEW_SECRET),
    Act.WEBHOOK_REPLAY: lambda _, row, actor: replay_deliveries(row.pk, actor=actor),
}
WEBHOOK_REQUESTS: Mapping[Act, Callable[[Any, Any], tuple[str, str, dict[str, object] | None]]] = {
    Act.WEBHOOK_CREATE: lambda _, __: ("POST", "webhooks", {"key": "mine", "title": "Mine", "url": ADDRESS}),
    Act.WEBHOOK_AMEND: lambda _, row: ("PATCH", f"webhooks/{row.pk}", {"title": "New."}),
    Act.WEBHOOK_ROTATE_SECRET: lambda _, row: ("POST", f"webhooks/{row.pk}/rotate-secret", {"secret": NEW_SECRET}),
    Act.WEBHOOK_REPLAY: lambda _, row: ("POST", f"webhooks/{row.pk}/replay", {}),
}


def _decision_form(button: str, **typed: str) -> Callable[[Any, Any], tuple[str, dict[str, Any]]]:
    return lambda _, row: (reverse("admin:webhooks_webhook_decide", args=[row.pk, button]), typed)


WEBHOOK_FORMS: Mapping[Act, Callable[[Any, Any], tuple[str, dict[str, Any]]]] = {
    Act.WEBHOOK_CREATE: lambda _, __: (
        reverse("admin:webhooks_webhook_add"),
        {"key": "mine", "title": "Mine", "url": ADDRESS, "on_reply": "on"},
    ),
    Act.WEBHOOK_AMEND: lambda _, row: (
        reverse("admin:webhooks_webhook_change", args=[row.pk]),
        {"title": "New.", "url": row.url, "is_active": "on", **dict.fromkeys(ALL_EVENTS, "on")},
    ),
    Act.WEBHOOK_ROTATE_SECRET: _decision_form("secret", secret=NEW_SECRET),
    Act.WEBHOOK_REPLAY: _decision_form("replay"),
}
