"""Converts every refusal to an RFC 9457 problem document: one table maps errors to HTTP status codes."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import (
    NON_FIELD_ERRORS,
    BadRequest,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousMultipartForm,
    TooManyFieldsSent,
    TooManyFilesSent,
)
from django.http import Http404
from django.http.multipartparser import MultiPartParserError
from rest_framework import exceptions
from rest_framework.permissions import SAFE_METHODS
from rest_framework.response import Response

from apps.api.protocol.exceptions import BodyTooLarge
from apps.governance import errors
from apps.governance.actors import Actor
from apps.governance.refusal_log import RefusalSubject, record_refusal
from apps.governance.row_ids import parse_row_id
from apps.restore.execution import StalePlan

CONTENT_TYPE = "application/problem+json"
DOCUMENTATION = "/docs/errors"

# The HTTP status of each governance error. An error missing here is a fault of the product and stays an error 500.
STATUS_BY_ERROR: Mapping[type[errors.GovernanceError], int] = {
    errors.NothingPermitted: 403,
    errors.NotPermitted: 403,
    errors.NotVisible: 404,
    errors.IllegalTransition: 400,
    errors.Stale: 409,
    errors.NeedsRebase: 409,
    errors.FindingsUnconfirmed: 409,
    errors.QueueFull: 409,
    errors.Conflict: 409,
    errors.Invalid: 400,
    errors.TextErased: 410,
    errors.TooManyRequests: 429,
    StalePlan: 409,
}
# REST framework's codes that we rename; all other codes are kept.
CODE_NAMES = {"parse_error": "malformed", "error": "refused"}
TITLES = {
    "already_rejected": "A person rejected this before",
    "authentication_failed": "The token is not valid",
    "conflict": "Conflict with the current state",
    "csrf_failed": "The request may be forged",
    "text_erased": "The text was erased",
    "findings_unconfirmed": "The scanner found something to confirm",
    "illegal_transition": "This state cannot be reached",
    "invalid": "Some values are invalid",
    "key_in_flight": "The first request is still being answered",
    "key_reused": "The idempotency key belongs to another request",
    "malformed": "The body cannot be read",
    "method_not_allowed": "Method not allowed",
    "needs_another_reviewer": "Another reviewer must agree",
    "needs_rebase": "The target of the proposal has changed",
    "not_acceptable": "Format not available",
    "not_authenticated": "Not signed in",
    "not_found": "Not found",
    "not_permitted": "Not permitted",
    "nothing_permitted": "None of these fields is permitted",
    "permission_denied": "Not permitted",
    "stale_plan": "The restore plan has changed",
    "precondition_failed": "Precondition failed",
    "queue_full": "Too many open proposals",
    "stale": "The row has changed",
    "throttled": "Too many requests",
    "too_large": "The body is too large",
    "too_many_messages": "Too many messages",
    "too_many_streams": "Too many streams are open",
    "turn_failed": "The agent could not answer",
    "unsupported_media_type": "Unsupported content type",
}
# Members of a problem document besides its sentence.
EXTRA_MEMBERS = (
    *("ignored_fields", "current_version", "allowed", "failure_code"),
    *("current_sha256", "current_content", "base", "live", "findings"),
)
# The key of reasons that belong to no field.
BODY_FIELD = "body"
NOT_FOUND = "Nothing exists at this address, or you may not see it."


# A browser session may send its CSRF token in a form, so Django reads the body before the view does.
UNREADABLE_BODY_ERRORS = (
    MultiPartParserError,
    BadRequest,
    SuspiciousMultipartForm,
    TooManyFieldsSent,
    TooManyFilesSent,
)


def problem_response(exc: Exception, context: Mapping[str, Any]) -> Response | None:
    """Convert an exception to a problem document; None for a fault of the product, which Django logs and answers with 500."""
    _record_refusal(exc, context)
    if isinstance(exc, Http404):
        exc = exceptions.NotFound(NOT_FOUND)
    elif isinstance(exc, PermissionDenied):
        exc = exceptions.PermissionDenied()
    elif isinstance(exc, RequestDataTooBig):
        exc = BodyTooLarge("The body is too large to be read. Send less.")
    elif isinstance(exc, UNREADABLE_BODY_ERRORS):
        exc = exceptions.ParseError(
            "The form in the body cannot be read. Send JSON, or a multipart form with its boundary."
        )
    if isinstance(exc, errors.GovernanceError):
        status = next((status for kind, status in STATUS_BY_ERROR.items() if isinstance(exc, kind)), None)
        return None if status is None else _problem_document(status, exc.code, str(exc), exc, context)
    if isinstance(exc, exceptions.ValidationError):
        by_field = dict(_flatten_errors(exc.detail))
        return _problem_document(400, "invalid", _sentence(by_field), exc, context, errors=by_field)
    if isinstance(exc, exceptions.APIException):
        return _problem_document(exc.status_code, _code(exc), str(exc.detail), exc, context)
    return None


def _record_refusal(exc: Exception, context: Mapping[str, Any]) -> None:
    """Record a refusal raised before a governed write, which records its own. A read that finds nothing is not recorded."""
    request, view = context["request"], context["view"]
    if isinstance(exc, Http404 | exceptions.NotFound) and request.method not in SAFE_METHODS:
        exc = errors.NotVisible(NOT_FOUND)
    if isinstance(request.auth, Actor) and isinstance(exc, errors.GovernanceError):
        rows = getattr(view, "queryset", None)
        row_id = str(view.kwargs.get("pk", ""))
        kind = "" if rows is None else rows.model._meta.label_lower
        record_refusal(exc, request.auth, subject=RefusalSubject(kind, parse_row_id(row_id)))


def _problem_document(
    status: int, code: str, detail: str, exc: Exception, context: Mapping[str, Any], **more: Any
) -> Response:
    members = {
        "type": f"{DOCUMENTATION}#{code}",
        "title": TITLES.get(code, "The request was refused"),
        "status": status,
        "detail": detail,
        "code": code,
        "instance": context["request"].path,
        **_extra_members(exc, context),
        **more,
    }
    return Response(members, status=status, headers=_headers(exc), content_type=CONTENT_TYPE)


def _extra_members(exc: Exception, context: Mapping[str, Any]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name in EXTRA_MEMBERS:
        if hasattr(exc, name):
            value = getattr(exc, name)
            members[name] = list(value) if isinstance(value, tuple) else value
    if isinstance(exc, errors.Invalid):
        members["errors"] = {
            BODY_FIELD if name == NON_FIELD_ERRORS else name: reasons for name, reasons in exc.fields.items()
        }
    if isinstance(exc, exceptions.MethodNotAllowed):
        members["allowed"] = context["view"].allowed_methods
    return members


def _headers(exc: Exception) -> dict[str, str]:
    headers: dict[str, str] = {}
    if challenge := getattr(exc, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(exc, "wait", None):
        headers["Retry-After"] = str(int(wait))
    return headers


def _code(exc: exceptions.APIException) -> str:
    code = str(exc.get_codes())
    return CODE_NAMES.get(code, code)


def _flatten_errors(detail: Any, name: str = "") -> list[tuple[str, list[str]]]:
    """Flatten nested errors to dotted field names; reasons that belong to no field are listed under `body`."""
    if isinstance(detail, Mapping):
        pairs: list[tuple[str, list[str]]] = []
        for key, inner in detail.items():
            part = "" if key == "non_field_errors" else escape_surrogates(str(key))
            pairs += _flatten_errors(inner, ".".join(filter(None, [name, part])))
        return pairs
    reasons = detail if isinstance(detail, list) else [detail]
    return [(name or BODY_FIELD, [escape_surrogates(str(reason)) for reason in reasons])]


def _sentence(by_field: Mapping[str, list[str]]) -> str:
    details = "; ".join(f"{name}: {' '.join(reasons)}" for name, reasons in by_field.items())
    return f"Some values are invalid. {details}"


def escape_surrogates(text: str) -> str:
    """Escape lone surrogates, which cannot be encoded in a response."""
    return text.encode(errors="backslashreplace").decode()
