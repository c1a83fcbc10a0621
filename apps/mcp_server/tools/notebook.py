"""Tools for an agent's notebook."""

from typing import Final

from apps.api.protocol.request_bodies import DecisionBody
from apps.api.resources.memory.notebook import UpdateNoteBody, WriteNoteBody
from apps.governance.policy.policy_table import Act
from apps.mcp_server.tool_definition import RestTool
from apps.mcp_server.tools.argument_texts import CUSTOMER_TEXT, REASON_TEXT, VERSION_TEXT

NOTE_ID_TEXT: Final = "The note's id, as list_notes gives it."

NOTEBOOK_TOOLS: Final = (
    RestTool(
        "list_notes",
        "List your notebook: reminders, tasks and scratch.",
        "GET",
        "notes/",
        ("kind", "status", "end_user_key", "search"),
        words={"end_user_key": CUSTOMER_TEXT},
    ),
    RestTool(
        "write_note",
        "Note something to keep in mind: a reminder with a time, a task, or scratch. Say whom it is about.",
        "POST",
        "notes/",
        ("kind", "text", "due_at", "end_user_key"),
        WriteNoteBody,
        words={"end_user_key": f"{CUSTOMER_TEXT} Left out: it is for all you do, and every conversation may be told."},
        acts=(Act.NOTE_WRITE,),
    ),
    RestTool(
        "update_note",
        "Word an open note otherwise, or put it off.",
        "PATCH",
        "notes/{id}/",
        ("text", "due_at", "version"),
        UpdateNoteBody,
        words={"id": NOTE_ID_TEXT, "version": VERSION_TEXT},
        acts=(Act.NOTE_AMEND,),
        is_destructive=True,
        is_idempotent=True,
    ),
    RestTool(
        "finish_note",
        "Say that what a note tells is done. No later session is told of it.",
        "POST",
        "notes/{id}/finish/",
        ("version", "reason"),
        DecisionBody,
        words={"id": NOTE_ID_TEXT, "version": VERSION_TEXT, "reason": "What came of it."},
        acts=(Act.NOTE_FINISH,),
    ),
    RestTool(
        "drop_note",
        "Say that a note no longer matters. No later session is told of it.",
        "POST",
        "notes/{id}/drop/",
        ("version", "reason"),
        DecisionBody,
        words={"id": NOTE_ID_TEXT, "version": VERSION_TEXT, "reason": REASON_TEXT},
        acts=(Act.NOTE_DROP,),
        is_destructive=True,
    ),
)
