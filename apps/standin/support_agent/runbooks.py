from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apps.standin.conversation import section_of

if TYPE_CHECKING:
    from apps.standin.conversation import PastCall, RequestConversation

GET_SKILL = "get_skill"
_IN_BACKTICKS = re.compile(r"`([A-Za-z0-9_-]{1,64})`")
_STEP = re.compile(r"^\s{0,3}(?:\d{1,3}[.)]|[-*])\s+(?P<step>\S.*)$")


@dataclass(frozen=True, slots=True)
class Runbook:
    """A fetched skill, and the calls made since it was fetched."""

    name: str
    body: str
    calls_since: tuple[PastCall, ...]

    @property
    def procedure(self) -> str:
        return section_of(self.body, "Procedure", level=2) or self.body

    @property
    def steps(self) -> tuple[str, ...]:
        found = (_STEP.match(line) for line in self.procedure.splitlines())
        return tuple(step["step"].strip() for step in found if step)

    @property
    def tool_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_IN_BACKTICKS.findall(self.procedure)))


def fetched_runbook(conversation: RequestConversation) -> Runbook | None:
    """Return the runbook that was fetched since the customer last wrote, if it could be read."""
    calls = conversation.turn_calls
    for index in reversed(range(len(calls))):
        if calls[index].tool_name == GET_SKILL and not calls[index].is_error:
            return _runbook(calls[index], calls[index + 1 :])
    return None


def _runbook(fetched: PastCall, calls_since: tuple[PastCall, ...]) -> Runbook | None:
    try:
        skill = json.loads(fetched.result)
    except ValueError:
        return None
    if not isinstance(skill, dict) or not isinstance(skill.get("body"), str):
        return None
    return Runbook(str(skill.get("title") or skill.get("name") or "untitled"), skill["body"], calls_since)
