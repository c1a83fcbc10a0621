"""What is said in conversations while it is said: one connection to the broker for all who listen in a process.

Where the broker is away nothing is heard, and the replies come from the database all the same.
"""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable
from typing import Final

import redis.asyncio
from redis import RedisError

from apps.api.sse.subscriber import event
from apps.runtime.streaming.reply_pubsub import (
    AGAIN_SECONDS,
    HEARD,
    HOLDS_SECONDS,
    PATIENCE_SECONDS,
    client_url,
    conversation_of,
    said_in,
)

logger = logging.getLogger(__name__)

# How soon somebody who has just come is listened for.
TURN_SECONDS: Final = 0.25


class Ether:
    """The conversations that somebody listens to; each piece that is heard goes to `said`."""

    def __init__(self, said: Callable[[int, bytes], None]) -> None:
        self._said = said
        self._followed: Counter[int] = Counter()

    def follow(self, conversation_id: int) -> None:
        """One more listens."""
        self._followed[conversation_id] += 1

    def leave(self, conversation_id: int) -> None:
        """One less."""
        self._followed[conversation_id] -= 1
        self._followed += Counter()

    def forget(self) -> None:
        """Nobody listens to anything."""
        self._followed.clear()

    async def run(self) -> None:
        """Listen, and listen again where the broker was away."""
        while True:
            if not self._followed:
                await asyncio.sleep(TURN_SECONDS)
                continue
            try:
                await self._listen()
            except (RedisError, OSError) as error:
                logger.warning("nothing is heard while it is said", extra={"error": type(error).__name__})
                await asyncio.sleep(AGAIN_SECONDS)

    async def _listen(self) -> None:
        client = redis.asyncio.Redis.from_url(
            client_url(), socket_connect_timeout=PATIENCE_SECONDS, decode_responses=True
        )
        async with client, client.pubsub(ignore_subscribe_messages=True) as ears:
            heard: set[int] = set()
            loop = asyncio.get_running_loop()
            announced = loop.time()
            while self._followed:
                heard = await self._turn_to(ears, heard)
                if (message := await ears.get_message(timeout=TURN_SECONDS)) is not None:
                    self._said(conversation_of(str(message["channel"])), event("text", json.loads(message["data"])))
                if loop.time() - announced > HOLDS_SECONDS / 3:
                    announced = loop.time()
                    await _announce(client, heard)

    async def _turn_to(self, ears: "redis.asyncio.client.PubSub", heard: set[int]) -> set[int]:
        followed = set(self._followed)
        if new := followed - heard:
            await ears.subscribe(*map(said_in, new))
        if gone := heard - followed:
            await ears.unsubscribe(*map(said_in, gone))
        return followed


async def _announce(client: "redis.asyncio.Redis", followed: set[int]) -> None:
    """Tell workers again who is listened to."""
    pipeline = client.pipeline(transaction=False)
    for conversation_id in followed:
        pipeline.publish(HEARD, str(conversation_id))
    await pipeline.execute()
