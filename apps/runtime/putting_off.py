"""A turn that waits: where time or an operator can help, or while its model's calls are held back."""

from random import random

from apps.governance.actors import Actor
from apps.llm.backend import BackendError, SpendLimitReached
from apps.runtime.breakers import HeldBack
from apps.runtime.claims import Claim
from apps.runtime.endings import pause_for_money
from apps.runtime.journal import postpone
from apps.runtime.retrying import retry_delay


def put_off(claimed: Claim, error: BackendError, *, actor: Actor) -> None:
    """Wait for the next try; where the money is spent, for an operator."""
    tries = claimed.turn.tries + 1
    seconds = retry_delay(tries, error.retry_after_seconds, random())  # noqa: S311  # spread, not secret
    if isinstance(error, SpendLimitReached):
        pause_for_money(claimed, actor=actor)
    postpone(claimed.turn, error.code, str(error), seconds, tries, actor=actor)


def hold_back(claimed: Claim, held: HeldBack, *, actor: Actor) -> None:
    """Wait until somebody may ask again; nothing was tried, so nothing is counted."""
    postpone(claimed.turn, held.code, str(held), held.seconds, claimed.turn.tries, actor=actor)
