"""What a reviewer should look at before or after a text enters a prompt: the scanner's flags, with their slot and record."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

from apps.prompt.scanner import scan
from apps.prompt.values import IdentityCard, Memory, Passage, Persona, Profile, PromptInput, Slot, Source


@dataclass(frozen=True, slots=True)
class Finding:
    """One flag: which rule, where in the stored text (in characters; the end is exclusive), in which slot and record."""

    rule: str
    start: int
    end: int
    slot: Slot
    source: Source


def review(given: PromptInput) -> tuple[Finding, ...]:
    """Every flag on the texts others wrote. Flags advise; what the model is told does not depend on them."""
    return tuple(
        Finding(found.rule.value, found.start, found.end, slot, passage.source)
        for slot, passage in passages(given)
        for found in scan(passage.text)
    )


def passages(given: PromptInput) -> Iterator[tuple[Slot, Passage]]:
    """The texts of an input that somebody wrote, with the slot each belongs to."""
    for held in (given.identity_card, given.persona):
        yield from ((Slot.PERSONA, text) for text in _texts(held))
    yield from ((Slot.PERSONA, text) for text in _given(given.overlay))
    contract = (*_given(given.contract_override), *given.organisation_rules, *given.agent_rules)
    yield from ((Slot.CONTRACT, text) for text in contract)
    for skill in given.skills:
        yield from ((Slot.SKILLS, Passage(text, skill.source)) for text in (skill.name, skill.title, skill.description))
        yield Slot.SKILLS, Passage(skill.body, skill.source)
    for callee in given.invokable:
        yield from ((Slot.SKILLS, Passage(text, callee.source)) for text in (callee.title, callee.role_hint))
    yield from ((Slot.MEMORY, text) for text in _remembered(given.memory))
    yield from ((Slot.PROFILE, text) for text in _texts(given.profile))


def _given(passage: Passage | None) -> tuple[Passage, ...]:
    return (passage,) if passage else ()


def _texts(held: IdentityCard | Persona | Profile | None) -> Iterator[Passage]:
    """The passages among a value's fields."""
    for field in fields(held) if held else ():
        yield from _given(getattr(held, field.name))


def _remembered(memory: Memory | None) -> Iterator[Passage]:
    if memory is None:
        return
    yield from (block.passage for block in memory.blocks)
    for tier in (memory.body, memory.short, memory.mid, memory.long, memory.reminders, memory.scratch, memory.tasks):
        yield from tier
