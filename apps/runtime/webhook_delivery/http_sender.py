"""Sends a delivery to a URL that a tenant entered: no private address, no redirects, no proxy, and a timeout of ten seconds."""

import asyncio
from typing import Final

import aiohttp
from django.conf import settings
from django.utils import timezone

from apps.outbound.guarded_http import guarded_connector
from apps.outbound.socket_guard import is_address_refusal
from apps.runtime.webhook_delivery.delivery_lease import ACCEPTED_STATUSES, DeliveryResponse
from apps.runtime.webhook_delivery.payloads import DeliveryRequest
from apps.webhooks.rules import signature_headers

TIMEOUT_SECONDS: Final = 10


def guarded_session() -> aiohttp.ClientSession:
    """A client session of the running loop. The resolved address is checked when the socket is opened."""
    connector = guarded_connector(settings.REACHABLE_NETWORKS)
    # No cookies, and no proxies or passwords from the environment.
    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False)


async def post_delivery(session: aiohttp.ClientSession, request: DeliveryRequest) -> DeliveryResponse:
    """Send the delivery once. Of the response only the status and Retry-After are read."""
    headers = {
        "Content-Type": "application/json; charset=utf-8",
        "User-Agent": "Preceptor",
        **signature_headers(request.secrets, request.delivery_id, timezone.now(), request.body),
    }
    limit = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    try:
        async with session.post(
            request.url, data=request.body, headers=headers, allow_redirects=False, timeout=limit
        ) as answered:
            failure = "" if answered.status in ACCEPTED_STATUSES else f"http_{answered.status}"
            return DeliveryResponse(
                answered.status, failure, _retry_after_seconds(answered.headers.get("Retry-After", ""))
            )
    except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
        return DeliveryResponse(failure=_failure_code(error))


def _failure_code(error: BaseException) -> str:
    if isinstance(error, asyncio.TimeoutError):
        return "timeout"
    return "address_refused" if is_address_refusal(error) else "not_reached"


def _retry_after_seconds(value: str) -> int:
    """The delay of a Retry-After header in seconds; 0 for a date."""
    return int(value) if value.isascii() and value.isdigit() and len(value) < 7 else 0
