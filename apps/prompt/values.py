"""The values a prompt is made from and the values it comes out as."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Final

SEPARATOR: Final = "\n\n---\n\n"


class Slot(IntEnum):
    """The places of the frozen prompt, from the most stable to the most personal (R040)."""

    PERSONA = 1
    CONTRACT = 2
    SKILLS = 3
    MEMORY = 4
    PROFILE = 5


class Rule(StrEnum):
    """What the sanitizer did to a text."""

    ESCAPED = "escaped"
    INVISIBLE = "invisible"
    ROLE_CONTROL = "role_control"
    TRUNCATED = "truncated"


class EventKind(StrEnum):
    """Where an event came from; the value is the label that opens its header line (R140)."""

    MESSAGE = "New message"
    SMS = "New SMS"
    CALL = "Call ended"
    OPERATOR = "Operator instruction"
    SCHEDULE = "Scheduled instruction"


@dataclass(frozen=True, slots=True)
class Persona:
    """The voice an operator gave the agent."""

    identity: str = ""
    style: str = ""
    avoid: str = ""
    defaults: str = ""


@dataclass(frozen=True, slots=True)
class SkillLine:
    """One approved skill as the index shows it."""

    skill_id: int
    name: str
    title: str
    description: str
    use_count: int


@dataclass(frozen=True, slots=True)
class Memory:
    """What the agent remembers for all its customers; `approved` means that a person wrote or passed it (Z-19)."""

    body: str
    approved: bool


@dataclass(frozen=True, slots=True)
class Profile:
    """What earlier conversations recorded about one customer."""

    preferences: str
    notes: str


@dataclass(frozen=True, slots=True)
class PromptInput:
    """All that slots 1-5 are made from; a row that is missing or unreadable is None and leaves its slot out (R044)."""

    agent_key: str | None
    persona: Persona | None = None
    contract_override: str | None = None
    skills: tuple[SkillLine, ...] = ()
    memory: Memory | None = None
    profile: Profile | None = None
    organisation_rules: str = ""
    agent_rules: str = ""
    skills_guidance: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """The finished text of one slot."""

    slot: Slot
    text: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Note:
    """One thing the sanitizer did to the text of one slot (R075)."""

    slot: Slot
    rule: Rule


@dataclass(frozen=True, slots=True)
class Assembled:
    """The frozen prompt of a session and what was neutralised on its way in."""

    parts: tuple[Part, ...]
    notes: tuple[Note, ...] = ()

    @property
    def text(self) -> str:
        return SEPARATOR.join(part.text for part in self.parts)

    @property
    def blocks(self) -> tuple[str, ...]:
        """One block for each part; concatenated they are `text`, so a separator opens every block but the first."""
        return tuple(SEPARATOR * (at > 0) + part.text for at, part in enumerate(self.parts))

    @property
    def shared(self) -> tuple[Part, ...]:
        """Slots 1-4, the same for every customer of the agent; breakpoint A stands behind them."""
        return tuple(part for part in self.parts if part.slot is not Slot.PROFILE)

    @property
    def personal(self) -> tuple[Part, ...]:
        """Slot 5, one customer's own; breakpoint B stands behind it."""
        return tuple(part for part in self.parts if part.slot is Slot.PROFILE)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Event:
    """Something that reached the agent; `name` and `key` say who sent it, and stay empty where the owner did."""

    kind: EventKind
    text: str
    at: datetime
    name: str = ""
    key: str = ""
