"""Webhooks: the servers and their events, the health of each, and deliveries that were given up."""

from operator import attrgetter
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, Field
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminPasswordWidget

from apps.console.framework.forms import DecisionForm
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import column
from apps.console.framework.page_actions import Button, CreateAction, EditAction, PanelReader
from apps.console.framework.row_titles import format_moment
from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act
from apps.webhooks.actions import amend_webhook, create_webhook, rotate_webhook_secret
from apps.webhooks.delivery_replay import replay_deliveries
from apps.webhooks.models import EVENT_FIELDS, Delivery, Webhook

DELIVERIES_SHOWN = 30
WEBHOOK_FIELDS = ("title", "url", *EVENT_FIELDS, "is_active")


class NewSecretForm(DecisionForm):
    """A new secret, which is not shown again."""

    secret = forms.CharField(
        label="New secret",
        help_text="By Standard Webhooks: whsec_ and 24 to 64 random bytes in base64. Draw one with"
        " echo whsec_$(openssl rand -base64 32). Stored encrypted and never shown again.",
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "off"}),
    )
    keep_former = forms.BooleanField(
        required=False,
        initial=True,
        label="Sign with the present one too",
        help_text="Until the next change. Leave this out where somebody else knows it.",
    )


def webhook_panels(webhook: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the health of the webhook, and its latest deliveries."""
    counted = webhook.deliveries.order_by().values_list("status").annotate(rows=Count("pk"))
    return {
        "health": getattr(webhook, "health", None),
        "counts": dict(counted),
        "events": [field.verbose_name for field in _event_fields() if getattr(webhook, field.name)],
        "deliveries": webhook.deliveries.select_related("conversation")[:DELIVERIES_SHOWN],
    }


def _event_fields() -> "list[Field[Any, Any]]":
    return [field for field in Webhook._meta.fields if field.name in EVENT_FIELDS]


def has_dead_deliveries(webhook: Any) -> bool:
    """Return whether any delivery was given up."""
    return bool(webhook.deliveries.filter(status=Delivery.Status.DEAD).exists())


def _replay(webhook: Webhook, *, actor: Actor) -> int:
    return replay_deliveries(webhook.pk, actor=actor)


def _replay_message(number: int) -> str:
    return f"{number} deliveries are on their way again." if number != 1 else "One delivery is on its way again."


class WebhookAdmin(GovernedAdmin):
    """Servers of the tenant that receive its events."""

    list_display = ("key", "title", "url", "is_active", "secret_kept", "state", "updated")
    list_filter = ("is_active",)
    list_select_related = ("health",)
    search_fields = ("key", "title", "url")
    search_help_text = "Search key, title or address"
    empty = "No webhook yet: replies are fetched by your server. Add one, give it a secret, and they are sent to it."
    add_fields = ("key", *WEBHOOK_FIELDS)
    fields = WEBHOOK_FIELDS
    change_form_template = "console/tenants/webhook.html"
    saved = "Saved. It also applies to pending deliveries. Nothing is sent before there is a secret."
    creates = CreateAction(Act.WEBHOOK_CREATE, create_webhook, add_fields)
    amends = (EditAction(Act.WEBHOOK_AMEND, amend_webhook),)
    panels = PanelReader(webhook_panels)
    buttons = (
        Button(
            "secret",
            "Change the secret",
            Act.WEBHOOK_ROTATE_SECRET,
            rotate_webhook_secret,
            done="The new secret is saved. Deliveries from now on are signed with it.",
            consequence="Your server checks what it is sent with the new secret. Until the next change it is signed with the"
            " present one too, unless you say otherwise.",
            form=NewSecretForm,
            tone="primary",
        ),
        Button(
            "replay",
            "Send again what was given up",
            Act.WEBHOOK_REPLAY,
            _replay,
            takes_read_at=False,
            done=_replay_message,
            consequence="Each is sent under the number it has, so a server that took one already knows it. They may arrive behind"
            " what was said later.",
            when=has_dead_deliveries,
        ),
    )

    secret_kept = column("Secret kept", attrgetter("has_secret"), boolean=True)

    @admin.display(description="State")
    def state(self, webhook: Webhook) -> str:
        health = getattr(webhook, "health", None)
        if health is None or not health.consecutive_failures:
            return "well" if health else "not used yet"
        return f"failing since {format_moment(health.failing_since)}, {health.consecutive_failures} times"
