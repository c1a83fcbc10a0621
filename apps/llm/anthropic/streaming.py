from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from apps.llm.anthropic.refusals import TYPED_ERRORS
from apps.llm.anthropic.translation import MISFITS, NOT_A_MESSAGE, is_from_stand_in, reply_of
from apps.llm.backend import ConnectionLost, MalformedReply

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.lib.streaming import AsyncMessageStream, ParsedMessageStreamEvent

    from apps.llm.backend import Listener, Reply


# Any: see `arguments_of`.
async def streamed(client: AsyncAnthropic, arguments: dict[str, Any], listener: Listener | None) -> Reply:
    """The whole answer of a stream. What the listener raises is its caller's, and hangs up."""
    async with AsyncExitStack() as connection:
        with TYPED_ERRORS:
            stream = await connection.enter_async_context(client.messages.stream(**arguments))
        while (event := await _next_event(stream)) is not None:
            if event.type == "text" and listener is not None:
                listener(event.text)
            if event.type == "message_stop":
                # Without a beginning the end carries no message.
                message = getattr(event, "message", None)
                return reply_of(message, is_stand_in=is_from_stand_in(stream.response.headers))
        sentence = "The model's answer broke off before its end."
        raise ConnectionLost(sentence)


async def _next_event(stream: AsyncMessageStream[None]) -> ParsedMessageStreamEvent[None] | None:
    try:
        with TYPED_ERRORS:
            return await anext(stream)
    except StopAsyncIteration:
        return None
    except MISFITS as error:
        raise MalformedReply(NOT_A_MESSAGE) from error
