"""Decodes tool results and fenced segments: the skill that a tool call returned, and text without JSON escapes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from apps.prompt.builtin_tools import SKILL_READING_TOOLS
from apps.prompt.prompt_input import TextProvenance
from apps.runtime.models import ToolStep
from apps.skills.models import Skill


@dataclass(frozen=True, slots=True)
class SkillRead:
    """A skill and the version of it that a turn read."""

    source: TextProvenance
    text: str


def unescape_segment(text: str) -> str:
    """The text of a segment without the JSON escapes of its fence; prose is returned unchanged."""
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text


def find_skill_read(step: ToolStep, signed: Mapping[tuple[str, int], TextProvenance]) -> SkillRead | None:
    """The skill and version that a tool call returned; None if it returned something else."""
    if step.name not in SKILL_READING_TOOLS or step.is_error:
        return None
    try:
        answer = json.loads(step.result)
        text, pk, version = f"{answer['title']}\n{answer['body']}", int(step.arguments["skill_id"]), answer["version"]
    except (ValueError, KeyError, TypeError):
        return None
    kind = Skill._meta.label_lower
    known = signed.get((kind, pk))
    if known is not None and known.version == version:
        return SkillRead(replace(known, field="body"), text)
    return SkillRead(TextProvenance(kind, pk, version, "body"), text)
