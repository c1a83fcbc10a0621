"""Listeners that receive a turn's reply in pieces while the model is still writing it."""

import logging
from collections.abc import Callable
from typing import TypeAlias

from apps.llm.model_backend import Listener
from apps.runtime.turn_store.turn_claim import TurnClaim

logger = logging.getLogger(__name__)

# Looks up the listener of a turn before each model call; most turns have none. Both the lookup and the listener run on the event
# loop and must not block.
ListenerLookup: TypeAlias = Callable[[TurnClaim], Listener | None]


def no_listener(_claimed: TurnClaim) -> Listener | None:
    """A lookup that finds no listener."""
    return None


def guarded_listener(lookup: ListenerLookup, claimed: TurnClaim) -> Listener | None:
    """The turn's listener, wrapped so that its failure never affects the turn: a listener that fails is not called again."""
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
