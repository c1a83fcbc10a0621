"""The state of a turn in the worker that claimed it, from the claim to the end."""

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from apps.governance.actors import Actor
from apps.llm.model_backend import JsonObject, ModelRequest
from apps.runtime.models import Turn
from apps.runtime.tools.toolbox import ExternalCall, Toolbox
from apps.runtime.turn_store.model_steps import AssistantMessage
from apps.runtime.turn_store.resume import JournaledCall
from apps.runtime.turn_store.turn_claim import TurnClaim
from apps.runtime.turn_store.turn_journal import RenderedUserTurn, WriteResult, record_steps
from apps.runtime.turns.model_loop import ModelLoop
from apps.runtime.turns.tool_calls import ToolCalls
from apps.tenants.endpoints.decrypted_endpoint import OpenedEndpoint


@dataclass(frozen=True, slots=True)
class AskModel:
    """The effect of calling the model: the request to send, and the tenant's own endpoint if there is one."""

    request: ModelRequest
    place: OpenedEndpoint | None = None


TurnEffect: TypeAlias = AskModel | ExternalCall


@dataclass(slots=True)
class TurnProgress:
    """The state of a claimed turn. A process holds thousands of waiting turns, so nothing is kept that can be read again."""

    claimed: TurnClaim
    toolbox: Toolbox
    system: Actor
    # The effect that the driver performs while the turn waits.
    effect: TurnEffect | None = None
    user_turn: RenderedUserTurn | None = None
    # The reply that is being processed, and its tool results by the position of the call in the reply.
    reply: AssistantMessage | None = None
    results: dict[int, JournaledCall] = field(default_factory=dict)
    # Journal rows that are not written yet.
    new_calls: list[JsonObject] = field(default_factory=list)
    new_tools: list[JsonObject] = field(default_factory=list)
    # Whether the next model call is the circuit breaker's probe.
    is_probe: bool = False
    loop: ModelLoop = field(init=False)
    tools: ToolCalls = field(init=False)

    @property
    def row(self) -> Turn:
        """The turn's row as of the claim."""
        return self.claimed.turn

    @property
    def current_reply(self) -> AssistantMessage:
        """The reply that is being processed. Raises ValueError if there is none."""
        if self.reply is None:
            raise ValueError("The model has not replied in this turn.")
        return self.reply

    def record_steps(self, asking: int) -> WriteResult:
        """Write the new rows and extend the lease; `asking` is the number of the next model call. Raises FenceLost."""
        found = record_steps(self.row, self.new_calls, self.new_tools, asking, actor=self.system)
        self.claimed.money.day_left = found.day_left
        self.claimed = replace(self.claimed, is_sending_paused=found.is_sending_paused)
        self.new_calls, self.new_tools, self.row.failed_calls = [], [], 0
        return found

    def begin_round(self, claimed: TurnClaim) -> None:
        """Drop the data of the previous round, which the journal has, and begin the next one."""
        self.claimed, self.reply, self.results, self.new_calls, self.new_tools = claimed, None, {}, [], []
