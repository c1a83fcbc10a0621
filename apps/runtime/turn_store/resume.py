"""Where a turn goes on that another worker began; pure. Finished steps are replayed, not repeated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from apps.conversations.rules import ToolCall
from apps.runtime.turn_store.model_steps import AssistantMessage, TurnStep


@dataclass(frozen=True, slots=True)
class JournaledCall:
    """One tool call as the journal has it: `is_open` if it was begun outside the house and nobody knows how it ended."""

    call: ToolCall
    is_open: bool = False
    may_be_repeated: bool = False


@dataclass(frozen=True, slots=True)
class JournaledStep:
    """One answer of the model as the journal has it, with the tool calls that were written, by their place in it."""

    said: AssistantMessage
    calls: Mapping[int, JournaledCall] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """The whole steps behind a turn; and, where the last answer's tools were not all called or nothing follows it, that one."""

    steps: tuple[TurnStep, ...] = ()
    last: AssistantMessage | None = None
    calls: Mapping[int, JournaledCall] = field(default_factory=dict)
    voids: int = 0

    @property
    def asking(self) -> int:
        """The number of the model call that comes next."""
        return len(self.steps) + self.voids + 1


def find_resume_point(kept: Sequence[JournaledStep]) -> ResumePoint:
    """What is behind, and what of the last step is still to do."""
    used = [step for step in kept if not step.said.is_void]
    voids = len(kept) - len(used)
    if not used:
        return ResumePoint(voids=voids)
    *before, last = used
    steps = tuple(_complete_step(step) for step in before)
    is_open = any(call.is_open for call in last.calls.values())
    if last.said.goes_on and len(last.calls) == len(last.said.uses) and not is_open:
        return ResumePoint((*steps, _complete_step(last)), voids=voids)
    return ResumePoint(steps, last.said, last.calls, voids)


def _complete_step(step: JournaledStep) -> TurnStep:
    return step.said.with_calls(tuple(step.calls[place].call for place in sorted(step.calls)))
