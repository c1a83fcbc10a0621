"""What has to stand in a rendered request, said without the renderer: by the inputs and the sanitizer alone."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Final

from apps.prompt import text_limits
from apps.prompt.instruction_texts import CARD_LABELS, TIER_DESCRIPTIONS, TIER_LINE
from apps.prompt.parsing.system_prompt import ParsedSection
from apps.prompt.parsing.user_turn import ParsedEvent, ParsedTurn
from apps.prompt.prompt_input import (
    NOTEBOOK_TIER,
    EventKind,
    MemoryInput,
    Passage,
    PersonaInput,
    ProfileInput,
    PromptInput,
    SanitizerRule,
    SkillIndex,
    SkillInput,
    Slot,
    TextProvenance,
    TurnEvent,
    TurnInput,
)
from apps.prompt.rendering.data_fences import Json
from apps.prompt.sanitizer.clean import sanitize

Slots = dict[Slot, list[ParsedSection]]
_OWNERS: Final = frozenset({EventKind.OPERATOR, EventKind.SCHEDULE})
_LOOKS_LIKE_A_BRACKET: Final = frozenset("<>\u00ab\u00bb\u2039\u203a\uff1c\uff1e\u226a\u226b\u227a\u227b")


@lru_cache(maxsize=4096)
def canonical(text: str, cap: int = text_limits.SECTION_CHARACTERS) -> str:
    """The sanitizer's output, without white space around it: what a payload or a section has to hold."""
    return sanitize(text, cap).text.strip()


def one_line(text: str, cap: int) -> str:
    return " ".join(canonical(" ".join(text.split()), cap).split())


def scrub_name(text: str, cap: int = text_limits.IDENTITY_CHARACTERS) -> str:
    """One line without anything that opens or closes, round brackets excepted, and clean as it then stands."""
    bare = " ".join("".join(" " if _is_bracket(letter) else letter for letter in text).split())
    clean = one_line(bare, cap)
    return clean if clean == bare else scrub_name(clean, cap)


def _is_bracket(letter: str) -> bool:
    opens_or_closes = unicodedata.category(letter) in {"Ps", "Pe"} and letter not in "()"
    return opens_or_closes or letter in _LOOKS_LIKE_A_BRACKET


def expected_sections(given: PromptInput) -> Slots:
    """The sections of each slot, in their order; a slot without sections is not there."""
    slots = {
        Slot.PERSONA: list(_persona(given)),
        Slot.CONTRACT: list(_contract(given)),
        Slot.SKILLS: list(_skills(given)),
        Slot.MEMORY: list(_memory(given.memory or MemoryInput(), given.tier)) if given.tier > 1 else [],
        Slot.PROFILE: list(_profile(given.profile or ProfileInput(), given.tier)) if given.tier > 1 else [],
    }
    return {slot: sections for slot, sections in slots.items() if sections}


def _text(passage: Passage | None, cap: int = text_limits.SECTION_CHARACTERS) -> str:
    return canonical(passage.text, cap) if passage else ""


def _persona(given: PromptInput) -> Iterator[ParsedSection]:
    persona, card = given.persona or PersonaInput(), given.identity_card
    known = {label: getattr(card, name) for name, label in CARD_LABELS.items()} if card else {}
    lines = {label: one_line(text.text, text_limits.CARD_CHARACTERS) for label, text in known.items() if text}
    texts = {
        "card": "\n".join(f"{label}: {line}" for label, line in lines.items() if line),
        "identity": _text(persona.identity),
        "style": _text(persona.style),
        "avoid": _text(persona.avoid),
        "defaults": _text(persona.defaults),
        "goals": _text(persona.goals),
        "overlay": _text(given.overlay),
    }
    shown = texts if given.tier > 1 else {name: texts[name] for name in ("card", "identity", "avoid")}
    yield from (ParsedSection(name, prose=text) for name, text in shown.items() if text)


def _contract(given: PromptInput) -> Iterator[ParsedSection]:
    yield ParsedSection("core", given.flavour.value)
    yield ParsedSection("disclosure", given.disclosure.value)
    if not _is_written(given):
        return
    override = _text(given.contract_override, text_limits.CONTRACT_CHARACTERS)
    yield ParsedSection("override", prose=override) if override else ParsedSection("contract")
    if given.skills_guidance:
        yield ParsedSection("guidance")
    for name, rules in (("organisation_rules", given.organisation_rules), ("agent_rules", given.agent_rules)):
        texts = [text for text, _ in _capped_texts(rules, text_limits.RULES_CHARACTERS, text_limits.SECTION_CHARACTERS)]
        if texts:
            yield ParsedSection(name, prose="\n\n".join(texts))


