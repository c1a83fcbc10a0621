"""The frozen prompt of a session, slots 1-5, from rows that the caller has already read.

The default prompt is the platform core of the operating contract. A run that names no agent, or an agent about which
nothing was written yet, gets exactly that text (R001, R045). As soon as the agent has a persona, a skill, a memory or a
rule, the contract goes on with the part about remembered text and skills, which an operator may reword, and with the
rules. A customer's profile never changes slots 1-4: they are shared by all customers of the agent.
"""

from collections.abc import Iterable, Iterator

from apps.prompt.budgets import (
    CONTRACT_CHARACTERS,
    SECTION_CHARACTERS,
    SKILL_DESCRIPTION_CHARACTERS,
    SKILL_NAME_CHARACTERS,
    SKILLS_SHOWN,
)
from apps.prompt.framing import fence
from apps.prompt.sanitizer import sanitize
from apps.prompt.values import Assembled, Memory, Note, Part, Persona, Profile, PromptInput, SkillLine, Slot
from apps.prompt.wording import (
    AGENT_RULES,
    DEFAULT_PROMPT,
    OPERATING_CONTRACT,
    ORGANISATION_RULES,
    PERSONA_TITLES,
    PROFILE_LEAD,
    SKILLS_GUIDANCE,
    SLOT_TITLES,
    UNAPPROVED_MEMORY_LEAD,
)


def assemble(given: PromptInput) -> Assembled:
    """The same values give the same bytes, whatever order the skills come in."""
    if given.agent_key is None:
        return Assembled((Part(Slot.CONTRACT, DEFAULT_PROMPT),))
    notes: list[Note] = []
    texts = {
        Slot.PERSONA: _persona(given.persona, notes),
        Slot.SKILLS: _skills(given.skills, notes),
        Slot.MEMORY: _memory(given.memory, notes),
    }
    texts[Slot.CONTRACT] = _contract(given, any(texts.values()), notes)
    texts[Slot.PROFILE] = _profile(given.profile, notes)
    parts = tuple(Part(slot, texts[slot]) for slot in Slot if texts[slot])
    return Assembled(parts, tuple(sorted(set(notes), key=lambda note: (note.slot, note.rule))))


def _clean(slot: Slot, text: str, cap: int, notes: list[Note]) -> str:
    cleaned = sanitize(text, cap)
    notes += [Note(slot, rule) for rule in cleaned.notes]
    return cleaned.text.strip()


def _titled(slot: Slot, sections: Iterable[str]) -> str:
    """Nothing to say leaves the slot out, title and all."""
    said = [section for section in sections if section]
    return "\n\n".join([f"# {SLOT_TITLES[slot]}", *said]) if said else ""


def _section(title: str, text: str) -> str:
    return f"## {title}\n{text}" if text else ""


def _persona(persona: Persona | None, notes: list[Note]) -> str:
    if persona is None:
        return ""
    fields = {
        "identity": persona.identity,
        "style": persona.style,
        "avoid": persona.avoid,
        "defaults": persona.defaults,
    }
    return _titled(
        Slot.PERSONA,
        (
            _section(PERSONA_TITLES[name], _clean(Slot.PERSONA, text, SECTION_CHARACTERS, notes))
            for name, text in fields.items()
        ),
    )


def _contract(given: PromptInput, has_learned: bool, notes: list[Note]) -> str:
    override = _clean(Slot.CONTRACT, given.contract_override or "", CONTRACT_CHARACTERS, notes)
    rules = tuple(_rules(given, notes))
    if not (has_learned or override or any(rules)):
        return DEFAULT_PROMPT
    guidance = SKILLS_GUIDANCE if given.skills_guidance else ""
    sections = (DEFAULT_PROMPT, override or OPERATING_CONTRACT, guidance, *rules)
    return "\n\n".join(section for section in sections if section)


def _rules(given: PromptInput, notes: list[Note]) -> Iterator[str]:
    for title, text in ((ORGANISATION_RULES, given.organisation_rules), (AGENT_RULES, given.agent_rules)):
        yield _section(title, _clean(Slot.CONTRACT, text, SECTION_CHARACTERS, notes))


def _skills(skills: tuple[SkillLine, ...], notes: list[Note]) -> str:
    """Chosen by use, shown by name: a count that moves must not move the lines (Z-10)."""
    chosen = sorted(skills, key=lambda skill: (-skill.use_count, skill.name, skill.skill_id))[:SKILLS_SHOWN]
    by_name = sorted(chosen, key=lambda skill: (skill.name, skill.skill_id))
    lines = [_skill_line(skill, notes) for skill in by_name]
    hidden = len(skills) - len(chosen)
    more = f"({hidden} more not shown: use `list_skills`.)" if hidden else ""
    return _titled(Slot.SKILLS, ("\n".join(lines), more))


def _skill_line(skill: SkillLine, notes: list[Note]) -> str:
    name = _one_line(skill.name, SKILL_NAME_CHARACTERS, notes)
    described = _one_line(skill.description or skill.title, SKILL_DESCRIPTION_CHARACTERS, notes)
    return f"- {name} (id: {skill.skill_id})" + (f" — {described}" if described else "")


def _one_line(text: str, cap: int, notes: list[Note]) -> str:
    return " ".join(_clean(Slot.SKILLS, " ".join(text.split()), cap, notes).split())


def _memory(memory: Memory | None, notes: list[Note]) -> str:
    """What a person passed stands as prose; what the agent wrote alone stands as data (Z-22)."""
    body = _clean(Slot.MEMORY, memory.body if memory else "", SECTION_CHARACTERS, notes)
    if memory is None or not body:
        return ""
    return _titled(Slot.MEMORY, (body,) if memory.approved else (UNAPPROVED_MEMORY_LEAD, fence(body)))


def _profile(profile: Profile | None, notes: list[Note]) -> str:
    if profile is None:
        return ""
    fields = {"preferences": profile.preferences, "notes": profile.notes}
    cleaned = {name: _clean(Slot.PROFILE, text, SECTION_CHARACTERS, notes) for name, text in fields.items()}
    known = {name: text for name, text in cleaned.items() if text}
    return _titled(Slot.PROFILE, (PROFILE_LEAD, fence(known))) if known else ""
