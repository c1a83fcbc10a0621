"""Tools for an agent's schedules."""

from typing import Final

from apps.api.protocol.request_bodies import DecisionBody
from apps.api.resources.agents.schedules import DraftScheduleBody
from apps.governance.policy.policy_table import Act
from apps.mcp_server.tool_definition import RestTool
from apps.mcp_server.tools.argument_texts import REASON_TEXT, VERSION_TEXT

SCHEDULE_TOOLS: Final = (
    RestTool(
        "list_schedules",
        "List the plans by which you begin by yourself, and whether people approved them.",
        "GET",
        "schedules/",
        ("key", "status", "search"),
    ),
    RestTool(
        "propose_schedule",
        "Plan that you begin by yourself at certain times, with an approved skill of yours. It runs once a person has"
        " approved it.",
        "POST",
        "schedules/",
        ("key", "title", "cron", "timezone", "skill", "instruction"),
        DraftScheduleBody,
        acts=(Act.SCHEDULE_DRAFT,),
    ),
    RestTool(
        "withdraw_schedule",
        "Take back a schedule that you proposed and nobody approved yet.",
        "POST",
        "schedules/{id}/deprecate/",
        ("version", "reason"),
        DecisionBody,
        words={"id": "The schedule's id, as list_schedules gives it.", "version": VERSION_TEXT, "reason": REASON_TEXT},
        acts=(Act.SCHEDULE_DEPRECATE,),
        is_destructive=True,
    ),
)
