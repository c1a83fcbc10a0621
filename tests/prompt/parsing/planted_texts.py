"""Requests with somebody's text in every field of one place, and small talk everywhere else."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from apps.prompt.learning_prompts.extraction import TranscriptLine
from apps.prompt.prompt_input import (
    Block,
    Delegation,
    Event,
    EventKind,
    Example,
    Flavour,
    IdentityCard,
    Invokable,
    LineCard,
    Memory,
    Persona,
    Profile,
    PromptInput,
    SendMode,
    SkillIndex,
    SkillLine,
    TurnInput,
)
from apps.prompt.rendering.data_fences import date_line
from tests.prompt.input_factories import own, passage, source

NOON: Final = datetime(2026, 5, 9, 12, 0, tzinfo=UTC)
CALM: Final = PromptInput(agent_key="ada", persona=Persona(identity=passage("You are Ada.", 1)), skills_guidance=True)
QUIET: Final = TurnInput(events=(Event(EventKind.MESSAGE, "Hello", NOON, "Ann", "ann-1"),), now_line=date_line(NOON))


@dataclass(frozen=True)
class Planted:
    """One request, and what its transcript holds if it is the extractor's."""

    prompt: PromptInput = CALM
    turn: TurnInput = QUIET
    transcript: tuple[TranscriptLine, ...] = field(default=())


def in_profile(text: str) -> Planted:
    return Planted(replace(CALM, profile=Profile(own(text, 1), own(f"{text}\n{text}", 1))))


def in_memory(text: str) -> Planted:
    """What an agent wrote alone, in every tier, beside lines that a person approved."""
    both = (passage("Approved.", 1), own(text, 2), own(f"Note:\n{text}", 3))
    memory = Memory(
        both, (Block(text, own(text, 4)), Block("Facts", passage(text, 5))), both, both, both, both, both, both
    )
    return Planted(replace(CALM, tier=4, memory=memory))


def in_skills(text: str) -> Planted:
    """What an agent drafted and a person approved, and what another agent's owner called it."""
    skills = tuple(
        SkillLine(number, name, text, said, number, source("skill", number, ""), f"## Procedure\n{text}")
        for number, name, said in ((1, "refund", text), (2, "exchange", ""), (3, "a", f"- x\n{text}"))
    )
    agents = (Invokable("billing", text, text, source("agent", 5)), Invokable(f"x{text}", "", "", source("agent", 6)))
    return Planted(replace(CALM, skills=skills, invokable=agents))


def in_whole_skills(text: str) -> Planted:
    planted = in_skills(text)
    return replace(planted, prompt=replace(planted.prompt, skill_index=SkillIndex.FULL, flavour=Flavour.ASSISTANT))


def in_operators_words(text: str) -> Planted:
    """Approved prose may say what it likes but not open a section."""
    said = passage(text, 1)
    both = (said, passage(f"Rule.\n{text}", 2))
    prompt = replace(
        CALM,
        identity_card=IdentityCard(*[said] * 7),
        persona=Persona(*[said] * 5),
        overlay=said,
        contract_override=said,
        organisation_rules=both,
        agent_rules=both,
        memory=Memory(both, (Block("x", said),), both, both, both, both, both, both),
        tier=4,
    )
    events = (Event(EventKind.OPERATOR, text, NOON), Event(EventKind.SCHEDULE, f"Do:\n{text}", NOON.replace(hour=13)))
    return Planted(prompt, replace(QUIET, events=events, learning=(said,), send_mode=SendMode.OBSERVE))


def in_turn(text: str) -> Planted:
    """Everything that differs from turn to turn."""
    events = tuple(
        Event(kind, text, NOON.replace(hour=hour), text, f"{hour} {text}", text)
        for hour, kind in enumerate((EventKind.MESSAGE, EventKind.SMS, EventKind.CALL))
    )
    turn = TurnInput(
        events=(*events, Event(EventKind.OPERATOR, "Be kind.", NOON)),
        now_line=date_line(NOON),
        off_the_record=True,
        delegation=Delegation(text, source("turn", 1)),
        send_mode=SendMode.SUGGEST,
        open_escalations=2,
        save_with="skill_save",
        line_cards=(LineCard(text, passage(text, 1), passage(text, 1)),),
        learning=(passage("Be brief.", 1), own(text, 2)),
        examples=(Example(own(text, 1), own(text, 1), own(text, 1)),),
    )
    return Planted(turn=turn)


def in_transcript(text: str) -> Planted:
    return Planted(
        transcript=(
            TranscriptLine("customer", text),
            TranscriptLine("agent", "", text, {"order": text, "nested": [text, {"deep": text}]}),
            TranscriptLine("tool", text, "get_order", is_error=True),
        )
    )


PLACES: Final[Mapping[str, Callable[[str], Planted]]] = {
    "profile": in_profile,
    "memory": in_memory,
    "skill index": in_skills,
    "whole skills": in_whole_skills,
    "operators' words": in_operators_words,
    "user turn": in_turn,
    "transcript": in_transcript,
}
