"""Idempotency keys: a write that is sent twice with one key is executed once, and both requests get the same response.

The key is claimed in the write's own transaction: a second request waits until the first one ends and then reads its response;
a refused write releases the key. A write that uses several transactions claims the key in an earlier, separate transaction; a
second request is refused until that write has ended.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Protocol

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import connection
from django.http import QueryDict
from django.utils.crypto import salted_hmac
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.permissions import SAFE_METHODS
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.models import KEY_CHARACTERS, IdempotencyRecord
from apps.api.protocol.exceptions import KeyInFlight, KeyReused
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.database.sql_files import load_query
from apps.tenants.authentication.actor_resolution import system_actor

KEY_HEADER: Final = "Idempotency-Key"
REPLAYED_HEADER: Final = "Idempotent-Replayed"
# A process that died left its claim without a response. No client waits this long for a request.
ABANDONED_SECONDS: Final = 900
_CLAIM_KEY: Final = load_query("apps/api/protocol/queries/claim_key.sql")
_STORE_SQL: Final = "UPDATE api_idempotencyrecord SET status = %s, body = %s, row_id = %s, location = %s WHERE id = %s"
_RELEASE_SQL: Final = "DELETE FROM api_idempotencyrecord WHERE id = %s"
_DELETE_EXPIRED_SQL: Final = (
    "DELETE FROM api_idempotencyrecord WHERE tenant_id = %s AND expires_at <= statement_timestamp()"
)

AnswerCallable = Callable[[], Response]


class IdempotentView(Protocol):
    """The attributes that a view needs for idempotency."""

    keeps_words: ClassVar[bool]

    @property
    def actor(self) -> Actor:
        """Return the actor of the request."""

    def shown_again(self, kept: IdempotencyRecord) -> Response:
        """Answer a repeated write whose response body was not stored."""


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """A request with an idempotency key: its caller, the key, and the hash of the request."""

    actor: Actor
    key: str
    sha256: str

    @property
    def caller(self) -> str:
        """Return the name of the caller; all tokens of one agent are the same caller."""
        who = self.actor
        return f"agent:{who.agent_id}" if who.agent_id is not None else f"member:{who.user_id}"


def answer_once(view: IdempotentView, request: Request, answer: AnswerCallable) -> Response:
    """Answer a request within its transaction; if its key was used before, return the first response."""
    keyed = _read_key(view, request)
    if keyed is None:
        return answer()
    claim = _claim_key(keyed)
    return _replay_response(view, keyed) if claim is None else _store_response(view, claim, answer())


def answer_once_own_transactions(view: IdempotentView, request: Request, answer: AnswerCallable) -> Response:
    """Answer a write that opens several transactions itself, with the same guarantee as `answer_once`."""
    keyed = _read_key(view, request)
    if keyed is None:
        return answer()
    with acting_as(keyed.actor):
        claim = _claim_key(keyed)
        if claim is None:
            return _replay_response(view, keyed)
    try:
        response = answer()
    except BaseException:
        with acting_as(keyed.actor):
            _execute(_RELEASE_SQL, [claim])
        raise
    with acting_as(keyed.actor):
        return _store_response(view, claim, response)


def delete_expired(tenant_id: int) -> None:
    """Delete the expired responses of a tenant."""
    with acting_as(system_actor(tenant_id)):
        _execute(_DELETE_EXPIRED_SQL, [tenant_id])


def _read_key(view: IdempotentView, request: Request) -> IdempotentRequest | None:
    key = request.headers.get(KEY_HEADER)
    if key is None or request.method in SAFE_METHODS:
        return None
    if not 0 < len(key) <= KEY_CHARACTERS or not key.isascii() or not key.isprintable():
        raise ValidationError({KEY_HEADER: [f"A key has 1 to {KEY_CHARACTERS} visible ASCII characters. Send a UUID."]})
    return IdempotentRequest(view.actor, key, _request_hash(request))


def _request_hash(request: Request) -> str:
    data = request.data
    sent = dict(data.lists()) if isinstance(data, QueryDict) else data
    asked = [request.method, request.path.rstrip("/"), request.META.get("QUERY_STRING", ""), sent]
    try:
        request_json = json.dumps(asked, sort_keys=True, default=_file_hash)
    except RecursionError as deep:
        raise ParseError("The body is nested too deeply.") from deep
    # Keyed, because a short text could be guessed from a plain hash, and off-the-record text must stay erased.
    return salted_hmac("apps.api.kept_answers", request_json, algorithm="sha256").hexdigest()


def _file_hash(file: "UploadedFile[bytes]") -> str:
    digest = hashlib.sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    file.seek(0)
    return f"{file.name} {digest.hexdigest()}"


def _claim_key(keyed: IdempotentRequest) -> int | None:
    bounds = {"hours": settings.IDEMPOTENCY_KEPT_HOURS, "lost": ABANDONED_SECONDS}
    claim: dict[str, Any] = {"key": keyed.key, "sha256": keyed.sha256, **bounds}  # Any: parameters of a statement
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM_KEY, {"tenant": keyed.actor.tenant_id, "caller": keyed.caller, **claim})
        row = cursor.fetchone()
    return int(row[0]) if row else None


def _store_response(view: IdempotentView, claim: int, response: Response) -> Response:
    if response.status_code >= 400:
        _execute(_RELEASE_SQL, [claim])
        return response
    data, keeps = response.data, view.keeps_words and response.data is not None
    body = JSONRenderer().render(data).decode() if keeps else ""
    row_id = data.get("id") if isinstance(data, dict) else None
    _execute(_STORE_SQL, [response.status_code, body, row_id, response.headers.get("Location", ""), claim])
    return response


def _replay_response(view: IdempotentView, keyed: IdempotentRequest) -> Response:
    kept = IdempotencyRecord.objects.get(tenant_id=keyed.actor.tenant_id, caller=keyed.caller, key=keyed.key)
    if kept.request_sha256 != keyed.sha256:
        raise KeyReused("This key was used for another request before. Send a new key with each request.")
    if kept.status == 0:
        raise KeyInFlight("The first request under this key is still being answered. Send it again in a moment.")
    response = _stored_response(view, kept)
    response.headers[REPLAYED_HEADER] = "true"
    if kept.location:
        response.headers["Location"] = kept.location
    return response


def _stored_response(view: IdempotentView, kept: IdempotencyRecord) -> Response:
    if kept.body or kept.status == 204:
        return Response(json.loads(kept.body) if kept.body else None, status=kept.status)
    return view.shown_again(kept)


def _execute(statement: str, params: list[Any]) -> None:  # Any: parameters of a statement
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
