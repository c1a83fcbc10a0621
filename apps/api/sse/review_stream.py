"""What waits for people, as it comes and goes: ids, kinds, states, versions and counts, never words.

The database says that something happened; what, and who may see it, is read for all readers of a tenant at once.
"""

from collections.abc import AsyncIterator

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt
from rest_framework.exceptions import APIException

from apps.api.sse.hub import hub, seats
from apps.api.sse.shared_polls import READ_ANEW, ReviewRoom, news_behind, waiting
from apps.api.sse.stream_requests import in_thread, place_asked, refused, standing_of, streamed, who_asks
from apps.api.sse.subscriber import Reader, began, event
from apps.governance.actors import Actor
from apps.governance.errors import Invalid
from apps.review.inbox_feed import Mark, newest_mark


# Whoever writes is refused as everywhere in the API, in its words; nothing is written here.
@csrf_exempt
async def review_stream(request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    """`text/event-stream`: `proposal`, `draft`, `escalation` and `counts`, each with an id to go on from, and `resync`."""
    try:
        asked = place_asked(request, Mark.read)
        actor = await in_thread(lambda: who_asks(request))
        seat = seats.take(actor.tenant_id)
    except (APIException, Invalid) as refusal:
        return refused(request, refusal)
    return streamed(_told(Reader(actor, standing_of(request, actor), request, seat), asked))


async def _told(reader: Reader, asked: Mark | None) -> AsyncIterator[bytes]:
    room = hub.enter(ReviewRoom, reader)
    try:
        yield began()
        # Read once this reader is in the room, so that whatever is not in it is told there.
        pieces, mark = await in_thread(lambda: caught_up(reader.actor, asked))
        reader.mark = str(mark)
        reader.begin_behind(mark.position)
        room.look_from(mark)
        for piece in pieces:
            yield piece
        async for piece in reader.pieces():
            yield piece
    finally:
        hub.leave(reader)


def caught_up(actor: Actor, asked: Mark | None) -> tuple[list[bytes], Mark]:
    """What happened behind the place somebody heard last, how much waits now, and up to where that tells everything."""
    if asked is None:
        now = newest_mark(actor.tenant_id)
        return [waiting(actor, now)], now
    news = news_behind(actor.tenant_id, asked, [actor])
    pieces = [event("resync", {"reason": READ_ANEW}, news.mark)] if news.is_gap else []
    pieces += [piece for _, piece in news.told.get(actor, ())]
    return [*pieces, news.waiting.get(actor) or waiting(actor, news.mark)], news.mark
