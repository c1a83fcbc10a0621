"""The stream of a conversation: tools, replies and turns from the database, and unfinished reply text from the broker.

No transaction is open between two polls. A slow reader does not delay others, because each has its own position and queue.
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


# Other methods are refused with the API's usual problem document, because a stream is read-only.
@csrf_exempt
async def conversation_stream(request: HttpRequest, pk: str) -> HttpResponse | StreamingHttpResponse:
    """Stream `tool`, `reply` and `turn` events, each with an id to resume from, and `text` while a reply is being written."""
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