def _sort_passages(passages: Iterable[Passage]) -> list[Passage]:
    return sorted(passages, key=lambda one: (one.position, *_source_key(one.source)))


def _source_key(source: TextProvenance | None) -> tuple[str, int, str]:
    return (source.record_type, source.record_id, source.field) if source else ("event", 0, "")


def _capped_texts(passages: Iterable[Passage], total: int, single: int) -> Iterator[tuple[str, bool]]:
    """The passages that say something, and whether a person let them through; together no longer than the total."""
    for passage in _sort_passages(passages):
        if text := canonical(passage.text, min(single, total)):
            total -= len(text)
            yield text, bool(passage.source.approver)


def _is_written(given: PromptInput) -> bool:
    """Whether anybody wrote anything about the agent; a profile is the customer's and does not count."""
    values = (given.identity_card, given.persona, given.memory, given.overlay, given.contract_override)
    texts = [text for value in values for text in _texts_of(value)]
    texts += [rule.text for rule in (*given.organisation_rules, *given.agent_rules)]
    return bool(given.skills or given.invokable) or any(text.strip() for text in texts)


def _texts_of(value: object) -> Iterator[str]:
    """Every passage's text in a value, however deep."""
    if isinstance(value, Passage):
        yield value.text
    elif isinstance(value, tuple):
        for item in value:
            yield from _texts_of(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _texts_of(getattr(value, field.name))


def _skills(given: PromptInput) -> Iterator[ParsedSection]:
    chosen = sorted(given.skills, key=lambda one: (-one.use_count, one.name, one.skill_id))[: text_limits.SKILLS_SHOWN]
    for skill in sorted(chosen, key=lambda one: (one.name, one.skill_id)):
        yield from _skill(skill, given.skill_index)
    if more := max(0, len(given.skills) - text_limits.SKILLS_SHOWN):
        yield ParsedSection("more_skills", f"({more} more not shown: use `list_skills`.)")
    for agent in sorted(given.invokable, key=lambda one: (one.agent_key, *_source_key(one.source))):
        key, title = scrub_name(agent.agent_key), scrub_name(agent.title)
        hint = scrub_name(agent.role_hint, text_limits.SKILL_DESCRIPTION_CHARACTERS)
        if key:
            yield ParsedSection("invokable", key + (f" ({title})" if title else "") + (f" — {hint}" if hint else ""))


def _skill(skill: SkillInput, index: SkillIndex) -> Iterator[ParsedSection]:
    description = one_line(skill.description or skill.title, text_limits.SKILL_DESCRIPTION_CHARACTERS)
    yield ParsedSection(
        "skill", f"{one_line(skill.name, text_limits.SKILL_NAME_CHARACTERS)} (id: {skill.skill_id})", description
    )
    if index is SkillIndex.LAZY:
        return
    body = sanitize(skill.body, text_limits.SKILL_BODY_CHARACTERS)
    if body.text.strip():
        yield ParsedSection("skill_body", prose=body.text.strip())
    if SanitizerRule.TRUNCATED in body.notes:
        yield ParsedSection("cut_skill")


def _memory(memory: MemoryInput, tier: int) -> Iterator[ParsedSection]:
    known = [*_memory_section("body", memory.body, text_limits.SECTION_CHARACTERS)]
    for block in sorted(memory.blocks, key=lambda one: (one.label, *_source_key(one.passage.source))):
        label = scrub_name(block.label, text_limits.BLOCK_LABEL_CHARACTERS) or "unnamed"
        known += _memory_section("block", [block.passage], text_limits.SECTION_CHARACTERS, label)
    known += _memory_section("short", memory.short, text_limits.SHORT_MEMORY_CHARACTERS)
    known += _memory_section("mid", memory.mid, text_limits.MID_MEMORY_CHARACTERS)
    known += _memory_section("reminders", memory.reminders, text_limits.SECTION_CHARACTERS)
    known += _memory_section("long", memory.long, text_limits.LONG_MEMORY_CHARACTERS) if tier >= 3 else []
    notes = [*_memory_section("scratch", memory.scratch, text_limits.SECTION_CHARACTERS)] if tier >= 4 else []
    notes += _memory_section("tasks", memory.tasks, text_limits.SECTION_CHARACTERS) if tier >= 4 else []
    if not known and not notes:
        return
    yield from known
    if tier in TIER_DESCRIPTIONS:
        yield ParsedSection("tier", prose=TIER_LINE.format(tier=tier, highest=4, shown=TIER_DESCRIPTIONS[tier]))
    yield from notes


def _memory_section(name: str, passages: Iterable[Passage], cap: int, label: str = "") -> Iterator[ParsedSection]:
    """Prose first, data behind it."""
    texts = list(_capped_texts(passages, cap, cap))
    bullet = "- " if name in {"reminders", "tasks"} else ""
    prose = "\n".join(bullet + text for text, is_approved in texts if is_approved)
    data = tuple(text for text, is_approved in texts if not is_approved)
    if prose or data:
        yield ParsedSection(name, label, prose, data)


def _profile(profile: ProfileInput, tier: int) -> Iterator[ParsedSection]:
    texts = {"notes": _text(profile.notes), "preferences": _text(profile.preferences)}
    known: dict[str, Json] = {name: text for name, text in texts.items() if text}
    for name in ("reminders", "tasks", "scratch") if tier >= NOTEBOOK_TIER else ("reminders",):
        capped = _capped_texts(getattr(profile, name), text_limits.SECTION_CHARACTERS, text_limits.SECTION_CHARACTERS)
        if noted := [text for text, _ in capped]:
            known[name] = noted
    if known:
        yield ParsedSection("profile", data=(known,))


def expected_turn(given: TurnInput) -> ParsedTurn:
    """What reading the user turn has to give."""
    bullets = list(_bullets(given))[: text_limits.LEARNING_BULLETS]
    return ParsedTurn(
        now_line=given.now_line or "",
        off_the_record=given.off_the_record,
        line_cards=tuple(_cards(given)),
        delegated_by=(scrub_name(given.delegation.parent_title) or "unknown") if given.delegation else "",
        send_mode=given.send_mode,
        open_escalations=given.open_escalations,
        learning=tuple(text for text, is_approved in bullets if is_approved),
        unapproved_learning=tuple(text for text, is_approved in bullets if not is_approved),
        examples=tuple(_examples(given)),
        events=tuple(map(_event, sorted(given.events, key=_event_sort_key))),
        save_with=given.save_with,
    )


def _event_sort_key(event: TurnEvent) -> tuple[object, ...]:
    return event.at, _source_key(event.source), event.kind.value, event.key, event.name, event.line, event.text


def _cards(given: TurnInput) -> Iterator[str]:
    for card in sorted(given.line_cards, key=lambda one: (one.line, *_source_key(one.assigned_name.source))):
        line, name = scrub_name(card.line), scrub_name(card.assigned_name.text)
        title = scrub_name(card.assigned_title.text) if card.assigned_title else ""
        if line and name:
            yield f"{line} the contact person is {name}" + (f", {title}" if title else "")


def _bullets(given: TurnInput) -> Iterator[tuple[str, bool]]:
    for passage in _sort_passages(given.learning):
        for line in passage.text.split("\n"):
            if bullet := one_line(line.lstrip(" \t-*\u2022"), text_limits.LEARNING_BULLET_CHARACTERS):
                yield bullet, bool(passage.source.approver)


def _examples(given: TurnInput) -> Iterator[dict[str, str]]:
    for example in sorted(given.examples, key=lambda one: (one.draft.position, *_source_key(one.draft.source))):
        texts = {"correction": example.correction, "draft": example.draft, "situation": example.situation}
        example_fields = {name: text for name, passage in texts.items() if (text := _text(passage))}
        if "correction" in example_fields:
            yield example_fields


def _event(event: TurnEvent) -> ParsedEvent:
    clean = sanitize(event.text, text_limits.EVENT_CHARACTERS)
    is_cut = SanitizerRule.TRUNCATED in clean.notes
    if event.kind in _OWNERS:
        return ParsedEvent(event.kind, clean.text.strip(), is_cut=is_cut)
    name, key = _sender(event.name), _sender(event.key)
    line = _sender(event.line) if event.line else ""
    return ParsedEvent(event.kind, clean.text, name, key, line, is_cut)


def _sender(text: str) -> str:
    """Who sent it, in a header: nobody but an owner is called one there."""
    claim = r"\bfrom\W{1,8}your\W{1,8}owner\b"
    return re.sub(claim, "redacted", scrub_name(text), flags=re.IGNORECASE) or "unknown"
