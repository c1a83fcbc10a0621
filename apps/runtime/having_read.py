"""What an agent has read of a skill in a conversation, or wrote in it itself, and so may change (R101)."""

import json
import re
from typing import Final

from apps.conversations.models import Message
from apps.governance.errors import Invalid
from apps.prompt.builtin_tools import SKILL_PATCH, SKILL_SAVE, SKILL_VIEW
from apps.runtime.models import ToolStep
from apps.runtime.tooling import Context
from apps.skills.models import Skill

# What the two tools that write a draft answer with.
_WRITTEN: Final = re.compile(r"Draft (?P<id>\d+) “.*?”(?: is changed; it is|,) version (?P<version>\d+)", re.DOTALL)


def refuse_unread(skill: Skill, context: Context) -> None:
    """An agent changes what it read in this conversation as it stands now, or wrote in it itself (R101)."""
    if as_shown(skill) in context.shown or _was_shown(skill, context):
        return
    sentence = f"You have not read version {skill.version} of it in this conversation. Read it with {SKILL_VIEW} first."
    raise Invalid(sentence, {"version": [sentence]})


def as_shown(skill: Skill) -> str:
    """A version of it, as a turn keeps what it was shown."""
    return f"skill {skill.pk} version {skill.version}"


def _was_shown(skill: Skill, context: Context) -> bool:
    """Whether an earlier turn of the conversation read it or wrote it, or this one in another worker's or program's hands."""
    rows = Message.objects.filter(conversation=context.conversation).exclude(tool_calls=[])
    calls = (call for told in rows.values_list("tool_calls", flat=True) for call in told if not call["is_error"])
    here = ToolStep.objects.filter(turn_id=context.turn_id, is_error=False).values_list("name", "result")
    said = ((call["name"], call["result"]) for call in calls)
    return any(_tells(name, result, skill) for name, result in (*here, *said))


def _tells(name: str, result: str, skill: Skill) -> bool:
    if name == SKILL_VIEW:
        told = json.loads(result)
        return (told["id"], told["version"]) == (skill.pk, skill.version)
    said = _WRITTEN.match(result) if name in {SKILL_SAVE, SKILL_PATCH} else None
    return said is not None and (int(said["id"]), int(said["version"])) == (skill.pk, skill.version)
