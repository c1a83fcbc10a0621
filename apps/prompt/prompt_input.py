"""The input values of a prompt, and `input_passages`, which lists every text in them that somebody wrote.

Each text has a source: the row that stores it and the person or agent responsible for it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Final

SEPARATOR: Final = "\n\n---\n\n"
DEFAULT_TIER: Final = 2
TIERS: Final = (1, 2, 3, 4)
# From these tiers on, a prompt shows due reminders, and tasks and scratch notes (R168).
REMINDER_TIER: Final = 2
NOTEBOOK_TIER: Final = 4


class Slot(IntEnum):
    """The slots of a request, from the most stable one to the one that always differs (R040)."""

    TOOLS = 0
    PERSONA = 1
    CONTRACT = 2
    SKILLS = 3
    MEMORY = 4
    PROFILE = 5
    TURN = 6


class SlotOrder(StrEnum):
    """The order of the first two slots; `contract_first` lets agents share the cached contract (Z-16)."""

    PERSONA_FIRST = "persona_first"
    CONTRACT_FIRST = "contract_first"


class Flavour(StrEnum):
    """Whom the agent serves: customers of the business, or a member of the business (R050, R129)."""

    DOMAIN = "domain"
    ASSISTANT = "assistant"


class SkillIndex(StrEnum):
    """How approved skills enter slot 3: one line per skill, or whole skills (R056)."""

    LAZY = "lazy"
    FULL = "full"


class Disclosure(StrEnum):
    """When the agent says that it is an AI (Z-11)."""

    ALWAYS = "always"
    ON_REQUEST = "on_request"
    NEVER_VOLUNTEER = "never_volunteer"


class SendMode(StrEnum):
    """What happens to the agent's reply (R134)."""

    AUTONOMOUS = "autonomous"
    SUGGEST = "suggest"
    OBSERVE = "observe"


class SanitizerRule(StrEnum):
    """What the sanitizer did to a text."""

    ESCAPED = "escaped"
    INVISIBLE = "invisible"
    ROLE_CONTROL = "role_control"
    TRUNCATED = "truncated"


class EventKind(StrEnum):
    """The origin of an event; the value is the label at the beginning of the event's header line (R140)."""

    MESSAGE = "New message"
    SMS = "New SMS"
    CALL = "Call ended"
    OPERATOR = "Operator instruction"
    SCHEDULE = "Scheduled instruction"
    TASK = "Question of another agent"
    ANSWER = "Answer of another agent"
    NOTE = "Word of another agent"


@dataclass(frozen=True, slots=True)
class TextProvenance:
    """The source of a text: the field of a row in one version, its author, and the person who approved it.

    `approver` is empty if no person approved the text; text of agents and customers is then fenced as data (Z-22).
    """

    record_type: str
    record_id: int
    version: int
    field: str = ""
    author: str = ""
    approver: str = ""
    taint: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text that people, agents, customers or tools wrote, as stored.

    `position` is its place among passages of its kind, as set by a person; passages with equal positions are sorted by source.
    """

    text: str
    source: TextProvenance
    position: int = 0


@dataclass(frozen=True, slots=True)
class IdentityCardInput:
    """The represented business and the person in charge, as written by operators (R186)."""

    business_name: Passage | None = None
    assigned_name: Passage | None = None
    assigned_title: Passage | None = None
    hours: Passage | None = None
    timezone: Passage | None = None
    signature: Passage | None = None
    locale: Passage | None = None


@dataclass(frozen=True, slots=True)
class PersonaInput:
    """The voice that an operator gave the agent (R025, R036)."""

    identity: Passage | None = None
    style: Passage | None = None
    avoid: Passage | None = None
    defaults: Passage | None = None
    goals: Passage | None = None


@dataclass(frozen=True, slots=True)
class SkillInput:
    """One approved skill; `body` is needed only if the index shows whole skills."""

    skill_id: int
    name: str
    title: str
    description: str
    use_count: int
    source: TextProvenance
    body: str = ""


@dataclass(frozen=True, slots=True)
class InvokableAgentInput:
    """Another agent that this agent may ask; its texts may have another author (R057).

    `source` is the source of the hint; `callee_source` is the source of key and title, if different.
    """

    agent_key: str
    title: str
    role_hint: str
    source: TextProvenance
    callee_source: TextProvenance | None = None


@dataclass(frozen=True, slots=True)
class PinnedBlock:
    """A labelled memory block pinned into slot 4 (Z-1); `label_source` is the label's source, if different."""

    label: str
    passage: Passage
    label_source: TextProvenance | None = None


@dataclass(frozen=True, slots=True)
class MemoryInput:
    """The agent's memory for all its customers. A passage without an approver is fenced (Z-19, Z-22).

    `short`, `mid` and `long` are the distilled tiers; reminders, scratch notes and tasks come from the notebook (R168,
    R177).
    """

    body: tuple[Passage, ...] = ()
    blocks: tuple[PinnedBlock, ...] = ()
    short: tuple[Passage, ...] = ()
    mid: tuple[Passage, ...] = ()
    long: tuple[Passage, ...] = ()
    reminders: tuple[Passage, ...] = ()
    scratch: tuple[Passage, ...] = ()
    tasks: tuple[Passage, ...] = ()


