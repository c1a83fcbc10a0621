"""Authentication of streams. REST framework cannot wait without blocking a thread, so its parts are called individually."""

from collections.abc import AsyncIterator, Callable
from hashlib import sha256
from typing import Final, TypeVar

from asgiref.sync import sync_to_async
from django.contrib.auth import get_user
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from rest_framework.authentication import get_authorization_header
from rest_framework.exceptions import APIException, MethodNotAllowed
from rest_framework.request import Request

from apps.api.protocol.authentication import TENANT_HEADER, ActorAuthentication
from apps.api.protocol.problem_details import CONTENT_TYPE, problem_response
from apps.governance.actors import Actor
from apps.governance.errors import Invalid
from apps.tenants.authentication.actor_resolution import token_digest
from apps.tenants.authentication.credential_recheck import HeldCredential

LAST_EVENT_HEADER: Final = "Last-Event-ID"

Result = TypeVar("Result")
Place = TypeVar("Place")


class StreamViewStub:
    """The attributes of a view that the handling of a refusal needs."""

    queryset = None
    allowed_methods = ("GET",)
    kwargs: Final[dict[str, str]] = {}


class NotSignedIn(APIException):
    """The request has neither a token nor a session."""

    status_code = 401
    default_code = "not_authenticated"
    default_detail = "You are not signed in. Send a token as: Authorization: Bearer pcp_..."


def resume_position(request: HttpRequest, read: Callable[[str], Place | None]) -> Place | None:
    """Return the position to resume from; None to begin with the next event."""
    if request.method != "GET":
        raise MethodNotAllowed(str(request.method))
    event_id = request.headers.get(LAST_EVENT_HEADER, "")
    place = read(event_id) if event_id else None
    if event_id and place is None:
        reason = "Send the id of the last event exactly as you received it, or leave the header out."
        raise Invalid(f"{LAST_EVENT_HEADER} is not the id of an event. {reason}", {LAST_EVENT_HEADER: [reason]})
    return place


def authenticate_stream(request: HttpRequest) -> Actor:
    """Return the actor of a request, from the current state of its token or session."""
    request.session = type(request.session)(request.session.session_key)
    request.user = get_user(request)
    found = ActorAuthentication().authenticate(Request(request))
    if found is None:
        raise NotSignedIn
    return found[1]


def held_credential(request: HttpRequest, actor: Actor) -> HeldCredential:
    """Return the credential of an actor, for repeated checks while the stream is open."""
    header = get_authorization_header(Request(request)).split()
    if header:
        digest = token_digest(header[1].decode(errors="replace"))
        return HeldCredential(actor.tenant_id, actor.role.value, token_sha256=digest)
    return HeldCredential(
        actor.tenant_id, actor.role.value, session_key=request.session.session_key or "", user_id=actor.user_id
    )


def credential_hash(request: HttpRequest) -> str:
    """Return a hash that is equal for streams of the same token, or of the same session and tenant."""
    names = (
        request.headers.get("Authorization", ""),
        request.session.session_key,
        request.headers.get(TENANT_HEADER, ""),
    )
    return sha256(repr(names).encode()).hexdigest()


def event_stream_response(pieces: AsyncIterator[bytes]) -> StreamingHttpResponse:
    """Build the response of a stream that stays open for minutes."""
    response = StreamingHttpResponse(pieces, content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    # Without this header, a proxy would buffer the events.
    response["X-Accel-Buffering"] = "no"
    return response


def problem_json_response(request: HttpRequest, refusal: Exception) -> HttpResponse:
    """Return a refusal as the API's problem document."""
    answer = problem_response(refusal, {"request": Request(request), "view": StreamViewStub()})
    if answer is None:
        raise refusal
    headers = {name: value for name, value in answer.items() if name != "Content-Type"} | {"Allow": "GET"}
    return JsonResponse(answer.data, status=answer.status_code, content_type=CONTENT_TYPE, headers=headers)


async def in_thread(call: Callable[[], Result]) -> Result:
    """Run a query or a broker call in a separate thread, which keeps no connection afterwards."""

    def run() -> Result:
        try:
            return call()
        finally:
            connection.close()

    return await sync_to_async(run, thread_sensitive=False)()
