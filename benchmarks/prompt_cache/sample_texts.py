"""Texts for the simulated month: sentences drawn from a small vocabulary, in the shapes that rows have."""

from random import Random

from apps.llm.model_backend import Json, ToolDefinition
from apps.prompt.prompt_input import (
    IdentityCardInput,
    MemoryInput,
    Passage,
    PersonaInput,
    ProfileInput,
    SkillInput,
    TextProvenance,
)

_VOCABULARY = (
    "order delivery refund invoice customer warehouse carrier return label parcel size colour stock account address "
    "payment card voucher discount reminder appointment contract renewal upgrade subscription warranty repair technician "
    "morning evening weekday holiday urgent polite short clear always never before after check confirm explain offer ask "
    "wait escalate forward note record prefer speak write call answer within without between until unless because their "
    "every other second new old open closed missing broken late early paid free local abroad small large blue green"
)
WORDS = _VOCABULARY.split()


def _sentence(rng: Random) -> str:
    return " ".join(rng.choices(WORDS, k=8)).capitalize() + "."


# Drawn once: a month needs a few million sentences.
SENTENCES = tuple(_sentence(Random(number)) for number in range(4096))
SENTENCE_CHARACTERS = 57


def prose(rng: Random, characters: int) -> str:
    """Return sentences of eight words, with about so many characters."""
    return " ".join(rng.choices(SENTENCES, k=-(-characters // SENTENCE_CHARACTERS)))


def text_of(*key: object, characters: int) -> str:
    """Return a text; the same key gives the same text in any run."""
    return prose(Random("/".join(map(str, key))), characters)


def passage(record_type: str, record_id: int, version: int, *, field: str = "body", characters: int) -> Passage:
    text = text_of(record_type, record_id, version, field, characters=characters)
    return Passage(text, TextProvenance(record_type, record_id, version, field, author="Robin", approver="Robin"))


def persona(agent_id: int, version: int) -> PersonaInput:
    """About 350 tokens."""
    sizes = {"identity": 280, "style": 220, "avoid": 160, "defaults": 160, "goals": 160}
    return PersonaInput(
        **{field: passage("persona", agent_id, version, field=field, characters=size) for field, size in sizes.items()}
    )


def card(agent_id: int) -> IdentityCardInput:
    name = passage("card", agent_id, 1, field="business_name", characters=20)
    hours = passage("card", agent_id, 1, field="hours", characters=40)
    return IdentityCardInput(business_name=name, hours=hours)


def memory(agent_id: int, version: int) -> MemoryInput:
    """About 500 tokens."""
    return MemoryInput(body=(passage("memory", agent_id, version, characters=1950),))


def profile(customer_id: int, version: int) -> ProfileInput:
    """About 180 tokens."""
    return ProfileInput(
        preferences=passage("profile", customer_id, version, field="preferences", characters=300),
        notes=passage("profile", customer_id, version, field="notes", characters=330),
    )


def skill(agent_id: int, number: int) -> SkillInput:
    """About 45 tokens in the index."""
    rng = Random(f"skill/{agent_id}/{number}")
    name = "-".join(rng.choices(WORDS, k=3)) + f"-{number}"
    described = prose(rng, 110)
    skill_id = agent_id * 1000 + number
    return SkillInput(
        skill_id, name, name, described, rng.randrange(500), TextProvenance("skill", skill_id, 1, "description")
    )


def tool(number: int, version: int) -> ToolDefinition:
    """About 180 tokens; a release rewords one tool."""
    name = f"tool_{number:02}"
    properties: dict[str, Json] = {
        f"argument_{place}": {"type": "string", "description": text_of(name, place, characters=60)}
        for place in range(3)
    }
    return ToolDefinition(
        name,
        text_of(name, version if number == 2 else 0, characters=150),
        {"type": "object", "properties": properties, "required": [], "additionalProperties": False},
    )
