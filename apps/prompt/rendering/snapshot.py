"""The frozen prompt of a session, slots 1-5, from rows that the caller has already read.

The default prompt is the platform core and the statement about being an AI. A run without an agent, or with an agent that has no
texts, gets exactly that prompt (R001, R045). Once the agent has a text, the contract also contains the rules, and the part about
remembered text and skills, which an operator may reword. Neither the context tier nor the customer's profile changes slot 2, and
the profile changes only its own slot: slots 1-4 are shared by all customers of the agent.
"""

from collections.abc import Iterable
from typing import Final

from apps.prompt.instruction_texts import (
    AGENT_RULES_TITLE,
    CARD_LABELS,
    CORE_TEXTS,
    DISCLOSURE_TEXTS,
    GOALS_LEAD,
    OPERATING_CONTRACT,
    ORGANISATION_RULES_TITLE,
    PERSONA_TITLES,
    PROFILE_LEAD,
    SKILLS_GUIDANCE,
    SLOT_TITLES,
)
from apps.prompt.prompt_input import (
    NOTEBOOK_TIER,
    TIERS,
    Disclosure,
    Flavour,
    IdentityCardInput,
    Passage,
    PersonaInput,
    ProfileInput,
    PromptInput,
    Slot,
    SlotOrder,
    input_passages,
)
from apps.prompt.rendering.data_fences import fence_segments, object_payload
from apps.prompt.rendering.memory_slot import render_memory_slot
from apps.prompt.rendering.passages import (
    LINE_BREAK,
    PARAGRAPH_BREAK,
    PassageRenderer,
    SegmentList,
    join_segments,
    line_segments,
    template_segment,
    titled_section,
    titled_slot,
)
from apps.prompt.rendering.segments import PromptSnapshot, Segment, SlotText
from apps.prompt.rendering.skill_slot import render_skill_slot
from apps.prompt.text_limits import CARD_CHARACTERS, CONTRACT_CHARACTERS, RULES_CHARACTERS, SECTION_CHARACTERS

_SLOT_ORDERS: Final = {
    SlotOrder.PERSONA_FIRST: (Slot.PERSONA, Slot.CONTRACT, Slot.SKILLS, Slot.MEMORY, Slot.PROFILE),
    SlotOrder.CONTRACT_FIRST: (Slot.CONTRACT, Slot.PERSONA, Slot.SKILLS, Slot.MEMORY, Slot.PROFILE),
}
_TIER_ONE_SECTIONS: Final = frozenset({"identity", "avoid"})
_CORES: Final = {flavour: template_segment(name, text) for flavour, (name, text) in CORE_TEXTS.items()}
_DISCLOSURES: Final = {
    policy: template_segment(f"disclosure.{policy}", text) for policy, text in DISCLOSURE_TEXTS.items()
}
_CONTRACT: Final = template_segment("operating_contract", OPERATING_CONTRACT)
_GUIDANCE: Final = template_segment("skills_guidance", SKILLS_GUIDANCE)
_GOALS_LEAD: Final = template_segment("lead.goals", f"{GOALS_LEAD}\n")
_PROFILE_LEAD: Final = template_segment("lead.profile", PROFILE_LEAD)


def render_snapshot(given: PromptInput) -> PromptSnapshot:
    """Return the snapshot. Equal values give equal bytes on any machine and for any order of the rows."""
    if given.tier not in TIERS:
        raise ValueError(f"There is no context tier {given.tier}. Choose 1, 2, 3 or 4.")
    if given.agent_key is None:
        return PromptSnapshot((SlotText(Slot.CONTRACT, tuple(_core(given.flavour, given.disclosure))),))
    scribes = {slot: PassageRenderer(slot) for slot in _SLOT_ORDERS[SlotOrder.PERSONA_FIRST]}
    runs = {
        Slot.PERSONA: _persona(given, scribes[Slot.PERSONA]),
        Slot.CONTRACT: _contract(given, scribes[Slot.CONTRACT]),
        Slot.SKILLS: render_skill_slot(given, scribes[Slot.SKILLS]),
        Slot.MEMORY: render_memory_slot(given.memory, given.tier, scribes[Slot.MEMORY]),
        Slot.PROFILE: _profile(given, scribes[Slot.PROFILE]),
    }
    parts = tuple(SlotText(slot, tuple(runs[slot])) for slot in _SLOT_ORDERS[given.order] if runs[slot])
    return PromptSnapshot(parts, tuple(note for scribe in scribes.values() for note in scribe.notes))


