"""The state machine of one turn (R126, R127). `turn_states` has the states and the transition table.

A driver gets the machine from `start_turn`, performs its `effect` and reports the resulting event to `advance`, until there is no
effect any more. The machine itself never waits: between two events it only runs a few short transactions.
"""

import logging
from dataclasses import dataclass

from django.db import InterfaceError, OperationalError

from apps.runtime.models import Turn
from apps.runtime.tools.toolbox import NO_TOOLS, Toolbox
from apps.runtime.turn_store.turn_claim import TurnClaim, claim_turn
from apps.runtime.turn_store.turn_journal import ClosedTurn
from apps.runtime.turns.turn_events import FencePassed, MachineEvent, TurnReleased, TurnStarted
from apps.runtime.turns.turn_failures import failure_event, unexpected_failure
from apps.runtime.turns.turn_progress import TurnEffect, TurnProgress
from apps.runtime.turns.turn_states import WAITING, TurnState, next_state, takes
from apps.runtime.turns.turn_work import WORK
from apps.tenants.authentication.actor_resolution import system_actor

logger = logging.getLogger(__name__)


def start_turn(tenant_id: int, conversation_id: int, toolbox: Toolbox = NO_TOOLS) -> "TurnMachine | None":
    """Claim the conversation's turn and run it up to its first effect. None if there is no turn to claim."""
    system = system_actor(tenant_id, "worker")
    claimed = claim_turn(conversation_id, actor=system)
    if claimed is None:
        return None
    machine = TurnMachine(TurnProgress(claimed, toolbox, system))
    machine.advance(TurnStarted())
    return machine


@dataclass(slots=True)
class TurnMachine:
    """The state machine of a claimed turn. After the end, `more_waits` tells whether the conversation's next turn may begin."""

    progress: TurnProgress
    state: TurnState = TurnState.CLAIMED
    more_waits: bool = False

    @property
    def claimed(self) -> TurnClaim:
        """The turn as of its claim or its latest write."""
        return self.progress.claimed

    @property
    def turn(self) -> Turn:
        """The turn's row as of the claim."""
        return self.progress.row

    @property
    def effect(self) -> TurnEffect | None:
        """The call that the driver has to make and report; None if the turn is over."""
        return self.progress.effect if self.state in WAITING else None

    def advance(self, event: MachineEvent) -> None:
        """Process an event, and run the following states until the turn waits for the next event or is over.

        Raises UnexpectedEvent if the state has no transition for the event. Database errors are raised too.
        """
        self.state = next_state(self.state, event)
        while self.state in WORK:
            event = self._perform(event)
            self.state = next_state(self.state, event)
        if isinstance(event, ClosedTurn | TurnReleased):
            self.more_waits = event.more_waits

    def _perform(self, event: MachineEvent) -> MachineEvent:
        """Do the work of the current state. Exceptions become events only in this method."""
        try:
            return WORK[self.state](self.progress, event)
        except (InterfaceError, OperationalError):
            # Nothing can be written without the database. Another worker claims the turn after its lease has expired.
            raise
        except Exception as error:  # the worker's edge: the text may quote a customer and stays out of logs
            failure = failure_event(error) or unexpected_failure(error)
            if not takes(self.state, failure):
                raise
            self._log_failure(failure, error)
            return failure

    def _log_failure(self, failure: MachineEvent, error: Exception) -> None:
        if isinstance(failure, FencePassed):
            logger.warning("turn taken over by another worker", extra={"turn_id": self.turn.pk})
        elif failure_event(error) is None:
            logger.error("turn failed", extra={"turn_id": self.turn.pk, "error": type(error).__name__})
