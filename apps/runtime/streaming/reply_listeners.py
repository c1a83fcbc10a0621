"""Whoever wants to hear an answer while the model still says it: text, piece by piece, of one turn."""

import logging
from collections.abc import Callable
from typing import TypeAlias

from apps.llm.model_backend import Listener
from apps.runtime.turn_store.turn_claim import TurnClaim

logger = logging.getLogger(__name__)

# Who listens to a turn, asked before each call of its model; nobody, most of the time. It is asked on the event loop and must
# not wait, and neither must the listener.
ListenerLookup: TypeAlias = Callable[[TurnClaim], Listener | None]


def no_listener(_claimed: TurnClaim) -> Listener | None:
    """Nobody listens."""
    return None


def guarded_listener(lookup: ListenerLookup, claimed: TurnClaim) -> Listener | None:
    """The turn's listener, of whom the turn depends in nothing: one that fails hears no more, and the answer is still given."""
    listener = _look_up_listener(lookup, claimed)
    if listener is None:
        return None
    heard = [listener]

    def hear(text: str) -> None:
        if not heard:
            return
        try:
            heard[0](text)
        except Exception as error:  # noqa: BLE001  # somebody else's code, whose words may quote a customer
            heard.clear()
            logger.warning("reply listener failed", extra={"turn_id": claimed.turn.pk, "error": type(error).__name__})

    return hear


def _look_up_listener(lookup: ListenerLookup, claimed: TurnClaim) -> Listener | None:
    try:
        return lookup(claimed)
    except Exception as error:  # noqa: BLE001  # as above
        logger.warning(
            "the listener of a turn could not be looked up",
            extra={"turn_id": claimed.turn.pk, "error": type(error).__name__},
        )
        return None
