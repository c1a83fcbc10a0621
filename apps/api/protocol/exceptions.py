"""Refusals that only this surface knows; those of the kernel are the kernel's."""

from rest_framework.exceptions import APIException, PermissionDenied

from apps.governance.errors import IllegalTransition


class CsrfFailed(PermissionDenied):
    """A person's browser session tried to write without the token that proves the page was ours."""

    default_code = "csrf_failed"


class BodyTooLarge(APIException):
    """More bytes than any lawful body has."""

    status_code = 413
    default_code = "too_large"


class KeyReused(APIException):
    """A key of another request: neither that one's answer nor another write under it would be right."""

    status_code = 422
    default_code = "key_reused"


class KeyInFlight(APIException):
    """The request of this key has no answer yet."""

    status_code = 409
    default_code = "key_in_flight"


class PreconditionFailed(APIException):
    """The row is not, or is, what a header of the request names."""

    status_code = 412
    default_code = "precondition_failed"

    def __init__(self, detail: str, current_version: int | None) -> None:
        super().__init__(detail)
        if current_version is not None:
            self.current_version = current_version


class TurnFailedError(APIException):
    """The turn that should have brought the reply ended without one."""

    status_code = 502
    default_code = "turn_failed"

    def __init__(self, detail: str, failure_code: str) -> None:
        super().__init__(detail)
        self.failure_code = failure_code


class TransitionNotAllowed(IllegalTransition):
    """A state was asked for that cannot be reached from the present one; `allowed` are those that can."""

    def __init__(self, message: str, allowed: list[str]) -> None:
        super().__init__(message)
        self.allowed = allowed
