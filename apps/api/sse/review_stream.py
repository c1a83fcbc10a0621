"""The stream of pending reviews: ids, kinds, states, versions and counts, never texts.

A database notification says only that something changed. One query then reads the changes for all readers of a tenant.
"""

from collections.abc import AsyncIterator

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt
from rest_framework.exceptions import APIException

from apps.api.sse.hub import hub, stream_slots
from apps.api.sse.shared_polls import RESYNC_REASON, ReviewRoom, counts_event, review_updates_since
from apps.api.sse.stream_requests import (
    authenticate_stream,
    event_stream_response,
    held_credential,
    in_thread,
    problem_json_response,
    resume_position,
)
from apps.api.sse.subscriber import Subscriber, format_event, format_retry
from apps.governance.actors import Actor
from apps.governance.errors import Invalid
from apps.review.inbox_feed import InboxFeedCursor, newest_cursor


# Other methods are refused with the API's usual problem document, because a stream is read-only.
@csrf_exempt
async def review_stream(request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    """Stream `proposal`, `draft`, `escalation` and `counts` events, each with an id to resume from, and `resync`."""
    try:
        asked = resume_position(request, InboxFeedCursor.read)
        actor = await in_thread(lambda: authenticate_stream(request))
        slot = stream_slots.take(actor.tenant_id)
    except (APIException, Invalid) as refusal:
        return problem_json_response(request, refusal)
    return event_stream_response(
        _stream_events(Subscriber(actor, held_credential(request, actor), request, slot), asked)
    )


async def _stream_events(reader: Subscriber, asked: InboxFeedCursor | None) -> AsyncIterator[bytes]:
    shared_poll = hub.enter(ReviewRoom, reader)
    try:
        yield format_retry()
        # Read after the reader has joined the shared poll, which delivers all later changes.
        pieces, mark = await in_thread(lambda: catch_up(reader.actor, asked))
        reader.mark = str(mark)
        reader.begin_behind(mark.position)
        shared_poll.look_from(mark)
        for piece in pieces:
            yield piece
        async for piece in reader.pieces():
            yield piece
    finally:
        hub.leave(reader)


def catch_up(actor: Actor, asked: InboxFeedCursor | None) -> tuple[list[bytes], InboxFeedCursor]:
    """Return the events after the reader's position, the current counts, and the new position."""
    if asked is None:
        now = newest_cursor(actor.tenant_id)
        return [counts_event(actor, now)], now
    news = review_updates_since(actor.tenant_id, asked, [actor])
    pieces = [format_event("resync", {"reason": RESYNC_REASON}, news.mark)] if news.is_gap else []
    pieces += [piece for _, piece in news.told.get(actor, ())]
    return [*pieces, news.waiting.get(actor) or counts_event(actor, news.mark)], news.mark
