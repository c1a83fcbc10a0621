"""A conversation as it goes on: tools, replies and turns from the database, and an answer while it is said from the broker.

No transaction is open between two looks, and a reader who is slow holds up nobody: each has a place and a queue of its own.
"""

from collections.abc import AsyncIterator

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt
from rest_framework.exceptions import APIException

from apps.api.sse.hub import hub, seats
from apps.api.sse.shared_polls import ThreadsRoom
from apps.api.sse.stream_requests import in_thread, place_asked, refused, standing_of, streamed, who_asks
from apps.api.sse.subscriber import Reader, began
from apps.governance.errors import Invalid, NotVisible
from apps.runtime.streaming.conversation_feed import Place, place_of
from apps.runtime.streaming.reply_pubsub import announce


# Whoever writes is refused as everywhere in the API, in its words; nothing is written here.
@csrf_exempt
async def stream(request: HttpRequest, pk: str) -> HttpResponse | StreamingHttpResponse:
    """`text/event-stream`: `tool`, `reply` and `turn`, each with an id to go on from, and `text` while an answer is said."""
    conversation_id = int(pk)
    try:
        asked = place_asked(request, Place.read)
        actor = await in_thread(lambda: who_asks(request))
        standing = await in_thread(lambda: place_of(conversation_id, actor=actor))
        await in_thread(lambda: announce(conversation_id))
        seat = seats.take(actor.tenant_id)
    except (APIException, Invalid, NotVisible) as refusal:
        return refused(request, refusal)
    reader = Reader(actor, standing_of(request, actor), request, seat)
    return streamed(_told(reader, conversation_id, asked or standing))


async def _told(reader: Reader, conversation_id: int, place: Place) -> AsyncIterator[bytes]:
    hub.enter(ThreadsRoom, reader).follow(reader, conversation_id, place)
    hub.follow(conversation_id)
    try:
        yield began()
        async for piece in reader.pieces():
            yield piece
    finally:
        hub.leave(reader, conversation_id)
