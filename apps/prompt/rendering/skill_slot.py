"""Slot 3: the approved skills, a line each or whole, and the agents this one may ask."""

from collections.abc import Iterable
from typing import Final

from apps.prompt.instruction_texts import (
    CUT_SKILL,
    INVOKABLE,
    INVOKABLE_LEAD,
    MORE_SKILLS,
    SKILL_TITLE,
    SLOT_TITLES,
    WHOLE_SKILLS_LEAD,
)
from apps.prompt.prompt_input import Invokable, PromptInput, Rule, SkillIndex, SkillLine, Slot
from apps.prompt.rendering.data_fences import scrub
from apps.prompt.rendering.passages import BREAK, GAP, Run, Scribe, lines, section, source_key, strung, titled, words
from apps.prompt.rendering.segments import Segment
from apps.prompt.text_limits import (
    IDENTITY_CHARACTERS,
    SKILL_BODY_CHARACTERS,
    SKILL_DESCRIPTION_CHARACTERS,
    SKILL_NAME_CHARACTERS,
    SKILLS_SHOWN,
)

_BULLET: Final = words("bullet", "- ")
_ID: Final = words("skill", " (id: ")
_CLOSE: Final = words("skill", ")")
_DASH: Final = words("skill", " — ")
_TITLE: Final = words("title.skill", f"## {SKILL_TITLE}")
_WHOLE_LEAD: Final = words("lead.whole_skills", WHOLE_SKILLS_LEAD)
_CUT: Final = words("cut_skill", CUT_SKILL.format(characters=SKILL_BODY_CHARACTERS))
_INVOKABLE_LEAD: Final = words("lead.invokable", INVOKABLE_LEAD)
_OPEN_TITLE: Final = words("invokable", " (")
_CLOSE_TITLE: Final = words("invokable", ")")
_HINT: Final = words("invokable", " — ")


def skill_index(given: PromptInput, scribe: Scribe) -> Run:
    sections = [*_skills(given, scribe), _more(len(given.skills)), _invokable(given.invokable, scribe)]
    return titled("skills", SLOT_TITLES[Slot.SKILLS], sections)


def _skills(given: PromptInput, scribe: Scribe) -> list[Run]:
    """Chosen by use, shown by name: a count that moves must not move the lines (Z-10)."""
    chosen = sorted(given.skills, key=lambda skill: (-skill.use_count, skill.name, skill.skill_id))[:SKILLS_SHOWN]
    by_name = sorted(chosen, key=lambda skill: (skill.name, skill.skill_id))
    if given.skill_index is SkillIndex.FULL and by_name:
        return [[_WHOLE_LEAD], *(_whole(skill, scribe) for skill in by_name)]
    return [strung(([_BULLET, *_entry(skill, scribe)] for skill in by_name), BREAK)]


def _more(skills: int) -> Run:
    """Says nothing but how many skills are approved."""
    hidden = skills - SKILLS_SHOWN
    return [words("more_skills", MORE_SKILLS.format(hidden=hidden))] if hidden > 0 else []


def _named(skill: SkillLine, scribe: Scribe) -> Run:
    name = lines(scribe.one_line(skill.name, SKILL_NAME_CHARACTERS), skill.source)
    return [*name, _ID, Segment(str(skill.skill_id), skill.source, "", 1), _CLOSE]


def _entry(skill: SkillLine, scribe: Scribe) -> Run:
    said = scribe.one_line(skill.description or skill.title, SKILL_DESCRIPTION_CHARACTERS)
    return [*_named(skill, scribe), _DASH, Segment(said, skill.source, "", 1)] if said else _named(skill, scribe)


def _whole(skill: SkillLine, scribe: Scribe) -> Run:
    """A person approved every word of it, so it stands as prose; a cut is said, for a runbook without its end misleads."""
    said = scribe.one_line(skill.description or skill.title, SKILL_DESCRIPTION_CHARACTERS)
    body = scribe.clean(skill.body, SKILL_BODY_CHARACTERS)
    heading = strung([[_TITLE, *_named(skill, scribe)], lines(said, skill.source)], BREAK)
    cut = [_CUT] if Rule.TRUNCATED in body.notes else []
    return strung([heading, lines(body.text.strip(), skill.source), cut], GAP)


def _invokable(agents: Iterable[Invokable], scribe: Scribe) -> Run:
    ordered = sorted(agents, key=lambda agent: (agent.agent_key, *source_key(agent.source)))
    run = strung((_agent(agent, scribe) for agent in ordered), BREAK)
    return section("invokable", INVOKABLE, [_INVOKABLE_LEAD, GAP, *run] if run else [])


def _agent(agent: Invokable, scribe: Scribe) -> Run:
    """Somebody else may have written these words, so they keep to their line and open no bracket (R057)."""
    named = agent.callee_source or agent.source
    key, title = (lines(scrub(text, IDENTITY_CHARACTERS, scribe), named) for text in (agent.agent_key, agent.title))
    hint = lines(scrub(agent.role_hint, SKILL_DESCRIPTION_CHARACTERS, scribe), agent.source)
    titled_key = [*key, _OPEN_TITLE, *title, _CLOSE_TITLE] if title else key
    return [_BULLET, *strung([titled_key, hint], _HINT)] if key else []