@dataclass(frozen=True, slots=True)
class ProfileInput:
    """The profile of one customer, and the agent's notes about this customer (R177)."""

    preferences: Passage | None = None
    notes: Passage | None = None
    reminders: tuple[Passage, ...] = ()
    tasks: tuple[Passage, ...] = ()
    scratch: tuple[Passage, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptInput:
    """All inputs of slots 1-5. A missing or unreadable row is None, and its section is left out (R044)."""

    agent_key: str | None
    flavour: Flavour = Flavour.DOMAIN
    order: SlotOrder = SlotOrder.PERSONA_FIRST
    tier: int = DEFAULT_TIER
    disclosure: Disclosure = Disclosure.ON_REQUEST
    skill_index: SkillIndex = SkillIndex.LAZY
    identity_card: IdentityCardInput | None = None
    persona: PersonaInput | None = None
    overlay: Passage | None = None
    member_overlay: Passage | None = None
    contract_override: Passage | None = None
    organisation_rules: tuple[Passage, ...] = ()
    agent_rules: tuple[Passage, ...] = ()
    skills: tuple[SkillInput, ...] = ()
    invokable: tuple[InvokableAgentInput, ...] = ()
    memory: MemoryInput | None = None
    profile: ProfileInput | None = None
    skills_guidance: bool = False


@dataclass(frozen=True, slots=True)
class TurnEvent:
    """An event that reached the agent; `name` and `key` identify the sender, and are empty for the owner.

    `line` names the line on which the event arrived, if the channel has several (R133).
    """

    kind: EventKind
    text: str
    at: datetime
    name: str = ""
    key: str = ""
    line: str = ""
    source: TextProvenance | None = None


@dataclass(frozen=True, slots=True)
class Delegation:
    """A request from another agent, to which the answer is returned (R054)."""

    parent_title: str
    source: TextProvenance


@dataclass(frozen=True, slots=True)
class LineCard:
    """The person in charge of an event's line, if different from the agent's default (R187)."""

    line: str
    assigned_name: Passage
    assigned_title: Passage | None = None


@dataclass(frozen=True, slots=True)
class CorrectionExample:
    """A draft of the agent and an operator's correction of it (R164)."""

    draft: Passage
    correction: Passage
    situation: Passage | None = None


@dataclass(frozen=True, slots=True)
class TurnInput:
    """All inputs of a user turn (R127, R139, R142). `now_line` is None for an agent without date and time (R060)."""

    events: tuple[TurnEvent, ...]
    now_line: str | None
    off_the_record: bool = False
    delegation: Delegation | None = None
    send_mode: SendMode | None = None
    open_escalations: int = 0
    line_cards: tuple[LineCard, ...] = ()
    learning: tuple[Passage, ...] = ()
    examples: tuple[CorrectionExample, ...] = field(default_factory=tuple)
    # The tool for saving a procedure, if the agent is asked whether one is worth saving (R105).
    save_with: str = ""


def input_passages(given: PromptInput) -> Iterator[tuple[Slot, Passage]]:
    """Yield the texts of an input that have an author, each with its slot."""
    for held in (given.identity_card, given.persona):
        yield from ((Slot.PERSONA, text) for text in _field_passages(held))
    yield from ((Slot.PERSONA, text) for text in (*_as_tuple(given.overlay), *_as_tuple(given.member_overlay)))
    contract = (*_as_tuple(given.contract_override), *given.organisation_rules, *given.agent_rules)
    yield from ((Slot.CONTRACT, text) for text in contract)
    for skill in given.skills:
        yield from ((Slot.SKILLS, Passage(text, skill.source)) for text in (skill.name, skill.title, skill.description))
        yield Slot.SKILLS, Passage(skill.body, skill.source)
    for callee in given.invokable:
        yield from ((Slot.SKILLS, Passage(text, callee.source)) for text in (callee.title, callee.role_hint))
    yield from ((Slot.MEMORY, text) for text in _memory_passages(given.memory))
    yield from ((Slot.PROFILE, text) for text in _profile_passages(given.profile))


def _as_tuple(passage: Passage | None) -> tuple[Passage, ...]:
    return (passage,) if passage else ()


def _field_passages(held: IdentityCardInput | PersonaInput | None) -> Iterator[Passage]:
    """Yield the passages in the fields of a value."""
    for each in fields(held) if held else ():
        yield from _as_tuple(getattr(held, each.name))


def _profile_passages(profile: ProfileInput | None) -> Iterator[Passage]:
    if profile is not None:
        yield from (*_as_tuple(profile.preferences), *_as_tuple(profile.notes))
        yield from (*profile.reminders, *profile.tasks, *profile.scratch)


def _memory_passages(memory: MemoryInput | None) -> Iterator[Passage]:
    if memory is None:
        return
    yield from (block.passage for block in memory.blocks)
    for tier in (memory.body, memory.short, memory.mid, memory.long, memory.reminders, memory.scratch, memory.tasks):
        yield from tier
