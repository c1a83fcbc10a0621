"""What the SDK raises, as errors that say who must act."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anthropic

from apps.llm.backend import (
    BackendError,
    BadRequest,
    ConnectionLost,
    MalformedReply,
    NotAuthorised,
    Overloaded,
    RateLimited,
    ServerFault,
    SpendLimitReached,
    TimedOut,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

SPEND_CODES = frozenset(
    {
        "enforced_spend_limit_reached",
        "contract_spend_limit_reached",
        "linked_organization_spend_limit_reached",
        "organization_on_hold",
    }
)
BY_STATUS: Mapping[int, type[BackendError]] = {
    401: NotAuthorised,
    402: SpendLimitReached,
    403: NotAuthorised,
    408: TimedOut,
    429: RateLimited,
    504: TimedOut,
    529: Overloaded,
}


def translated(error: anthropic.APIError) -> BackendError:
    if isinstance(error, anthropic.APITimeoutError):
        return TimedOut("The model did not answer in time.")
    if isinstance(error, anthropic.APIConnectionError):
        return ConnectionLost("The connection to the model broke.")
    if isinstance(error, anthropic.APIStatusError):
        return _translated_status(error)
    return MalformedReply("The model's answer is not a message.")


def _translated_status(error: anthropic.APIStatusError) -> BackendError:
    kind = BY_STATUS.get(error.status_code, ServerFault if error.status_code >= 500 else BadRequest)
    if _is_about_money(error):
        kind = SpendLimitReached
    return kind(error.api_message or error.message, retry_after_seconds=_retry_after_seconds(error))


def _is_about_money(error: anthropic.APIStatusError) -> bool:
    if error.error_code in SPEND_CODES or error.type == "billing_error":
        return True
    # A limit the account set itself answers 400 without a code; its sentence is all there is to go by.
    return error.status_code == 400 and "api usage limits" in (error.api_message or "").lower()


def _retry_after_seconds(error: anthropic.APIStatusError) -> float | None:
    try:
        return float(error.response.headers["retry-after"])
    except (KeyError, ValueError):
        return None
