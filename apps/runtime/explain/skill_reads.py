"""What a tool gave back, and what a fence holds, read again as the words they carry."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from apps.prompt.builtin_tools import SKILL_READING_TOOLS
from apps.prompt.prompt_input import TextProvenance
from apps.runtime.models import ToolStep
from apps.skills.models import Skill


@dataclass(frozen=True, slots=True)
class SkillRead:
    """A skill as a turn read it."""

    source: TextProvenance
    text: str


def unescape_segment(text: str) -> str:
    """A segment as it was before a fence escaped it; prose as it stands."""
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text


def find_skill_read(step: ToolStep, signed: Mapping[tuple[str, int], TextProvenance]) -> SkillRead | None:
    """Which version of a skill a call gave back; None where it gave back something else."""
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
