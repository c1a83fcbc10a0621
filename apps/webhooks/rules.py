"""When a delivery is retried, when it is given up, and how it is signed; pure."""

import base64
import binascii
from collections.abc import Iterable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from standardwebhooks import Webhook as Signer


class WebhookEvent(StrEnum):
    """The events that a webhook can subscribe to."""

    REPLY = "reply"
    DRAFT = "draft"
    ESCALATION = "escalation"
    RESOLVED = "resolved"
    LEARNING_VERSION = "learning_version"
    DISTILLATION = "distillation"
    REVIEW = "review"


# Events outside a conversation.
NON_CONVERSATION_EVENTS: Final = frozenset(
    {WebhookEvent.LEARNING_VERSION, WebhookEvent.DISTILLATION, WebhookEvent.REVIEW}
)


# The seconds to wait after each attempt, a day and a half in total. After the last attempt the delivery is given up.
RETRY_PAUSES: Final = (5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 28_800, 43_200)
# A delay is stretched by up to a quarter, so that deliveries that failed together are not retried together.
JITTER: Final = 0.25
# After this many failures in a row, all deliveries to a webhook pause for a while.
FAILURE_LIMIT: Final = 10
REST_SECONDS: Final = 60
LONGEST_REST_SECONDS: Final = 3_600
SECRET_PREFIX: Final = "whsec_"  # noqa: S105  # what every secret begins with
SECRET_BYTES: Final = (24, 64)


def retry_pause(tries: int, spread: float, asked_seconds: int = 0) -> float | None:
    """Return the seconds to wait after this many attempts; None after the last. `spread` is drawn from 0 to 1.

    A retry is never earlier than the server asked for.
    """
    if tries > len(RETRY_PAUSES):
        return None
    return max(RETRY_PAUSES[tries - 1] * (1 + JITTER * spread), min(asked_seconds, LONGEST_REST_SECONDS))


def rest_seconds(failures: int) -> int:
    """Return the pause of a webhook after this many failures in a row, in seconds; it doubles each time, up to an hour."""
    if failures < FAILURE_LIMIT:
        return 0
    return int(min(REST_SECONDS << min(failures - FAILURE_LIMIT, 10), LONGEST_REST_SECONDS))


def secret_flaw(secret: str) -> str:
    """Return why this is no valid secret of Standard Webhooks; empty if it is. The sentence does not repeat the secret."""
    shortest, longest = SECRET_BYTES
    try:
        size = len(base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True))
    except (binascii.Error, ValueError):
        size = 0
    if secret.startswith(SECRET_PREFIX) and shortest <= size <= longest:
        return ""
    found = f"{size} bytes" if size and secret.startswith(SECRET_PREFIX) else "another form"
    return (
        f"A secret is {SECRET_PREFIX} and {shortest} to {longest} random bytes in base64; this one has {found}."
        f" Draw one with: echo {SECRET_PREFIX}$(openssl rand -base64 32)"
    )


def signature_headers(secrets: Iterable[str], delivery_id: int, sent_at: datetime, body: bytes) -> dict[str, str]:
    """Return the headers of Standard Webhooks, with one signature per valid secret, the newest first."""
    # The library reads the fields of the datetime as UTC, whatever its zone.
    number, moment = str(delivery_id), sent_at.astimezone(UTC)
    return {
        "webhook-id": number,
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": " ".join(Signer(secret).sign(number, moment, body.decode()) for secret in secrets),
    }
