"""How acts are tried on schedules."""

from collections.abc import Mapping

from apps.governance.policy.table import Act
from apps.runtime.schedules.schedule_runner import run_now
from apps.schedules.actions import (
    amend_schedule,
    approve_schedule,
    deprecate_schedule,
    draft_schedule,
    pause_schedule,
    resume_schedule,
)
from apps.schedules.models import Schedule
from apps.skills.models import Skill
from tests.random_acts.act_choice import Chosen, Deed, amending, writing


def _draft(chosen: Chosen) -> object:
    skill = chosen.row(Skill)
    values = {"key": chosen.name, "title": chosen.words[:100], "cron": "0 23 * * *", "timezone": "UTC", "skill": skill}
    return draft_schedule(chosen.agent.pk, actor=chosen.actor, values=values)


def _run(chosen: Chosen) -> object:
    return run_now(chosen.row(Schedule).pk, actor=chosen.actor)


SCHEDULES: Mapping[Act, Deed] = {
    Act.SCHEDULE_DRAFT: _draft,
    Act.SCHEDULE_AMEND: writing(Schedule, amend_schedule, "instruction"),
    Act.SCHEDULE_APPROVE: amending(Schedule, approve_schedule),
    Act.SCHEDULE_PAUSE: amending(Schedule, pause_schedule),
    Act.SCHEDULE_RESUME: amending(Schedule, resume_schedule),
    Act.SCHEDULE_DEPRECATE: amending(Schedule, deprecate_schedule),
    Act.SCHEDULE_RUN: _run,
}
