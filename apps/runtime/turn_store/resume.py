"""Finds the point at which a worker resumes a turn that another worker began; pure. Finished steps are replayed, not repeated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from apps.conversations.rules import ToolCall
from apps.runtime.turn_store.model_steps import AssistantMessage, TurnStep


@dataclass(frozen=True, slots=True)
class JournaledCall:
    """A tool call in the journal. `is_open` for an external call that was begun and whose outcome is not recorded."""

    call: ToolCall
    is_open: bool = False
    may_be_repeated: bool = False


@dataclass(frozen=True, slots=True)
class JournaledStep:
    """An answer of the model in the journal, with its recorded tool calls by their position in the answer."""

    said: AssistantMessage
    calls: Mapping[int, JournaledCall] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """The complete steps of a turn, and its last answer if the answer still has tools to call or is final."""

    steps: tuple[TurnStep, ...] = ()
    last: AssistantMessage | None = None
    calls: Mapping[int, JournaledCall] = field(default_factory=dict)
    voids: int = 0

    @property
    def asking(self) -> int:
        """The number of the next model call."""
        return len(self.steps) + self.voids + 1


def find_resume_point(kept: Sequence[JournaledStep]) -> ResumePoint:
    """Split the journaled steps into complete steps and the unfinished last one."""
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
