"""What waits for people, as it comes and goes: ids, kinds, states, versions and counts, never words.

The database says that something happened; what, and who may see it, is read for all readers of a tenant at once.
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


# Whoever writes is refused as everywhere in the API, in its words; nothing is written here.
@csrf_exempt
async def review_stream(request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    """`text/event-stream`: `proposal`, `draft`, `escalation` and `counts`, each with an id to go on from, and `resync`."""
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
        # Read once this reader is in the room, so that whatever is not in it is told there.
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
    """What happened behind the place somebody heard last, how much waits now, and up to where that tells everything."""
    if asked is None:
        now = newest_cursor(actor.tenant_id)
        return [counts_event(actor, now)], now
    news = review_updates_since(actor.tenant_id, asked, [actor])
    pieces = [format_event("resync", {"reason": RESYNC_REASON}, news.mark)] if news.is_gap else []
    pieces += [piece for _, piece in news.told.get(actor, ())]
    return [*pieces, news.waiting.get(actor) or counts_event(actor, news.mark)], news.mark
