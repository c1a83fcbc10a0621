"""How acts are tried on schedules."""

from collections.abc import Mapping

from apps.governance.policy.policy_table import Act
from apps.runtime.schedules.schedule_runner import run_schedule_now
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
from tests.random_acts.act_choice import ActChoice, ActRunner, amend_row, write_field


def _draft(chosen: ActChoice) -> object:
    skill = chosen.row(Skill)
    values = {"key": chosen.name, "title": chosen.words[:100], "cron": "0 23 * * *", "timezone": "UTC", "skill": skill}
    return draft_schedule(chosen.agent.pk, actor=chosen.actor, values=values)


def _run(chosen: ActChoice) -> object:
    return run_schedule_now(chosen.row(Schedule).pk, actor=chosen.actor)


SCHEDULES: Mapping[Act, ActRunner] = {
    Act.SCHEDULE_DRAFT: _draft,
    Act.SCHEDULE_AMEND: write_field(Schedule, amend_schedule, "instruction"),
    Act.SCHEDULE_APPROVE: amend_row(Schedule, approve_schedule),
    Act.SCHEDULE_PAUSE: amend_row(Schedule, pause_schedule),
    Act.SCHEDULE_RESUME: amend_row(Schedule, resume_schedule),
    Act.SCHEDULE_DEPRECATE: amend_row(Schedule, deprecate_schedule),
    Act.SCHEDULE_RUN: _run,
}
