from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apps.standin.conversation import RequestConversation

_NAME = r"(?P<name>[A-Z][\w'-]{0,40}(?: [A-Z][\w'-]{0,40}){0,2})"
_SELF_INTRODUCTION = re.compile(rf"\b(?:You are|You're|I am|I'm|[Mm]y name is|[Yy]our name is) {_NAME}")
_BUSINESS = re.compile(r"\b(?:for|at|of|from) (?P<business>[A-Z][\w&'-]{0,40}(?: [A-Z&][\w&'-]{0,40}){0,4})")


@dataclass(frozen=True, slots=True)
class StatedPersona:
    """The agent's name and business from the system prompt."""

    name: str
    business: str
    is_formal: bool

    @property
    def greeting(self) -> str:
        hello = "Good day" if self.is_formal else "Hello"
        return f"{hello}, this is {self.full_name}." if self.name else f"{hello}."

    @property
    def full_name(self) -> str:
        return f"{self.name} from {self.business}" if self.business else self.name


def persona_of(conversation: RequestConversation) -> StatedPersona:
    """Return the stated persona; an empty one if the prompt states none."""
    identity = conversation.section("Agent persona") and conversation.section("Identity", level=2)
    named = _SELF_INTRODUCTION.search(identity)
    business = _BUSINESS.search(identity, named.end()) if named else None
    style = conversation.section("Style", level=2).lower()
    return StatedPersona(
        name=named["name"] if named else "",
        business=business["business"] if business else "",
        is_formal=bool(re.search(r"\bformal", style)),
    )
