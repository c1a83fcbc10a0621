"""Requests with somebody's text in every field of one place, and small talk everywhere else."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from apps.prompt.learning_prompts.extraction import TranscriptLine
from apps.prompt.prompt_input import (
    CorrectionExample,
    Delegation,
    EventKind,
    Flavour,
    IdentityCardInput,
    InvokableAgentInput,
    LineCard,
    MemoryInput,
    PersonaInput,
    PinnedBlock,
    ProfileInput,
    PromptInput,
    SendMode,
    SkillIndex,
    SkillInput,
    TurnEvent,
    TurnInput,
)
from apps.prompt.rendering.data_fences import date_line
from tests.prompt.input_factories import passage, source, unapproved_passage

NOON: Final = datetime(2026, 5, 9, 12, 0, tzinfo=UTC)
PLAIN_PROMPT: Final = PromptInput(
    agent_key="ada", persona=PersonaInput(identity=passage("You are Ada.", 1)), skills_guidance=True
)
PLAIN_TURN: Final = TurnInput(
    events=(TurnEvent(EventKind.MESSAGE, "Hello", NOON, "Ann", "ann-1"),), now_line=date_line(NOON)
)


@dataclass(frozen=True)
class PlantedRequest:
    """One request, and what its transcript holds if it is the extractor's."""

    prompt: PromptInput = PLAIN_PROMPT
    turn: TurnInput = PLAIN_TURN
    transcript: tuple[TranscriptLine, ...] = field(default=())


def plant_in_profile(text: str) -> PlantedRequest:
    return PlantedRequest(
        replace(
            PLAIN_PROMPT, profile=ProfileInput(unapproved_passage(text, 1), unapproved_passage(f"{text}\n{text}", 1))
        )
    )


def plant_in_memory(text: str) -> PlantedRequest:
    """What an agent wrote alone, in every tier, beside lines that a person approved."""
    both = (passage("Approved.", 1), unapproved_passage(text, 2), unapproved_passage(f"Note:\n{text}", 3))
    memory = MemoryInput(
        both,
        (PinnedBlock(text, unapproved_passage(text, 4)), PinnedBlock("Facts", passage(text, 5))),
        both,
        both,
        both,
        both,
        both,
        both,
    )
    return PlantedRequest(replace(PLAIN_PROMPT, tier=4, memory=memory))


def plant_in_skills(text: str) -> PlantedRequest:
    """What an agent drafted and a person approved, and what another agent's owner called it."""
    skills = tuple(
        SkillInput(number, name, text, description, number, source("skill", number, ""), f"## Procedure\n{text}")
        for number, name, description in ((1, "refund", text), (2, "exchange", ""), (3, "a", f"- x\n{text}"))
    )
    agents = (
        InvokableAgentInput("billing", text, text, source("agent", 5)),
        InvokableAgentInput(f"x{text}", "", "", source("agent", 6)),
    )
    return PlantedRequest(replace(PLAIN_PROMPT, skills=skills, invokable=agents))


def plant_in_full_skills(text: str) -> PlantedRequest:
    planted = plant_in_skills(text)
    return replace(planted, prompt=replace(planted.prompt, skill_index=SkillIndex.FULL, flavour=Flavour.ASSISTANT))


def plant_in_operator_text(text: str) -> PlantedRequest:
    """Approved prose may say what it likes but not open a section."""
    approved_passage = passage(text, 1)
    both = (approved_passage, passage(f"Rule.\n{text}", 2))
    prompt = replace(
        PLAIN_PROMPT,
        identity_card=IdentityCardInput(*[approved_passage] * 7),
        persona=PersonaInput(*[approved_passage] * 5),
        overlay=approved_passage,
        contract_override=approved_passage,
        organisation_rules=both,
        agent_rules=both,
        memory=MemoryInput(both, (PinnedBlock("x", approved_passage),), both, both, both, both, both, both),
        tier=4,
    )
    events = (
        TurnEvent(EventKind.OPERATOR, text, NOON),
        TurnEvent(EventKind.SCHEDULE, f"Do:\n{text}", NOON.replace(hour=13)),
    )
    return PlantedRequest(
        prompt, replace(PLAIN_TURN, events=events, learning=(approved_passage,), send_mode=SendMode.OBSERVE)
    )


def plant_in_turn(text: str) -> PlantedRequest:
    """Everything that differs from turn to turn."""
    events = tuple(
        TurnEvent(kind, text, NOON.replace(hour=hour), text, f"{hour} {text}", text)
        for hour, kind in enumerate((EventKind.MESSAGE, EventKind.SMS, EventKind.CALL))
    )
    turn = TurnInput(
        events=(*events, TurnEvent(EventKind.OPERATOR, "Be kind.", NOON)),
        now_line=date_line(NOON),
        off_the_record=True,
        delegation=Delegation(text, source("turn", 1)),
        send_mode=SendMode.SUGGEST,
        open_escalations=2,
        save_with="skill_save",
        line_cards=(LineCard(text, passage(text, 1), passage(text, 1)),),
        learning=(passage("Be brief.", 1), unapproved_passage(text, 2)),
        examples=(
            CorrectionExample(unapproved_passage(text, 1), unapproved_passage(text, 1), unapproved_passage(text, 1)),
        ),
    )
    return PlantedRequest(turn=turn)


def plant_in_transcript(text: str) -> PlantedRequest:
    return PlantedRequest(
        transcript=(
            TranscriptLine("customer", text),
            TranscriptLine("agent", "", text, {"order": text, "nested": [text, {"deep": text}]}),
            TranscriptLine("tool", text, "get_order", is_error=True),
        )
    )


PLANTING_PLACES: Final[Mapping[str, Callable[[str], PlantedRequest]]] = {
    "profile": plant_in_profile,
    "memory": plant_in_memory,
    "skill index": plant_in_skills,
    "whole skills": plant_in_full_skills,
    "operators' words": plant_in_operator_text,
    "user turn": plant_in_turn,
    "transcript": plant_in_transcript,
}