def _core(flavour: Flavour, disclosure: Disclosure) -> SegmentList:
    return [_CORES[flavour], PARAGRAPH_BREAK, _DISCLOSURES[disclosure]]


def _persona(given: PromptInput, scribe: PassageRenderer) -> SegmentList:
    """Return the persona: tier 1 shows the identity card, identity and things to avoid, tier 2 adds the rest (R168, Z-23)."""
    persona = given.persona or PersonaInput()
    texts = {
        "identity": scribe.passage(persona.identity),
        "style": scribe.passage(persona.style),
        "avoid": scribe.passage(persona.avoid),
        "defaults": scribe.passage(persona.defaults),
        "goals": _with_lead(_GOALS_LEAD, scribe.passage(persona.goals)),
        "overlay": scribe.passage(given.overlay),
        "member_overlay": scribe.passage(given.member_overlay),
    }
    shown = {"card": _card(given.identity_card or IdentityCardInput(), scribe)}
    shown |= {name: run for name, run in texts.items() if given.tier > 1 or name in _TIER_ONE_SECTIONS}
    sections = [titled_section(name, PERSONA_TITLES[name], run) for name, run in shown.items()]
    return titled_slot("persona", SLOT_TITLES[Slot.PERSONA], sections)


def _with_lead(lead: Segment, run: SegmentList) -> SegmentList:
    return [lead, *run] if run else []


def _card(card: IdentityCardInput, scribe: PassageRenderer) -> SegmentList:
    """Return the identity card, one value per line (R186)."""
    return join_segments((_card_line(name, getattr(card, name), scribe) for name in CARD_LABELS), LINE_BREAK)


def _card_line(name: str, passage: Passage | None, scribe: PassageRenderer) -> SegmentList:
    if passage is None:
        return []
    card_text = scribe.one_line(passage.text, CARD_CHARACTERS)
    return _with_lead(
        template_segment(f"label.{name}", f"{CARD_LABELS[name]}: "), line_segments(card_text, passage.source)
    )


def _contract(given: PromptInput, scribe: PassageRenderer) -> SegmentList:
    core = _core(given.flavour, given.disclosure)
    if not _has_any_text(given):
        return core
    sections = [
        core,
        scribe.passage(given.contract_override, CONTRACT_CHARACTERS) or [_CONTRACT],
        [_GUIDANCE] if given.skills_guidance else [],
        _rules("organisation_rules", ORGANISATION_RULES_TITLE, given.organisation_rules, scribe),
        _rules("agent_rules", AGENT_RULES_TITLE, given.agent_rules, scribe),
    ]
    return join_segments(sections, PARAGRAPH_BREAK)


def _rules(name: str, title: str, rules: Iterable[Passage], scribe: PassageRenderer) -> SegmentList:
    passages = scribe.each(rules, RULES_CHARACTERS, SECTION_CHARACTERS)
    return titled_section(
        name, title, join_segments((line_segments(rule.text, rule.source) for rule in passages), PARAGRAPH_BREAK)
    )


def _has_any_text(given: PromptInput) -> bool:
    """Return whether the agent has any text; the profile does not count, because it belongs to the customer."""
    texts = (passage.text.strip() for slot, passage in input_passages(given) if slot is not Slot.PROFILE)
    return bool(given.skills or given.invokable) or any(texts)


def _profile(given: PromptInput, scribe: PassageRenderer) -> SegmentList:
    """Return the customer's profile, from tier 2 on, always as data, because a customer can influence it (R089).

    Tier 4 adds the tasks and scratch notes about the customer (R168).
    """
    if given.tier == 1:
        return []
    profile = given.profile or ProfileInput()
    runs = {"preferences": scribe.passage(profile.preferences), "notes": scribe.passage(profile.notes)}
    known = {name: run for name, run in runs.items() if run}
    noted = {"reminders": profile.reminders}
    if given.tier >= NOTEBOOK_TIER:
        noted |= {"tasks": profile.tasks, "scratch": profile.scratch}
    runs_of_notes = {name: _note_lines(passages, scribe) for name, passages in noted.items()}
    lists = {name: lines for name, lines in runs_of_notes.items() if lines}
    sections = [[_PROFILE_LEAD], fence_segments([object_payload(known, lists)])] if known or lists else []
    return titled_slot("profile", SLOT_TITLES[Slot.PROFILE], sections)


def _note_lines(notes: Iterable[Passage], scribe: PassageRenderer) -> list[SegmentList]:
    return [line_segments(each.text, each.source) for each in scribe.each(notes, SECTION_CHARACTERS)]
