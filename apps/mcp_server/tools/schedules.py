"""Tools for an agent's schedules."""

from typing import Final

from apps.api.protocol.request_bodies import Decision
from apps.api.resources.agents.schedules import NewSchedule
from apps.governance.policy.table import Act
from apps.mcp_server.tool_definition import Tool
from apps.mcp_server.tools.argument_texts import READ, WHY

SCHEDULE_TOOLS: Final = (
    Tool(
        "list_schedules",
        "List the plans by which you begin by yourself, and whether people approved them.",
        "GET",
        "schedules/",
        ("key", "status", "search"),
    ),
    Tool(
        "propose_schedule",
        "Plan that you begin by yourself at certain times, with an approved skill of yours. It runs once a person has"
        " approved it.",
        "POST",
        "schedules/",
        ("key", "title", "cron", "timezone", "skill", "instruction"),
        NewSchedule,
        acts=(Act.SCHEDULE_DRAFT,),
    ),
    Tool(
        "withdraw_schedule",
        "Take back a schedule that you proposed and nobody approved yet.",
        "POST",
        "schedules/{id}/deprecate/",
        ("version", "reason"),
        Decision,
        words={"id": "The schedule's id, as list_schedules gives it.", "version": READ, "reason": WHY},
        acts=(Act.SCHEDULE_DEPRECATE,),
        is_destructive=True,
    ),
)
