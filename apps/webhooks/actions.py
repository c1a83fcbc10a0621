"""Actions on webhooks. Secrets are stored and never returned."""

from typing import Any

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid
from apps.governance.governed_write import assign_values, governed
from apps.governance.policy.policy_table import Act
from apps.tenants.sealed_secrets import delete_secrets, store_secret
from apps.webhooks.models import EVENT_FIELDS, Webhook
from apps.webhooks.rules import secret_flaw


def create_webhook(*, actor: Actor, secret: str = "", **values: Any) -> Webhook:  # Any: values of governed fields
    """Create a webhook for events from now on. Nothing is sent until it has a secret."""
    webhook = Webhook(tenant_id=actor.tenant_id)
    _refuse_flawed_secret(secret)
    with governed(Act.WEBHOOK_CREATE, webhook, actor=actor) as row:
        assign_values(row, Act.WEBHOOK_CREATE, values)
        _refuse_without_events(row)
        row.secret = store_secret(secret, actor=actor) if secret else None
    return webhook


def amend_webhook(webhook: Webhook, *, actor: Actor, read_at: int | None = None, **values: object) -> Webhook:
    """Change the address or the events; waiting deliveries go to the new address."""
    with governed(Act.WEBHOOK_AMEND, webhook, actor=actor, read_at=read_at) as row:
        assign_values(row, Act.WEBHOOK_AMEND, values)
        _refuse_without_events(row)
    return webhook


def rotate_webhook_secret(
    webhook: Webhook, *, actor: Actor, secret: str, keep_former: bool = True, read_at: int | None = None
) -> Webhook:
    """Sign deliveries with a new secret. The former secret also signs until the next rotation, unless `keep_former` is false."""
    if not secret:
        raise Invalid(
            "Enter the new secret. To stop sending to this address, switch the webhook off.", {"secret": ["Empty."]}
        )
    _refuse_flawed_secret(secret)
    with acting_as(actor):
        with governed(Act.WEBHOOK_ROTATE_SECRET, webhook, actor=actor, read_at=read_at) as row:
            before, kept = {row.secret_id, row.former_secret_id}, row.secret_id if keep_former else None
            row.secret, row.former_secret_id = store_secret(secret, actor=actor), kept
        delete_secrets(*before - {kept}, actor=actor)
    return webhook


def _refuse_without_events(row: Webhook) -> None:
    if not any(getattr(row, name) for name in EVENT_FIELDS):
        message = "Choose at least one event. To stop sending to this address, switch the webhook off."
        raise Invalid(message, {"on_reply": [message]})


def _refuse_flawed_secret(secret: str) -> None:
    if secret and (flaw := secret_flaw(secret)):
        raise Invalid(flaw, {"secret": [flaw]})
