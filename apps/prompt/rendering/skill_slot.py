"""Slot 3: the approved skills, one line each or whole, and the agents that this agent may ask."""

from collections.abc import Iterable
from typing import Final

from apps.prompt.instruction_texts import (
    CUT_SKILL_NOTICE,
    INVOKABLE_LEAD,
    INVOKABLE_TITLE,
    MORE_SKILLS,
    SKILL_TITLE,
    SLOT_TITLES,
    WHOLE_SKILLS_LEAD,
)
from apps.prompt.prompt_input import InvokableAgentInput, PromptInput, SanitizerRule, SkillIndex, SkillInput, Slot
from apps.prompt.rendering.data_fences import scrub
from apps.prompt.rendering.passages import (
    LINE_BREAK,
    PARAGRAPH_BREAK,
    PassageRenderer,
    SegmentList,
    join_segments,
    line_segments,
    source_key,
    template_segment,
    titled_section,
    titled_slot,
)
from apps.prompt.rendering.segments import Segment
from apps.prompt.text_limits import (
    IDENTITY_CHARACTERS,
    SKILL_BODY_CHARACTERS,
    SKILL_DESCRIPTION_CHARACTERS,
    SKILL_NAME_CHARACTERS,
    SKILLS_SHOWN,
)

_BULLET: Final = template_segment("bullet", "- ")
_ID: Final = template_segment("skill", " (id: ")
_CLOSE: Final = template_segment("skill", ")")
_DASH: Final = template_segment("skill", " — ")
_TITLE: Final = template_segment("title.skill", f"## {SKILL_TITLE}")
_WHOLE_LEAD: Final = template_segment("lead.whole_skills", WHOLE_SKILLS_LEAD)
_CUT_NOTICE: Final = template_segment("cut_skill", CUT_SKILL_NOTICE.format(characters=SKILL_BODY_CHARACTERS))
_INVOKABLE_LEAD: Final = template_segment("lead.invokable", INVOKABLE_LEAD)
_OPEN_TITLE: Final = template_segment("invokable", " (")
_CLOSE_TITLE: Final = template_segment("invokable", ")")
_HINT: Final = template_segment("invokable", " — ")


def render_skill_slot(given: PromptInput, scribe: PassageRenderer) -> SegmentList:
    sections = [*_skills(given, scribe), _hidden_count(len(given.skills)), _invokable_agents(given.invokable, scribe)]
    return titled_slot("skills", SLOT_TITLES[Slot.SKILLS], sections)


def _skills(given: PromptInput, scribe: PassageRenderer) -> list[SegmentList]:
    """Return the skills, selected by use and sorted by name, so that changing use counts do not reorder lines (Z-10)."""
    chosen = sorted(given.skills, key=lambda skill: (-skill.use_count, skill.name, skill.skill_id))[:SKILLS_SHOWN]
    by_name = sorted(chosen, key=lambda skill: (skill.name, skill.skill_id))
    if given.skill_index is SkillIndex.FULL and by_name:
        return [[_WHOLE_LEAD], *(_whole_skill(skill, scribe) for skill in by_name)]
    return [join_segments(([_BULLET, *_entry(skill, scribe)] for skill in by_name), LINE_BREAK)]


def _hidden_count(skills: int) -> SegmentList:
    """Return a line with the number of approved skills that are not shown, and no other fact about them."""
    hidden = skills - SKILLS_SHOWN
    return [template_segment("more_skills", MORE_SKILLS.format(hidden=hidden))] if hidden > 0 else []


def _name_with_id(skill: SkillInput, scribe: PassageRenderer) -> SegmentList:
    name = line_segments(scribe.one_line(skill.name, SKILL_NAME_CHARACTERS), skill.source)
    return [*name, _ID, Segment(str(skill.skill_id), skill.source, "", 1), _CLOSE]


def _entry(skill: SkillInput, scribe: PassageRenderer) -> SegmentList:
    description = scribe.one_line(skill.description or skill.title, SKILL_DESCRIPTION_CHARACTERS)
    return (
        [*_name_with_id(skill, scribe), _DASH, Segment(description, skill.source, "", 1)]
        if description
        else _name_with_id(skill, scribe)
    )


def _whole_skill(skill: SkillInput, scribe: PassageRenderer) -> SegmentList:
    """Return a whole skill as prose, since a person approved all of it.

    Truncation is marked, because a runbook without its end misleads.
    """
    description = scribe.one_line(skill.description or skill.title, SKILL_DESCRIPTION_CHARACTERS)
    body = scribe.clean(skill.body, SKILL_BODY_CHARACTERS)
    heading = join_segments(
        [[_TITLE, *_name_with_id(skill, scribe)], line_segments(description, skill.source)], LINE_BREAK
    )
    cut = [_CUT_NOTICE] if SanitizerRule.TRUNCATED in body.notes else []
    return join_segments([heading, line_segments(body.text.strip(), skill.source), cut], PARAGRAPH_BREAK)


def _invokable_agents(agents: Iterable[InvokableAgentInput], scribe: PassageRenderer) -> SegmentList:
    ordered = sorted(agents, key=lambda agent: (agent.agent_key, *source_key(agent.source)))
    run = join_segments((_agent_line(agent, scribe) for agent in ordered), LINE_BREAK)
    return titled_section("invokable", INVOKABLE_TITLE, [_INVOKABLE_LEAD, PARAGRAPH_BREAK, *run] if run else [])


def _agent_line(agent: InvokableAgentInput, scribe: PassageRenderer) -> SegmentList:
    """Return an agent's line. Its texts may have another author, so they stay on one line without brackets (R057)."""
    named = agent.callee_source or agent.source
    key, title = (
        line_segments(scrub(text, IDENTITY_CHARACTERS, scribe), named) for text in (agent.agent_key, agent.title)
    )
    hint = line_segments(scrub(agent.role_hint, SKILL_DESCRIPTION_CHARACTERS, scribe), agent.source)
    titled_key = [*key, _OPEN_TITLE, *title, _CLOSE_TITLE] if title else key
    return [_BULLET, *join_segments([titled_key, hint], _HINT)] if key else []
