"""Checks a scheduled run when its turn begins, since its skill may have been withdrawn while the turn waited."""

from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.runtime.turns.model_loop import TurnFailed
from apps.schedules.models import Schedule, ScheduleRun
from apps.skills.models import Skill

SKILL_NOT_FOUND = "skill_not_found"


def approved_skill(schedule: Schedule, *, actor: Actor) -> Skill | None:
    """The skill that a schedule runs, if it is approved and still belongs to the agent (R120)."""
    with acting_as(actor):
        skills = Skill.objects.visible_to(actor).approved().for_agent(schedule.agent_id)
        return skills.filter(pk=schedule.skill_id).first()


def refuse_withdrawn_skill(conversation: Conversation, *, actor: Actor) -> None:
    """Raise TurnFailed if the skill was withdrawn between the run's planned time and its turn."""
    with acting_as(actor):
        run = ScheduleRun.objects.filter(conversation=conversation).select_related("schedule").first()
        if run is None or approved_skill(run.schedule, actor=actor) is None:
            raise TurnFailed(SKILL_NOT_FOUND, "The skill of this schedule is no longer approved, so nothing was done.")
