"""Maps exceptions of the SDK and of the connection to `BackendError` classes, each of which says who has to act."""

from __future__ import annotations

import math
import time
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

import anthropic
import httpx2

from apps.llm.model_backend import (
    BackendError,
    BadRequest,
    ConnectionLost,
    ContextExceeded,
    EndpointRefused,
    MalformedReply,
    NotAuthorised,
    Overloaded,
    RateLimited,
    ServerFault,
    SpendLimitReached,
    TimedOut,
)
from apps.outbound.socket_guard import is_address_refusal
from apps.outbound.ssrf import PRIVATE_ADDRESS

if TYPE_CHECKING:
    from collections.abc import Mapping

REDIRECT_MESSAGE: Final = "The endpoint answered with a redirect, which is not followed. Name the address it leads to."
# If an endpoint asks for a longer wait, it is called again after an hour anyway.
LONGEST_WAIT_SECONDS = 3600.0
SPEND_CODES = frozenset(
    {
        "enforced_spend_limit_reached",
        "contract_spend_limit_reached",
        "linked_organization_spend_limit_reached",
        "organization_on_hold",
    }
)
ERRORS_BY_STATUS: Mapping[int, type[BackendError]] = {
    401: NotAuthorised,
    402: SpendLimitReached,
    403: NotAuthorised,
    408: TimedOut,
    429: RateLimited,
    504: TimedOut,
    529: Overloaded,
}
# An error inside a stream arrives with status 200; only its type identifies it.
ERRORS_BY_TYPE: Mapping[str | None, type[BackendError]] = {
    "authentication_error": NotAuthorised,
    "billing_error": SpendLimitReached,
    "invalid_request_error": BadRequest,
    "not_found_error": BadRequest,
    "overloaded_error": Overloaded,
    "permission_error": NotAuthorised,
    "rate_limit_error": RateLimited,
    "timeout_error": TimedOut,
}


class TypedErrors:
    """A context manager that turns every SDK and connection error in its block into a `BackendError`.

    One instance serves all calls, because a generator-based context manager would keep a frame in memory for each waiting call.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        """Do nothing; there is nothing to set up."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and (backend_error := _to_backend_error(error)) is not None:
            raise backend_error from error


TYPED_ERRORS: Final = TypedErrors()


def _to_backend_error(error: BaseException) -> BackendError | None:
    match error:
        case anthropic.APIError():
            return translate_api_error(error)
        case httpx2.HTTPError():
            return _translate_broken_stream(error)
        case UnicodeEncodeError():
            return BadRequest("The request contains half of a character (a lone surrogate). Remove it.")
        case ValueError() | RecursionError():
            return MalformedReply("The model's answer is not JSON.")
        case _:
            return None


def translate_api_error(error: anthropic.APIError) -> BackendError:
    if isinstance(error, anthropic.APITimeoutError):
        return TimedOut("The model did not answer in time.")
    if isinstance(error, anthropic.APIConnectionError):
        if is_address_refusal(error):
            return EndpointRefused(PRIVATE_ADDRESS)
        return ConnectionLost("The connection to the model broke.")
    if isinstance(error, anthropic.APIStatusError):
        if 300 <= error.status_code < 400:
            return EndpointRefused(REDIRECT_MESSAGE)
        kind = (
            SpendLimitReached
            if _is_about_money(error)
            else ContextExceeded
            if _is_too_long(error)
            else _error_class(error)
        )
        headers = error.response.headers
        return kind(
            error.api_message or error.message, retry_after_seconds=requested_wait_seconds(headers, now=time.time())
        )
    return MalformedReply("The model's answer is not a message.")


def requested_wait_seconds(headers: Mapping[str, str], *, now: float) -> float | None:
    """Return how many seconds the endpoint asks us to wait, read from its headers in milliseconds, seconds or as a date."""
    asked = headers.get("retry-after", "")
    for seconds in (
        _parse_milliseconds(headers.get("retry-after-ms", "")),
        _parse_number(asked),
        _seconds_until(asked, headers, now),
    ):
        if seconds is not None:
            return min(max(seconds, 0.0), LONGEST_WAIT_SECONDS)
    return None


def _error_class(error: anthropic.APIStatusError) -> type[BackendError]:
    if error.status_code < 400:
        return ERRORS_BY_TYPE.get(error.type, ServerFault)
    return ERRORS_BY_STATUS.get(error.status_code, ServerFault if error.status_code >= 500 else BadRequest)


def _is_about_money(error: anthropic.APIStatusError) -> bool:
    if error.error_code in SPEND_CODES or error.type == "billing_error":
        return True
    # A spend limit set by the account itself returns status 400 without a code; only the message text identifies it.
    return error.status_code == 400 and "api usage limits" in (error.api_message or "").lower()


def _is_too_long(error: anthropic.APIStatusError) -> bool:
    if error.status_code == 413:
        return True
    # The API has no code for this error; only the message text identifies it.
    return error.status_code == 400 and "prompt is too long" in (error.api_message or "").lower()


def _translate_broken_stream(error: httpx2.HTTPError) -> BackendError:
    """Return the error for a connection that broke during an answer; the SDK passes on the connection's own exception."""
    if isinstance(error, httpx2.TimeoutException):
        return TimedOut("The model fell silent in the middle of its answer.")
    if isinstance(error, httpx2.DecodingError):
        return MalformedReply("The model's answer cannot be decompressed.")
    return ConnectionLost("The connection to the model broke in the middle of its answer.")


def _parse_milliseconds(value: str) -> float | None:
    number = _parse_number(value)
    return None if number is None else number / 1000


def _parse_number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _seconds_until(value: str, headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds until a date, by the endpoint's clock if its headers give the time, since our clock may be wrong."""
    moment = _parse_http_date(value)
    if moment is None:
        return None
    server_time = _parse_http_date(headers.get("date", ""))
    return moment - (now if server_time is None else server_time)


def _parse_http_date(value: str) -> float | None:
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
