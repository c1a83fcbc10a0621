"""Streams a reply, while the model is writing it, from the worker to the web processes that have an open stream.

The broker's pub/sub channels carry the stream and store nothing. A lost piece does no harm, since each piece contains the whole
text so far. No turn depends on the stream.
"""

import json
import logging
import queue
import threading
import time
from typing import Final

import redis
from django.conf import settings

from apps.desk.rules import SendRuleValue
from apps.llm.model_backend import Listener
from apps.prompt.prompt_input import SendMode
from apps.runtime.turn_store.turn_claim import TurnClaim

logger = logging.getLogger(__name__)

# The channel on which web processes announce streamed conversations; an announcement is valid for `LISTENING_SECONDS`.
LISTENERS_CHANNEL: Final = "preceptor:listeners"
REPLY_CHANNEL_PREFIX: Final = "preceptor:reply:"
LISTENING_SECONDS: Final = 60
# The timeout of a call to the broker.
BROKER_TIMEOUT_SECONDS: Final = 0.5
RECONNECT_SECONDS: Final = 5.0
# The shortest time between two pieces of a reply.
PIECE_SECONDS: Final = 0.1


def reply_channel(conversation_id: int) -> str:
    """The channel of a conversation's replies."""
    return f"{REPLY_CHANNEL_PREFIX}{conversation_id}"


def conversation_of_channel(channel: str) -> int:
    """The conversation of a reply channel."""
    return int(channel.removeprefix(REPLY_CHANNEL_PREFIX))


def client_url() -> str:
    """The broker's URL in the form that its client expects."""
    return str(settings.CELERY_BROKER_URL).replace("redis+socket://", "unix://", 1)


def broker_client() -> "redis.Redis":
    """A client that gives up quickly if the broker is down."""
    return redis.Redis.from_url(
        client_url(),
        socket_connect_timeout=BROKER_TIMEOUT_SECONDS,
        socket_timeout=BROKER_TIMEOUT_SECONDS,
        decode_responses=True,
    )


def may_be_streamed(claimed: TurnClaim) -> bool:
    """Whether a reply may be streamed: only one that is sent without a person's review."""
    if claimed.conversation.is_talk:
        # The only reader of a talk is its member, who gets the reply even while sending to customers is paused.
        return not claimed.may_be_silent
    if claimed.is_sending_paused or claimed.may_be_silent:
        return False
    return claimed.send_mode is SendMode.AUTONOMOUS and not any(map(_depends_on_skill, claimed.context.rules))


def _depends_on_skill(rule: SendRuleValue) -> bool:
    return rule.skill_id is not None


class ReplyPublisher:
    """Publishes a worker's replies. One thread tracks conversations with listeners, another publishes. Either may fail safely."""

    def __init__(self) -> None:
        self._heard: dict[int, float] = {}
        self._said: queue.SimpleQueue[tuple[int, dict[str, object]] | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._listen, self._publish)]

    def start(self) -> None:
        """Start both threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop publishing."""
        self._stopping.set()
        self._said.put(None)

    def __call__(self, claimed: TurnClaim) -> Listener | None:
        """The listener of a turn, looked up before each model call; None if no stream is open."""
        conversation_id = claimed.conversation.pk
        if self._heard.get(conversation_id, 0) < time.monotonic() or not may_be_streamed(claimed):
            return None
        turn_id, pieces, told_at = claimed.turn.pk, [], [0.0]
        self._said.put((conversation_id, {"turn_id": turn_id, "text": ""}))

        def hear(text: str) -> None:
            pieces.append(text)
            if time.monotonic() - told_at[0] >= PIECE_SECONDS:
                told_at[0] = time.monotonic()
                self._said.put((conversation_id, {"turn_id": turn_id, "text": "".join(pieces)}))

        return hear

    def _listen(self) -> None:
        while not self._stopping.is_set():
            try:
                with broker_client() as client, client.pubsub(ignore_subscribe_messages=True) as subscribed:
                    subscribed.subscribe(LISTENERS_CHANNEL)
                    while not self._stopping.is_set():
                        if message := subscribed.get_message(timeout=BROKER_TIMEOUT_SECONDS / 2):
                            self._note_listener(str(message["data"]))
            except redis.RedisError as error:
                logger.warning("reply listeners could not be read", extra={"error": type(error).__name__})
                self._stopping.wait(RECONNECT_SECONDS)

    def _note_listener(self, id_text: str) -> None:
        now = time.monotonic()
        self._heard = {each: until for each, until in self._heard.items() if until > now}
        if id_text.isdecimal():
            self._heard[int(id_text)] = now + LISTENING_SECONDS

    def _publish(self) -> None:
        client = broker_client()
        while (item := self._said.get()) is not None:
            conversation_id, piece = item
            try:
                client.publish(reply_channel(conversation_id), json.dumps(piece))
            except redis.RedisError as error:
                logger.warning("reply text could not be published", extra={"error": type(error).__name__})


def announce_listener(conversation_id: int) -> None:
    """Announce to workers that a stream is open. If the broker is down, the client gets the reply only when it is complete."""
    try:
        with broker_client() as client:
            client.publish(LISTENERS_CHANNEL, str(conversation_id))
    except redis.RedisError as error:
        logger.warning("reply listeners are unknown: no broker", extra={"error": type(error).__name__})
