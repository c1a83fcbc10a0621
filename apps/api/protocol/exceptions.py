"""Refusals that exist only in the REST API. All others are in `apps.governance.errors`."""

from rest_framework.exceptions import APIException, PermissionDenied

from apps.governance.errors import IllegalTransition


class CsrfFailed(PermissionDenied):
    """A browser session tried to write without a valid CSRF token."""

    default_code = "csrf_failed"


class BodyTooLarge(APIException):
    """The body exceeds the size of any valid body."""

    status_code = 413
    default_code = "too_large"


class KeyReused(APIException):
    """The idempotency key belongs to another request, so neither its response nor a second write would be correct."""

    status_code = 422
    default_code = "key_reused"


class KeyInFlight(APIException):
    """The first request with this idempotency key is still in progress."""

    status_code = 409
    default_code = "key_in_flight"


class PreconditionFailed(APIException):
    """The row does not satisfy a precondition in the request headers."""

    status_code = 412
    default_code = "precondition_failed"

    def __init__(self, detail: str, current_version: int | None) -> None:
        super().__init__(detail)
        if current_version is not None:
            self.current_version = current_version


class TurnFailedError(APIException):
    """The turn ended without the reply that the request waited for."""

    status_code = 502
    default_code = "turn_failed"

    def __init__(self, detail: str, failure_code: str) -> None:
        super().__init__(detail)
        self.failure_code = failure_code


class TransitionNotAllowed(IllegalTransition):
    """The requested state cannot be reached from the current one; `allowed` lists the states that can."""

    def __init__(self, message: str, allowed: list[str]) -> None:
        super().__init__(message)
        self.allowed = allowed
