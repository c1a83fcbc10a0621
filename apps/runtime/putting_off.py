"""A turn that waits: where time or an operator can help, or while its model's calls are held back."""

from collections.abc import Sequence
from random import random

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting, one_shot
from apps.llm.model_backend import BackendError, JsonObject, SpendLimitReached
from apps.runtime.breakers import HeldBack
from apps.runtime.claims import Claim
from apps.runtime.endings import pause_for_money
from apps.runtime.journal import hold, keep, postpone
from apps.runtime.retrying import retry_delay
from apps.runtime.rules import SHORTENED_AT_MOST, shortened_start
from apps.runtime.statements import SHORTEN
from apps.runtime.stops import Stopped, why_stopped


def put_off(claimed: Claim, error: BackendError, *, actor: Actor) -> None:
    """Wait for the next try; where the money is spent, for an operator."""
    tries = claimed.turn.failed_calls + 1
    seconds = retry_delay(tries, error.retry_after_seconds, random())  # noqa: S311  # spread, not secret
    if isinstance(error, SpendLimitReached):
        pause_for_money(claimed, actor=actor)
    postpone(claimed.turn, error.code, str(error), seconds, tries, actor=actor)


def shorten(claimed: Claim, calls: Sequence[JsonObject], asking: int, *, actor: Actor) -> bool:
    """Let the turn be taken again at once, with half of the history; what was paid for meanwhile is kept with it.

    False where nothing is left to leave out.
    """
    turn, history = claimed.turn, claimed.brought.history.messages
    if turn.history_halvings >= SHORTENED_AT_MOST or shortened_start(history, turn.history_halvings) == len(history):
        return False
    with acting(actor):
        hold(turn)
        if calls:
            keep(turn, calls, (), asking, actor=actor)
        one_shot(actor, SHORTEN, {"turn": turn.pk, "fence": turn.fence})
        sentence = "What was said before did not fit into the model, so less of it is told."
        postpone(turn, "history_shortened", sentence, 0, turn.failed_calls, actor=actor)
    return True


def lay_down(claimed: Claim, *, actor: Actor) -> None:
    """Wait until whoever stopped it lets go."""
    postpone(claimed.turn, Stopped.code, why_stopped(claimed.conversation, actor=actor), 0, actor=actor)


def hold_back(claimed: Claim, held: HeldBack, *, actor: Actor) -> None:
    """Wait until somebody may ask again; nothing was tried, so nothing is counted."""
    postpone(claimed.turn, held.code, str(held), held.seconds, claimed.turn.failed_calls, actor=actor)
