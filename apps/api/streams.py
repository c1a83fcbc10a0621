"""A conversation as it goes on: tools, replies and turns from the database, and an answer while it is said from the broker.

No transaction is open between two looks, and a reader who is slow holds up nobody: each stream waits for itself alone.
"""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final, TypeVar

import redis.asyncio
from asgiref.sync import sync_to_async
from django.contrib.auth import get_user
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt
from redis import RedisError
from rest_framework.exceptions import APIException, MethodNotAllowed
from rest_framework.request import Request

from apps.api.authentication import ActorAuthentication
from apps.api.problems import CONTENT_TYPE, problem_response
from apps.api.seats import Seat, Seats
from apps.governance.actors import Actor
from apps.governance.errors import Invalid, NotVisible
from apps.runtime.airing import HOLDS_SECONDS, PATIENCE_SECONDS, announce, client_url, said_in
from apps.runtime.following import Heard, Place, place_of, since

logger = logging.getLogger(__name__)

LOOK_SECONDS: Final = 0.5
# Where nothing happens, looks grow rare: each time by so much, until they are so far apart. What is heard brings them together.
LESS_OFTEN: Final = 1.5
RAREST_LOOK_SECONDS: Final = 3.0
# Proxies close what says nothing; whoever is cut off comes again and goes on where it was.
STILL_HERE_SECONDS: Final = 15.0
LONGEST_SECONDS: Final = 600.0
# Whoever loses their token or their place in the tenant hears no more after that; and workers are told again who listens.
ONCE_MORE_SECONDS: Final = HOLDS_SECONDS / 3
LAST_HEARD: Final = "Last-Event-ID"

Result = TypeVar("Result")

seats = Seats()


class Unasked:
    """What a refusal has to know of the view it came from."""

    queryset = None
    allowed_methods = ("GET",)
    kwargs: Final[dict[str, str]] = {}


# Whoever writes is refused as everywhere in the API, in its words; nothing is written here.
@csrf_exempt
async def stream(request: HttpRequest, pk: str) -> HttpResponse | StreamingHttpResponse:
    """`text/event-stream`: `tool`, `reply` and `turn`, each with an id to go on from, and `text` while an answer is said."""
    conversation_id = int(pk)
    try:
        asked = _asked(request)
        actor = await _in_thread(lambda: _actor(request))
        standing = await _in_thread(lambda: place_of(conversation_id, actor=actor))
        await _in_thread(lambda: announce(conversation_id))
        seat = seats.take(actor.tenant_id)
    except (APIException, Invalid, NotVisible) as refusal:
        return _refused(request, refusal)
    told = _told(conversation_id, asked or standing, actor, request, seat)
    response = StreamingHttpResponse(told, content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    # Otherwise a proxy would keep the words until there are enough of them.
    response["X-Accel-Buffering"] = "no"
    return response


async def _told(
    conversation_id: int, place: Place, actor: Actor, request: HttpRequest, seat: Seat
) -> AsyncIterator[bytes]:
    began = spoke = announced = time.monotonic()
    air, pause = Listening(conversation_id), LOOK_SECONDS
    yield b"retry: 1000\n\n"
    try:
        while time.monotonic() - began < LONGEST_SECONDS:
            for heard in await _in_thread(lambda: since(conversation_id, place, actor=actor)):  # noqa: B023  # awaited here
                place, spoke, pause = heard.place, time.monotonic(), LOOK_SECONDS
                yield _event(heard)
            async for piece in air.within(pause):
                spoke, pause = time.monotonic(), LOOK_SECONDS
                yield _lines("text", piece)
            pause = pause_behind(pause)
            if time.monotonic() - spoke > STILL_HERE_SECONDS:
                spoke = time.monotonic()
                yield b": still here\n\n"
            if time.monotonic() - announced > ONCE_MORE_SECONDS:
                announced = time.monotonic()
                actor = await _in_thread(lambda: _actor(request))
                await _in_thread(lambda: announce(conversation_id))
    except (APIException, NotVisible):
        # It was theirs to see when they came, and is no more.
        return
    finally:
        seats.leave(seat)
        await air.aclose()


def pause_behind(pause: float) -> float:
    """How long to wait behind a look that found nothing."""
    return min(pause * LESS_OFTEN, RAREST_LOOK_SECONDS)


class Listening:
    """The broker's channel of one conversation. Where the broker is away nothing is heard, and the time passes all the same."""

    def __init__(self, conversation_id: int) -> None:
        self._channel = said_in(conversation_id)
        self._client = redis.asyncio.Redis.from_url(
            client_url(), socket_connect_timeout=PATIENCE_SECONDS, decode_responses=True
        )
        self._subscribed = self._client.pubsub(ignore_subscribe_messages=True)

    async def within(self, seconds: float) -> AsyncIterator[dict[str, object]]:
        """What is said in the next so many seconds, the pieces of an answer as they come; behind the first no longer than usual."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            try:
                if not self._subscribed.subscribed:
                    await self._subscribed.subscribe(self._channel)
                message = await self._subscribed.get_message(timeout=left)
            except (RedisError, OSError) as error:
                logger.warning("nothing is heard while it is said", extra={"error": type(error).__name__})
                await asyncio.sleep(left)
                return
            if message is not None:
                until = min(until, time.monotonic() + LOOK_SECONDS)
                yield json.loads(message["data"])

    async def aclose(self) -> None:
        """Let go of the broker."""
        await self._subscribed.aclose()  # type: ignore[no-untyped-call]  # redis-py leaves it out
        await self._client.aclose()


def _asked(request: HttpRequest) -> Place | None:
    """Where whoever asks wants to go on; None where they begin with what comes next."""
    if request.method != "GET":
        raise MethodNotAllowed(str(request.method))
    said = request.headers.get(LAST_HEARD, "")
    place = Place.read(said)
    if said and place is None:
        reason = "Send the id of the last event as it came, or none."
        raise Invalid(f"{LAST_HEARD} is not the id of an event. {reason}", {LAST_HEARD: [reason]})
    return place


def _actor(request: HttpRequest) -> Actor:
    """Who asks, by what stands now: a session that was ended since is none."""
    request.session = type(request.session)(request.session.session_key)
    request.user = get_user(request)
    found = ActorAuthentication().authenticate(Request(request))
    if found is None:
        raise _NobodyAsks
    return found[1]


class _NobodyAsks(APIException):
    """Neither a token nor a session."""

    status_code = 401
    default_code = "not_authenticated"
    default_detail = "Nobody is signed in. Send a token as: Authorization: Bearer pcp_..."


def _refused(request: HttpRequest, refusal: Exception) -> HttpResponse:
    answer = problem_response(refusal, {"request": Request(request), "view": Unasked()})
    if answer is None:
        raise refusal
    headers = {name: value for name, value in answer.items() if name != "Content-Type"} | {"Allow": "GET"}
    return JsonResponse(answer.data, status=answer.status_code, content_type=CONTENT_TYPE, headers=headers)


async def _in_thread(call: Callable[[], Result]) -> Result:
    """Something with the database or the broker, in a thread of its own that keeps no connection."""

    def run() -> Result:
        try:
            return call()
        finally:
            connection.close()

    return await sync_to_async(run, thread_sensitive=False)()


def _event(heard: Heard) -> bytes:
    return f"id: {heard.place}\n".encode() + _lines(heard.event, heard.told)


def _lines(event: str, told: Mapping[str, object]) -> bytes:
    return f"event: {event}\ndata: {json.dumps(told, ensure_ascii=False)}\n\n".encode()
