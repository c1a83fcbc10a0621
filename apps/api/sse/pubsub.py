"""Unfinished reply text: one broker connection for all streams of a process.

While the broker is unavailable this text is missing, and finished replies still come from the database.
"""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable
from typing import Final

import redis.asyncio
from redis import RedisError

from apps.api.sse.subscriber import format_event
from apps.runtime.streaming.reply_pubsub import (
    BROKER_TIMEOUT_SECONDS,
    LISTENERS_CHANNEL,
    LISTENING_SECONDS,
    RECONNECT_SECONDS,
    client_url,
    conversation_of_channel,
    reply_channel,
)

logger = logging.getLogger(__name__)

# The maximum seconds until a new reader's conversation is subscribed to.
POLL_SECONDS: Final = 0.25


class ConversationPubSub:
    """Subscriptions to conversations. Each piece of text is passed to `said`."""

    def __init__(self, on_piece: Callable[[int, bytes], None]) -> None:
        self._said = on_piece
        self._followed: Counter[int] = Counter()

    def follow(self, conversation_id: int) -> None:
        """Add one listener of a conversation."""
        self._followed[conversation_id] += 1

    def leave(self, conversation_id: int) -> None:
        """Remove one listener of a conversation."""
        self._followed[conversation_id] -= 1
        self._followed += Counter()

    def forget(self) -> None:
        """Remove all listeners."""
        self._followed.clear()

    async def run(self) -> None:
        """Receive messages, and reconnect after the broker was unavailable."""
        while True:
            if not self._followed:
                await asyncio.sleep(POLL_SECONDS)
                continue
            try:
                await self._listen()
            except (RedisError, OSError) as error:
                logger.warning("reply text subscription lost", extra={"error": type(error).__name__})
                await asyncio.sleep(RECONNECT_SECONDS)

    async def _listen(self) -> None:
        client = redis.asyncio.Redis.from_url(
            client_url(),
            socket_connect_timeout=BROKER_TIMEOUT_SECONDS,
            # It limits commands. `get_message` has a limit of its own.
            socket_timeout=BROKER_TIMEOUT_SECONDS,
            decode_responses=True,
        )
        async with client, client.pubsub(ignore_subscribe_messages=True) as pubsub:
            heard: set[int] = set()
            loop = asyncio.get_running_loop()
            announced = loop.time()
            while self._followed:
                heard = await self._sync_subscriptions(pubsub, heard)
                if (message := await pubsub.get_message(timeout=POLL_SECONDS)) is not None:
                    self._said(
                        conversation_of_channel(str(message["channel"])),
                        format_event("text", json.loads(message["data"])),
                    )
                if loop.time() - announced > LISTENING_SECONDS / 3:
                    announced = loop.time()
                    await _announce_listeners(client, heard)

    async def _sync_subscriptions(self, pubsub: "redis.asyncio.client.PubSub", heard: set[int]) -> set[int]:
        followed = set(self._followed)
        if new := followed - heard:
            await pubsub.subscribe(*map(reply_channel, new))
        if gone := heard - followed:
            await pubsub.unsubscribe(*map(reply_channel, gone))
        return followed


async def _announce_listeners(client: "redis.asyncio.Redis", followed: set[int]) -> None:
    """Tell the workers again which conversations have listeners."""
    pipeline = client.pipeline(transaction=False)
    for conversation_id in followed:
        pipeline.publish(LISTENERS_CHANNEL, str(conversation_id))
    await pipeline.execute()
