"""Lawful data of schedules, and how each surface performs the acts on them."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from itertools import count
from typing import Any

from django.urls import reverse
from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
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
from apps.schedules.models import Schedule, ScheduleClock
from apps.skills.models import Skill
from apps.tenants.actions import amend_agent
from tests.support.worlds.world import World, make_skill

_numbers = count(1)
NIGHTLY = "0 23 * * *"


def plan_of(world: World, **values: object) -> dict[str, Any]:
    """Return the values of a nightly schedule with an approved skill."""
    skill = values.pop("skill", None) or make_skill(world, "approved")
    plan = {"key": f"nightly-{next(_numbers)}", "title": "Nightly report", "cron": NIGHTLY, "skill": skill}
    return plan | {"timezone": "UTC"} | values


def make_schedule_draft(world: World, **values: object) -> Schedule:
    """Make a schedule that waits for approval."""
    return draft_schedule(world.agent.pk, actor=world.operator, values=plan_of(world, **values))


def make_agents_draft(world: World, **values: object) -> Schedule:
    """Make a schedule by the agent that waits for approval."""
    enable_planning(world)
    return draft_schedule(world.agent.pk, actor=world.bot, values=plan_of(world, **values))


def make_schedule(world: World, **values: object) -> Schedule:
    """Make an approved schedule."""
    return approve_schedule(make_schedule_draft(world, **values), actor=world.operator)


def make_paused_schedule(world: World) -> Schedule:
    """Make a paused schedule."""
    return pause_schedule(make_schedule(world), actor=world.operator)


def make_due(schedule: Schedule, world: World, ago: timedelta = timedelta(seconds=5)) -> None:
    """Set the next run to a moment that has passed."""
    with acting_as(world.operator):
        ScheduleClock.objects.filter(schedule=schedule).update(next_run_at=timezone.now() - ago)


def enable_planning(world: World) -> Skill:
    """Let the agent propose schedules, and give it a skill for them."""
    amend_agent(world.agent, actor=world.admin, may_propose_schedules=True)
    return make_skill(world, "approved")


SCHEDULE_SUBJECTS: Mapping[Act, Callable[[World], Any]] = {
    Act.SCHEDULE_DRAFT: enable_planning,
    Act.SCHEDULE_AMEND: make_schedule,
    Act.SCHEDULE_APPROVE: make_schedule_draft,
    Act.SCHEDULE_PAUSE: make_schedule,
    Act.SCHEDULE_RESUME: make_paused_schedule,
    Act.SCHEDULE_DEPRECATE: make_agents_draft,
    Act.SCHEDULE_RUN: make_schedule,
}
# Each takes the scene, the row and, for actions, the actor.
SCHEDULE_ACTS: Mapping[Act, Callable[[Any, Any, Actor], object]] = {
    Act.SCHEDULE_DRAFT: lambda scene, skill, actor: draft_schedule(
        scene.world.agent.pk, actor=actor, values=plan_of(scene.world, skill=skill)
    ),
    Act.SCHEDULE_AMEND: lambda _, row, actor: amend_schedule(row, actor=actor, values={"title": "Weekly"}),
    Act.SCHEDULE_APPROVE: lambda _, row, actor: approve_schedule(row, actor=actor),
    Act.SCHEDULE_PAUSE: lambda _, row, actor: pause_schedule(row, actor=actor),
    Act.SCHEDULE_RESUME: lambda _, row, actor: resume_schedule(row, actor=actor),
    Act.SCHEDULE_DEPRECATE: lambda _, row, actor: deprecate_schedule(row, actor=actor),
    Act.SCHEDULE_RUN: lambda _, row, actor: run_schedule_now(row.pk, actor=actor),
}


def _schedule_body(world: World, skill: Any) -> dict[str, object]:
    return {"agent_key": world.agent.key, "key": "nightly", "title": "Nightly", "cron": NIGHTLY, "skill": skill.name}


SCHEDULE_REQUESTS: Mapping[Act, Callable[[Any, Any], tuple[str, str, dict[str, object] | None]]] = {
    Act.SCHEDULE_DRAFT: lambda scene, skill: ("POST", "schedules", _schedule_body(scene.world, skill)),
    Act.SCHEDULE_AMEND: lambda _, row: ("PATCH", f"schedules/{row.pk}", {"title": "Weekly"}),
    Act.SCHEDULE_APPROVE: lambda _, row: ("POST", f"schedules/{row.pk}/approve", {}),
    Act.SCHEDULE_PAUSE: lambda _, row: ("POST", f"schedules/{row.pk}/pause", {}),
    Act.SCHEDULE_RESUME: lambda _, row: ("POST", f"schedules/{row.pk}/resume", {}),
    Act.SCHEDULE_DEPRECATE: lambda _, row: ("POST", f"schedules/{row.pk}/deprecate", {}),
    Act.SCHEDULE_RUN: lambda _, row: ("POST", f"schedules/{row.pk}/run", {}),
}


def _decision_form(button: str) -> Callable[[Any, Any], tuple[str, dict[str, Any]]]:
    return lambda _, row: (reverse("admin:schedules_schedule_decide", args=[row.pk, button]), {})


def _schedule_form(scene: Any, skill: Any) -> tuple[str, dict[str, Any]]:
    plan = plan_of(scene.world, skill=skill)
    typed = plan | {"agent": scene.world.agent.pk, "skill": plan["skill"].pk, "missed_runs": "skip"}
    return reverse("admin:schedules_schedule_add"), typed


def _amend_form(_: Any, row: Any) -> tuple[str, dict[str, Any]]:
    typed = {
        "title": "Weekly",
        "cron": row.cron,
        "timezone": row.timezone,
        "skill": row.skill_id,
        "missed_runs": "skip",
    }
    return reverse("admin:schedules_schedule_change", args=[row.pk]), typed


SCHEDULE_FORMS: Mapping[Act, Callable[[Any, Any], tuple[str, dict[str, Any]]]] = {
    Act.SCHEDULE_DRAFT: _schedule_form,
    Act.SCHEDULE_AMEND: _amend_form,
    Act.SCHEDULE_APPROVE: _decision_form("approve"),
    Act.SCHEDULE_PAUSE: _decision_form("pause"),
    Act.SCHEDULE_RESUME: _decision_form("resume"),
    Act.SCHEDULE_DEPRECATE: _decision_form("deprecate"),
    Act.SCHEDULE_RUN: _decision_form("run"),
}
