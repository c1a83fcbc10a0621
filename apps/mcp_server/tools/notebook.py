"""Tools for an agent's notebook."""

from typing import Final

from apps.api.protocol.request_bodies import Decision
from apps.api.resources.memory.notebook import NewNote, NoteChange
from apps.governance.policy.table import Act
from apps.mcp_server.tool_definition import Tool
from apps.mcp_server.tools.argument_texts import CUSTOMER, READ, WHY

NOTE: Final = "The note's id, as list_notes gives it."

NOTEBOOK_TOOLS: Final = (
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
)
