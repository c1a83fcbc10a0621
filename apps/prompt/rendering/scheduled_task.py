"""The instruction for a scheduled run: that nobody wrote, what to do, and how to report nothing to send (R120, R121)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from apps.prompt.instruction_texts import SCHEDULED_PREAMBLE
from apps.prompt.rendering.data_fences import date_line

NOTHING_TO_REPORT: Final = "[nothing to report]"


@dataclass(frozen=True, slots=True)
class ScheduledTask:
    """One run of a schedule: its planned time, in the schedule's zone, and the approved skill that it follows."""

    title: str
    planned_at: datetime
    skill_title: str
    skill_body: str
    instruction: str = ""
    preamble: str = ""


def render_scheduled_task(task: ScheduledTask) -> str:
    """Return the instruction below the event's header: the preamble, the plan, the owner's text, and the whole skill."""
    planned = date_line(task.planned_at).removeprefix("Current date and time: ")
    parts = (
        task.preamble.strip() or SCHEDULED_PREAMBLE,
        f"Schedule: {task.title}. Planned for {planned}.",
        task.instruction.strip(),
        f"Skill: {task.skill_title}\n\n{task.skill_body.strip()}",
    )
    return "\n\n".join(part for part in parts if part)


def reports_nothing(text: str) -> bool:
    """Return whether an answer says that there is nothing to send: exactly the agreed words, or an empty text."""
    return text.strip() in {"", NOTHING_TO_REPORT}
