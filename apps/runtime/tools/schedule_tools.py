"""The tools to list an agent's schedules, to propose one, which a person approves, and to withdraw a proposed one (R123)."""

from typing import Final

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import NotVisible
from apps.llm.model_backend import Json, JsonObject
from apps.prompt.builtin_tools import LIST_SCHEDULES, PROPOSE_SCHEDULE, WITHDRAW_SCHEDULE
from apps.prompt.rendering.data_fences import canonical_json
from apps.prompt.sanitizer.clean import clean
from apps.runtime.taint_attribution import heard_texts, taint_of_text
from apps.runtime.tools.builtin_tool import BuiltinTool, ToolContext, ToolOffer
from apps.schedules.actions import deprecate_schedule, draft_schedule
from apps.schedules.models import Schedule
from apps.skills.models import Skill


def skill_named(name: str, agent_id: int, *, actor: Actor) -> Skill | None:
    """The agent's approved skill of this name, or None."""
    with acting_as(actor):
        return Skill.objects.visible_to(actor).approved().for_agent(agent_id).filter(name=name).first()


def _list_schedules(context: ToolContext, arguments: JsonObject) -> str:
    with acting_as(context.actor):
        rows = Schedule.objects.visible_to(context.actor).standing().for_agent(context.agent_id)
        listed: list[Json] = [_describe_schedule(row) for row in rows.select_related("skill", "clock").order_by("key")]
    return canonical_json({"schedules": listed})


def _describe_schedule(row: Schedule) -> JsonObject:
    clock = getattr(row, "clock", None)
    runs = clock is not None and row.status == Schedule.Status.APPROVED
    return {
        "key": row.key,
        "title": clean(row.title),
        "cron": row.cron,
        "timezone": row.timezone,
        "skill": row.skill.name,
        "instruction": clean(row.instruction),
        "status": row.status,
        "next_run_at": clock.next_run_at.isoformat() if clock and runs else None,
    }


def _propose_schedule(context: ToolContext, arguments: JsonObject) -> str:
    values = {name: str(text) for name, text in arguments.items()}
    skill = skill_named(values["skill"], context.agent_id, actor=context.actor)
    if skill is None:
        raise NotVisible(f"You have no approved skill named “{values['skill']}”. list_skills tells those there are.")
    with acting_as(context.actor):
        words = "\n".join((values["key"], values["title"], values.get("instruction", "")))
        taint = taint_of_text(words, heard_texts(context.conversation, actor=context.actor))
    row = draft_schedule(
        context.agent_id,
        actor=context.actor,
        values={**values, "skill": skill},
        evidence={"conversation_id": context.conversation.pk},
        taint=taint,
    )
    return f"Schedule {row.pk} “{row.key}” waits for an operator. Nothing runs before one approves it."


def _withdraw_schedule(context: ToolContext, arguments: JsonObject) -> str:
    key = str(arguments["key"])
    with acting_as(context.actor):
        standing = Schedule.objects.visible_to(context.actor).standing().for_agent(context.agent_id)
        row = standing.filter(key=key).first()
    if row is None:
        raise NotVisible(f"You have no schedule “{key}”. {LIST_SCHEDULES} tells those there are.")
    deprecate_schedule(row, actor=context.actor, reason=str(arguments.get("reason", "")))
    return f"The draft “{row.key}” is taken back."


def _may_plan(offer: ToolOffer) -> bool:
    return offer.may_propose_schedules


SCHEDULE_TOOLS: Final = (
    BuiltinTool(
        LIST_SCHEDULES,
        "List your schedules: when you begin by yourself, with which skill, and which of them wait for an operator.",
        {},
        (),
        _list_schedules,
        keeps=False,
        reads=True,
        offered=_may_plan,
    ),
    BuiltinTool(
        PROPOSE_SCHEDULE,
        "Plan when you begin by yourself with one of your skills, for an operator to approve. What you make of it is read in "
        "the console; an operator may have it posted to a channel.",
        {
            "key": "A short name in lower-case letters, digits and hyphens.",
            "title": "A short title.",
            "cron": "Five fields: minute, hour, day of the month, month, day of the week, such as 0 23 * * *.",
            "timezone": "Such as Europe/Madrid. Leave it out for the organisation's own.",
            "skill": "The name of one of your approved skills.",
            "instruction": "What the skill does not say, for these runs alone.",
        },
        ("key", "title", "cron", "skill"),
        _propose_schedule,
        learns=False,
        offered=_may_plan,
    ),
    BuiltinTool(
        WITHDRAW_SCHEDULE,
        "Take back a schedule that you proposed and no operator has approved yet.",
        {"key": f"Its key, as {LIST_SCHEDULES} tells it.", "reason": "Why, for the operators."},
        ("key",),
        _withdraw_schedule,
        learns=False,
        offered=_may_plan,
    ),
)
