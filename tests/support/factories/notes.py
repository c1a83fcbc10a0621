"""Lawful notes, and how each surface performs the acts on them."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from django.db import connection
from django.urls import reverse

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Taint
from apps.governance.policy.policy_table import Act
from apps.notebook.actions import amend_note, drop_note, finish_note, write_note
from apps.notebook.models import Note
from apps.tenants.actions import amend_agent
from tests.support.worlds.world import World

CUSTOMER = "http:abc123"
LONG_AGO = datetime(2026, 1, 2, 9, 30, tzinfo=UTC)


def make_note(world: World, text: str = "Call them back.", *, actor: Actor | None = None, **values: Any) -> Note:
    """Make an open task, by the operator unless another actor is named."""
    given = {"kind": Note.Kind.TASK, "text": text} | values
    return write_note(world.agent.pk, actor=actor or world.operator, values=given, taint=Taint.AGENT)


def make_note_of_customer(world: World, text: str = "Call them back.", **values: Any) -> Note:
    """Make a note about the customer that events and profiles of tests name."""
    return make_note(world, text, **{"end_user_key": CUSTOMER} | values)


def make_reminder(world: World, text: str = "Ask for the new address.", **values: Any) -> Note:
    """Make a reminder that is due."""
    given: dict[str, Any] = {"kind": Note.Kind.REMINDER, "due_at": LONG_AGO} | values
    return make_note(world, text, **given)


def insert_note_sql(
    world: World, kind: str, due_at: str | None = None, age: str = "0 days"
) -> tuple[str, list[str | int | None]]:
    """Insert a note by SQL, which allows any age and combination of values."""
    statement = (
        "INSERT INTO notebook_note (tenant_id, agent_id, kind, text, due_at, end_user_key, status, author, version, taint,"
        " created_at, updated_at) VALUES (%s, %s, %s, 'x', %s, '', 'open', 'operator:1', 1, 'operator', now(),"
        " now() - %s::interval) RETURNING id"
    )
    return statement, [world.tenant.pk, world.agent.pk, kind, due_at, age]


def make_old_scratch(world: World) -> int:
    """Make a scratch note that was not touched for more than a week; return its id."""
    with acting_as(world.operator), connection.cursor() as cursor:
        cursor.execute(*insert_note_sql(world, "scratch", age="8 days"))
        return int(cursor.fetchone()[0])


def enable_notebook(world: World) -> None:
    """Let the agent keep a notebook."""
    amend_agent(world.agent, actor=world.admin, has_notebook=True)


def _make_kept_note(world: World) -> Note:
    enable_notebook(world)
    return make_note_of_customer(world)


NOTE_SUBJECTS: Mapping[Act, Callable[[World], Any]] = {
    Act.NOTE_WRITE: enable_notebook,
    **dict.fromkeys((Act.NOTE_AMEND, Act.NOTE_FINISH, Act.NOTE_DROP), _make_kept_note),
}
# Each takes the scene, the row and, for actions, the actor.
NOTE_ACTS: Mapping[Act, Callable[[Any, Any, Actor], object]] = {
    Act.NOTE_WRITE: lambda scene, _, actor: make_note(scene.world, actor=actor),
    Act.NOTE_AMEND: lambda _, row, actor: amend_note(row, actor=actor, values={"text": "Write to them."}),
    Act.NOTE_FINISH: lambda _, row, actor: finish_note(row, actor=actor),
    Act.NOTE_DROP: lambda _, row, actor: drop_note(row, actor=actor),
}
NOTE_REQUESTS: Mapping[Act, Callable[[Any, Any], tuple[str, str, dict[str, object] | None]]] = {
    Act.NOTE_WRITE: lambda scene, _: (
        "POST",
        "notes",
        {"agent_key": scene.world.agent.key, "kind": "task", "text": "Call them back."},
    ),
    Act.NOTE_AMEND: lambda _, row: ("PATCH", f"notes/{row.pk}", {"text": "Write to them."}),
    Act.NOTE_FINISH: lambda _, row: ("POST", f"notes/{row.pk}/finish", {}),
    Act.NOTE_DROP: lambda _, row: ("POST", f"notes/{row.pk}/drop", {}),
}


def _decision_form(button: str) -> Callable[[Any, Any], tuple[str, dict[str, Any]]]:
    return lambda _, row: (reverse("admin:notebook_note_decide", args=[row.pk, button]), {})


NOTE_FORMS: Mapping[Act, Callable[[Any, Any], tuple[str, dict[str, Any]]]] = {
    Act.NOTE_WRITE: lambda scene, _: (
        reverse("admin:notebook_note_add"),
        {"agent": scene.world.agent.pk, "kind": "task", "text": "Call them back."},
    ),
    Act.NOTE_AMEND: lambda _, row: (
        reverse("admin:notebook_note_change", args=[row.pk]),
        {"text": "Write to them.", "due_at": "2026-05-09T14:00"},
    ),
    Act.NOTE_FINISH: _decision_form("finish"),
    Act.NOTE_DROP: _decision_form("drop"),
}
