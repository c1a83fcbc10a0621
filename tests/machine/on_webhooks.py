"""How acts are tried on webhooks."""

from collections.abc import Mapping

from apps.governance.policy import Act
from apps.webhooks.actions import amend_webhook, create_webhook, rotate_webhook_secret
from apps.webhooks.models import Webhook
from apps.webhooks.sending_again import replay_deliveries
from tests.hooking import ADDRESS
from tests.machine.chosen import Chosen, Deed, saying


def _create(chosen: Chosen) -> object:
    secret = chosen.name * (chosen.pick % 9)
    return create_webhook(actor=chosen.actor, key=chosen.name, title=chosen.words[:100], url=ADDRESS, secret=secret)


def _rotate(chosen: Chosen) -> object:
    row = chosen.row(Webhook)
    secret, kept = chosen.name * (chosen.pick % 9), chosen.pick % 2 == 0
    return rotate_webhook_secret(row, actor=chosen.actor, secret=secret, keep_former=kept, read_at=chosen.read_at(row))


def _replay(chosen: Chosen) -> object:
    return replay_deliveries(chosen.row(Webhook).pk, actor=chosen.actor)


WEBHOOKS: Mapping[Act, Deed] = {
    Act.WEBHOOK_CREATE: _create,
    Act.WEBHOOK_AMEND: saying(Webhook, amend_webhook, "title"),
    Act.WEBHOOK_ROTATE_SECRET: _rotate,
    Act.WEBHOOK_REPLAY: _replay,
}
