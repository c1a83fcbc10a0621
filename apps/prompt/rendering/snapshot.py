"""The frozen prompt of a session, slots 1-5, from rows that the caller has already read.

The default prompt is the platform core and what the agent says about being an AI. A run that names no agent, or an
agent about which nothing was written yet, gets exactly that text (R001, R045). As soon as something is written, the
contract goes on with the part about remembered text and skills, which an operator may reword, and with the rules.
Neither the context tier nor the customer's profile changes slot 2, and the profile changes no slot but its own: slots
1-4 are shared by all customers of the agent.
"""

from collections.abc import Iterable
from typing import Final

from apps.prompt.instruction_texts import (
    AGENT_RULES,
    CARD_LABELS,
    CORES,
    DISCLOSURES,
    GOALS_LEAD,
    OPERATING_CONTRACT,
    ORGANISATION_RULES,
    PERSONA_TITLES,
    PROFILE_LEAD,
    SKILLS_GUIDANCE,
    SLOT_TITLES,
)
from apps.prompt.prompt_input import (
    TIERS,
    Disclosure,
    Flavour,
    IdentityCard,
    Passage,
    Persona,
    Profile,
    PromptInput,
    Slot,
    SlotOrder,
    passages,
)
from apps.prompt.rendering.data_fences import fenced, object_payload
from apps.prompt.rendering.memory_slot import remembered
from apps.prompt.rendering.passages import BREAK, GAP, Run, Scribe, lines, section, strung, titled, words
from apps.prompt.rendering.segments import Assembled, Part, Segment
from apps.prompt.rendering.skill_slot import skill_index
from apps.prompt.text_limits import CARD_CHARACTERS, CONTRACT_CHARACTERS, RULES_CHARACTERS, SECTION_CHARACTERS

_ORDERS: Final = {
    SlotOrder.PERSONA_FIRST: (Slot.PERSONA, Slot.CONTRACT, Slot.SKILLS, Slot.MEMORY, Slot.PROFILE),
    SlotOrder.CONTRACT_FIRST: (Slot.CONTRACT, Slot.PERSONA, Slot.SKILLS, Slot.MEMORY, Slot.PROFILE),
}
_AT_TIER_ONE: Final = frozenset({"identity", "avoid"})
_CORES: Final = {flavour: words(name, text) for flavour, (name, text) in CORES.items()}
_DISCLOSURES: Final = {policy: words(f"disclosure.{policy}", text) for policy, text in DISCLOSURES.items()}
_CONTRACT: Final = words("operating_contract", OPERATING_CONTRACT)
_GUIDANCE: Final = words("skills_guidance", SKILLS_GUIDANCE)
_GOALS_LEAD: Final = words("lead.goals", f"{GOALS_LEAD}\n")
_PROFILE_LEAD: Final = words("lead.profile", PROFILE_LEAD)


def assemble(given: PromptInput) -> Assembled:
    """The same values give the same bytes, on any machine and whatever order the rows come in."""
    if given.tier not in TIERS:
        raise ValueError(f"There is no context tier {given.tier}. Choose 1, 2, 3 or 4.")
    if given.agent_key is None:
        return Assembled((Part(Slot.CONTRACT, tuple(_core(given.flavour, given.disclosure))),))
    scribes = {slot: Scribe(slot) for slot in _ORDERS[SlotOrder.PERSONA_FIRST]}
    runs = {
        Slot.PERSONA: _persona(given, scribes[Slot.PERSONA]),
        Slot.CONTRACT: _contract(given, scribes[Slot.CONTRACT]),
        Slot.SKILLS: skill_index(given, scribes[Slot.SKILLS]),
        Slot.MEMORY: remembered(given.memory, given.tier, scribes[Slot.MEMORY]),
        Slot.PROFILE: _profile(given, scribes[Slot.PROFILE]),
    }
    parts = tuple(Part(slot, tuple(runs[slot])) for slot in _ORDERS[given.order] if runs[slot])
    return Assembled(parts, tuple(note for scribe in scribes.values() for note in scribe.notes))


def _core(flavour: Flavour, disclosure: Disclosure) -> Run:
    return [_CORES[flavour], GAP, _DISCLOSURES[disclosure]]


def _persona(given: PromptInput, scribe: Scribe) -> Run:
    """The first tier shows who is represented, who speaks and what never happens; the second adds the rest (R168, Z-23)."""
    persona = given.persona or Persona()
    texts = {
        "identity": scribe.passage(persona.identity),
        "style": scribe.passage(persona.style),
        "avoid": scribe.passage(persona.avoid),
        "defaults": scribe.passage(persona.defaults),
        "goals": _led(_GOALS_LEAD, scribe.passage(persona.goals)),
        "overlay": scribe.passage(given.overlay),
        "member_overlay": scribe.passage(given.member_overlay),
    }
    shown = {"card": _card(given.identity_card or IdentityCard(), scribe)}
    shown |= {name: run for name, run in texts.items() if given.tier > 1 or name in _AT_TIER_ONE}
    sections = [section(name, PERSONA_TITLES[name], run) for name, run in shown.items()]
    return titled("persona", SLOT_TITLES[Slot.PERSONA], sections)


def _led(lead: Segment, run: Run) -> Run:
    return [lead, *run] if run else []


def _card(card: IdentityCard, scribe: Scribe) -> Run:
    """One line for each thing that is known (R186)."""
    return strung((_labelled(name, getattr(card, name), scribe) for name in CARD_LABELS), BREAK)


def _labelled(name: str, passage: Passage | None, scribe: Scribe) -> Run:
    if passage is None:
        return []
    said = scribe.one_line(passage.text, CARD_CHARACTERS)
    return _led(words(f"label.{name}", f"{CARD_LABELS[name]}: "), lines(said, passage.source))


def _contract(given: PromptInput, scribe: Scribe) -> Run:
    core = _core(given.flavour, given.disclosure)
    if not _is_written(given):
        return core
    sections = [
        core,
        scribe.passage(given.contract_override, CONTRACT_CHARACTERS) or [_CONTRACT],
        [_GUIDANCE] if given.skills_guidance else [],
        _rules("organisation_rules", ORGANISATION_RULES, given.organisation_rules, scribe),
        _rules("agent_rules", AGENT_RULES, given.agent_rules, scribe),
    ]
    return strung(sections, GAP)


def _rules(name: str, title: str, rules: Iterable[Passage], scribe: Scribe) -> Run:
    passages = scribe.each(rules, RULES_CHARACTERS, SECTION_CHARACTERS)
    return section(name, title, strung((lines(rule.text, rule.source) for rule in passages), GAP))


def _is_written(given: PromptInput) -> bool:
    """Whether the agent has a row that says something; a profile is the customer's and does not count."""
    said = (passage.text.strip() for slot, passage in passages(given) if slot is not Slot.PROFILE)
    return bool(given.skills or given.invokable) or any(said)


def _profile(given: PromptInput, scribe: Scribe) -> Run:
    """One customer's own, from the second tier on; always data, for a customer had a hand in it (R089)."""
    if given.tier == 1:
        return []
    profile = given.profile or Profile()
    runs = {"preferences": scribe.passage(profile.preferences), "notes": scribe.passage(profile.notes)}
    known = {name: run for name, run in runs.items() if run}
    reminders = [lines(each.text, each.source) for each in scribe.each(profile.reminders, SECTION_CHARACTERS)]
    lists = {"reminders": reminders} if reminders else {}
    sections = [[_PROFILE_LEAD], fenced([object_payload(known, lists)])] if known or lists else []
    return titled("profile", SLOT_TITLES[Slot.PROFILE], sections)
