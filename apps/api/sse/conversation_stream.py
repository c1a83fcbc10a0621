"""A conversation as it goes on: tools, replies and turns from the database, and an answer while it is said from the broker.

No transaction is open between two looks, and a reader who is slow holds up nobody: each has a place and a queue of its own.
"""

from collections.abc import AsyncIterator

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt
from rest_framework.exceptions import APIException

from apps.api.sse.hub import hub, stream_slots
from apps.api.sse.shared_polls import ConversationRoom
from apps.api.sse.stream_requests import (
    authenticate_stream,
    event_stream_response,
    held_credential,
    in_thread,
    problem_json_response,
    resume_position,
)
from apps.api.sse.subscriber import Subscriber, format_retry
from apps.governance.errors import Invalid, NotVisible
from apps.runtime.streaming.conversation_feed import ConversationFeedCursor, current_cursor
from apps.runtime.streaming.reply_pubsub import announce_listener


# Whoever writes is refused as everywhere in the API, in its words; nothing is written here.
@csrf_exempt
async def conversation_stream(request: HttpRequest, pk: str) -> HttpResponse | StreamingHttpResponse:
    """`text/event-stream`: `tool`, `reply` and `turn`, each with an id to go on from, and `text` while an answer is said."""
    conversation_id = int(pk)
    try:
        asked = resume_position(request, ConversationFeedCursor.read)
        actor = await in_thread(lambda: authenticate_stream(request))
        standing = await in_thread(lambda: current_cursor(conversation_id, actor=actor))
        await in_thread(lambda: announce_listener(conversation_id))
        slot = stream_slots.take(actor.tenant_id)
    except (APIException, Invalid, NotVisible) as refusal:
        return problem_json_response(request, refusal)
    reader = Subscriber(actor, held_credential(request, actor), request, slot)
    return event_stream_response(_stream_events(reader, conversation_id, asked or standing))


async def _stream_events(
    reader: Subscriber, conversation_id: int, place: ConversationFeedCursor
) -> AsyncIterator[bytes]:
    hub.enter(ConversationRoom, reader).follow(reader, conversation_id, place)
    hub.follow(conversation_id)
    try:
        yield format_retry()
        async for piece in reader.pieces():
            yield piece
    finally:
        hub.leave(reader, conversation_id)
