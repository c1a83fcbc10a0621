"""Tools for what is to come: an agent's notebook, its schedules, and what of its proposals waits for people."""

from typing import Final

from apps.api.protocol.request_bodies import Decision
from apps.api.resources.agents.schedules import NewSchedule
from apps.api.resources.memory.notebook import NewNote, NoteChange
from apps.governance.policy.table import Act
from apps.mcp_server.tool_definition import Tool
from apps.mcp_server.tools.customers import CUSTOMER
from apps.mcp_server.tools.persona_and_memory import READ

NOTE: Final = "The note's id, as list_notes gives it."
WHY: Final = "Why, in a few words."

FOR_PLANS: Final = (
    Tool(
        "list_notes",
        "List your notebook: reminders, tasks and scratch.",
        "GET",
        "notes/",
        ("kind", "status", "end_user_key", "search"),
        words={"end_user_key": CUSTOMER},
    ),
    Tool(
        "write_note",
        "Note something to keep in mind: a reminder with a time, a task, or scratch. Say whom it is about.",
        "POST",
        "notes/",
        ("kind", "text", "due_at", "end_user_key"),
        NewNote,
        words={"end_user_key": f"{CUSTOMER} Left out: it is for all you do, and every conversation may be told."},
        acts=(Act.NOTE_WRITE,),
    ),
    Tool(
        "update_note",
        "Word an open note otherwise, or put it off.",
        "PATCH",
        "notes/{id}/",
        ("text", "due_at", "version"),
        NoteChange,
        words={"id": NOTE, "version": READ},
        acts=(Act.NOTE_AMEND,),
        is_destructive=True,
        is_idempotent=True,
    ),
    Tool(
        "finish_note",
        "Say that what a note tells is done. No later session is told of it.",
        "POST",
        "notes/{id}/finish/",
        ("version", "reason"),
        Decision,
        words={"id": NOTE, "version": READ, "reason": "What came of it."},
        acts=(Act.NOTE_FINISH,),
    ),
    Tool(
        "drop_note",
        "Say that a note no longer matters. No later session is told of it.",
        "POST",
        "notes/{id}/drop/",
        ("version", "reason"),
        Decision,
        words={"id": NOTE, "version": READ, "reason": WHY},
        acts=(Act.NOTE_DROP,),
        is_destructive=True,
    ),
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
    Tool(
        "list_proposals",
        "List what you proposed: what waits for a person, and what people said to the rest.",
        "GET",
        "proposals/",
        ("state", "kind", "search"),
    ),
    Tool(
        "get_proposal",
        "Read one of your proposals, with a reviewer's request to word it otherwise, or the reason of a rejection.",
        "GET",
        "proposals/{id}/",
        words={"id": "The proposal's id, as list_proposals gives it."},
    ),
    Tool(
        "withdraw_proposal",
        "Take back a proposal of yours that nobody approved yet.",
        "DELETE",
        "proposals/{id}/",
        words={"id": "The proposal's id, as list_proposals gives it."},
        acts=(Act.PROPOSAL_WITHDRAW,),
        is_destructive=True,
    ),
)
