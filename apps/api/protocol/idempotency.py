"""Writes that come with a key: whatever is sent twice under it is done once, and answered alike.

The key is claimed in the write's own transaction: a second request waits there until the first has ended, then reads its answer;
what was refused leaves no key behind. A write of several transactions claims it in one of its own before them, and whoever comes
meanwhile is told so.
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
from apps.governance.database.actor_transaction import acting
from apps.tenants.authentication.actor_resolution import system_actor

KEY_HEADER: Final = "Idempotency-Key"
REPLAYED_HEADER: Final = "Idempotent-Replayed"
# A process that died left its claim unanswered; nobody has waited for a request for so long.
LOST_SECONDS: Final = 900
_CLAIM: Final = """
INSERT INTO api_idempotencyrecord AS kept (tenant_id, caller, key, request_sha256, expires_at)
VALUES (%(tenant)s, %(caller)s, %(key)s, %(sha256)s, statement_timestamp() + interval '1 hour' * %(hours)s)
ON CONFLICT (tenant_id, caller, key) DO UPDATE
   SET request_sha256 = excluded.request_sha256, status = 0, body = '', location = '', row_id = NULL,
       claimed_at = statement_timestamp(), expires_at = excluded.expires_at
 WHERE kept.expires_at <= statement_timestamp()
    OR kept.status = 0 AND kept.claimed_at <= statement_timestamp() - interval '1 second' * %(lost)s
RETURNING kept.id
"""
_KEEP: Final = "UPDATE api_idempotencyrecord SET status = %s, body = %s, row_id = %s, location = %s WHERE id = %s"
_RELEASE: Final = "DELETE FROM api_idempotencyrecord WHERE id = %s"
_FORGET: Final = "DELETE FROM api_idempotencyrecord WHERE tenant_id = %s AND expires_at <= statement_timestamp()"

Answer = Callable[[], Response]


class Answering(Protocol):
    """A view, as far as keys are concerned."""

    keeps_words: ClassVar[bool]

    @property
    def actor(self) -> Actor:
        """Who asks."""

    def shown_again(self, kept: IdempotencyRecord) -> Response:
        """What was answered, read anew."""


@dataclass(frozen=True, slots=True)
class Keyed:
    """A request with a key: whose it is, and what it asks for."""

    actor: Actor
    key: str
    sha256: str

    @property
    def caller(self) -> str:
        """Another token of the same agent is the same caller."""
        who = self.actor
        return f"agent:{who.agent_id}" if who.agent_id is not None else f"member:{who.user_id}"


def once(view: Answering, request: Request, answer: Answer) -> Response:
    """Answer a request in whose transaction this is called; under a key that was used, as the first time."""
    keyed = _keyed(view, request)
    if keyed is None:
        return answer()
    claim = _claimed(keyed)
    return _again(view, keyed) if claim is None else _kept(view, claim, answer())


def once_apart(view: Answering, request: Request, answer: Answer) -> Response:
    """The same of a write that has several transactions of its own."""
    keyed = _keyed(view, request)
    if keyed is None:
        return answer()
    with acting(keyed.actor):
        claim = _claimed(keyed)
        if claim is None:
            return _again(view, keyed)
    try:
        response = answer()
    except BaseException:
        with acting(keyed.actor):
            _execute(_RELEASE, [claim])
        raise
    with acting(keyed.actor):
        return _kept(view, claim, response)


def forget_old(tenant_id: int) -> None:
    """Forget what a tenant's answers were kept for long enough."""
    with acting(system_actor(tenant_id)):
        _execute(_FORGET, [tenant_id])


def _keyed(view: Answering, request: Request) -> Keyed | None:
    key = request.headers.get(KEY_HEADER)
    if key is None or request.method in SAFE_METHODS:
        return None
    if not 0 < len(key) <= KEY_CHARACTERS or not key.isascii() or not key.isprintable():
        raise ValidationError({KEY_HEADER: [f"A key has 1 to {KEY_CHARACTERS} visible ASCII characters; send a UUID."]})
    return Keyed(view.actor, key, _sha256(request))


def _sha256(request: Request) -> str:
    data = request.data
    sent = dict(data.lists()) if isinstance(data, QueryDict) else data
    asked = [request.method, request.path.rstrip("/"), request.META.get("QUERY_STRING", ""), sent]
    try:
        said = json.dumps(asked, sort_keys=True, default=_file_sha256)
    except RecursionError as deep:
        raise ParseError("The body is nested too deeply.") from deep
    # Keyed: a short text could be guessed from a plain hash, and what was off the record is forgotten.
    return salted_hmac("apps.api.kept_answers", said, algorithm="sha256").hexdigest()


def _file_sha256(file: "UploadedFile[bytes]") -> str:
    digest = hashlib.sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    file.seek(0)
    return f"{file.name} {digest.hexdigest()}"


def _claimed(keyed: Keyed) -> int | None:
    bounds = {"hours": settings.IDEMPOTENCY_KEPT_HOURS, "lost": LOST_SECONDS}
    claim: dict[str, Any] = {"key": keyed.key, "sha256": keyed.sha256, **bounds}  # Any: values of a statement
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, {"tenant": keyed.actor.tenant_id, "caller": keyed.caller, **claim})
        row = cursor.fetchone()
    return int(row[0]) if row else None


def _kept(view: Answering, claim: int, response: Response) -> Response:
    if response.status_code >= 400:
        _execute(_RELEASE, [claim])
        return response
    data, keeps = response.data, view.keeps_words and response.data is not None
    body = JSONRenderer().render(data).decode() if keeps else ""
    row_id = data.get("id") if isinstance(data, dict) else None
    _execute(_KEEP, [response.status_code, body, row_id, response.headers.get("Location", ""), claim])
    return response


def _again(view: Answering, keyed: Keyed) -> Response:
    kept = IdempotencyRecord.objects.get(tenant_id=keyed.actor.tenant_id, caller=keyed.caller, key=keyed.key)
    if kept.request_sha256 != keyed.sha256:
        raise KeyReused("This key came with another request before. Send a fresh key with each request.")
    if kept.status == 0:
        raise KeyInFlight("The request of this key is being answered. Send it again in a moment.")
    response = _shown(view, kept)
    response.headers[REPLAYED_HEADER] = "true"
    if kept.location:
        response.headers["Location"] = kept.location
    return response


def _shown(view: Answering, kept: IdempotencyRecord) -> Response:
    if kept.body or kept.status == 204:
        return Response(json.loads(kept.body) if kept.body else None, status=kept.status)
    return view.shown_again(kept)


def _execute(statement: str, params: list[Any]) -> None:  # Any: values of a statement
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
