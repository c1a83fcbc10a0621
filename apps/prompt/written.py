"""The texts of a prompt's input that somebody wrote, in one place for whoever has to look at each of them."""

from collections.abc import Iterator
from dataclasses import fields

from apps.prompt.values import IdentityCard, Memory, Passage, Persona, Profile, PromptInput, Slot


def passages(given: PromptInput) -> Iterator[tuple[Slot, Passage]]:
    """The texts of an input that somebody wrote, with the slot each belongs to."""
    for held in (given.identity_card, given.persona):
        yield from ((Slot.PERSONA, text) for text in _texts(held))
    yield from ((Slot.PERSONA, text) for text in (*_given(given.overlay), *_given(given.member_overlay)))
    contract = (*_given(given.contract_override), *given.organisation_rules, *given.agent_rules)
    yield from ((Slot.CONTRACT, text) for text in contract)
    for skill in given.skills:
        yield from ((Slot.SKILLS, Passage(text, skill.source)) for text in (skill.name, skill.title, skill.description))
        yield Slot.SKILLS, Passage(skill.body, skill.source)
    for callee in given.invokable:
        yield from ((Slot.SKILLS, Passage(text, callee.source)) for text in (callee.title, callee.role_hint))
    yield from ((Slot.MEMORY, text) for text in _remembered(given.memory))
    yield from ((Slot.PROFILE, text) for text in _known_of(given.profile))


def _given(passage: Passage | None) -> tuple[Passage, ...]:
    return (passage,) if passage else ()


def _texts(held: IdentityCard | Persona | None) -> Iterator[Passage]:
    """The passages among a value's fields."""
    for each in fields(held) if held else ():
        yield from _given(getattr(held, each.name))


def _known_of(profile: Profile | None) -> Iterator[Passage]:
    if profile is not None:
        yield from (*_given(profile.preferences), *_given(profile.notes), *profile.reminders)


def _remembered(memory: Memory | None) -> Iterator[Passage]:
    if memory is None:
        return
    yield from (block.passage for block in memory.blocks)
    for tier in (memory.body, memory.short, memory.mid, memory.long, memory.reminders, memory.scratch, memory.tasks):
        yield from tier
