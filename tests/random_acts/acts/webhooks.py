"""How acts are tried on webhooks."""

import base64
from collections.abc import Mapping

from apps.governance.policy.policy_table import Act
from apps.webhooks.actions import amend_webhook, create_webhook, rotate_webhook_secret
from apps.webhooks.delivery_replay import replay_deliveries
from apps.webhooks.models import Webhook
from tests.random_acts.act_choice import ActChoice, ActRunner, write_parameter
from tests.support.servers.webhook_receiver import ADDRESS


def _webhook_secret(chosen: ActChoice) -> str:
    """None, one of a right length, or one that is too short."""
    drawn = base64.b64encode((chosen.name * (chosen.pick % 9)).encode()[:64]).decode()
    return f"whsec_{drawn}" if drawn else ""


def _create(chosen: ActChoice) -> object:
    secret = _webhook_secret(chosen)
    return create_webhook(actor=chosen.actor, key=chosen.name, title=chosen.words[:100], url=ADDRESS, secret=secret)


def _rotate(chosen: ActChoice) -> object:
    row = chosen.row(Webhook)
    secret, kept = _webhook_secret(chosen), chosen.pick % 2 == 0
    return rotate_webhook_secret(row, actor=chosen.actor, secret=secret, keep_former=kept, read_at=chosen.read_at(row))


def _replay(chosen: ActChoice) -> object:
    return replay_deliveries(chosen.row(Webhook).pk, actor=chosen.actor)


WEBHOOKS: Mapping[Act, ActRunner] = {
    Act.WEBHOOK_CREATE: _create,
    Act.WEBHOOK_AMEND: write_parameter(Webhook, amend_webhook, "title"),
    Act.WEBHOOK_ROTATE_SECRET: _rotate,
    Act.WEBHOOK_REPLAY: _replay,
}
