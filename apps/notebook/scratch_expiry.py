"""Drops scratch notes that nobody changed for a long time, by the same action that people use."""

import logging
from datetime import datetime

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import IllegalTransition, Stale
from apps.notebook.actions import drop_note
from apps.notebook.models import Note
from apps.notebook.rules import SCRATCH_LIFETIME
from apps.tenants.authentication.actor_resolution import system_actor

logger = logging.getLogger(__name__)


def drop_old_scratch(tenant_id: int, note_id: int, now: datetime) -> None:
    """Drop one scratch note, unless it was finished, dropped or changed meanwhile."""
    actor = system_actor(tenant_id, "calendar")
    with acting_as(actor):
        old = (
            Note.objects.visible_to(actor).open().filter(kind=Note.Kind.SCRATCH, updated_at__lte=now - SCRATCH_LIFETIME)
        )
        note = old.filter(pk=note_id).first()
    if note is None:
        return
    try:
        drop_note(note, actor=actor, read_at=note.version, reason=f"Untouched for {SCRATCH_LIFETIME.days} days.")
    except (IllegalTransition, Stale):
        logger.info("scratch note was extended before it expired", extra={"note_id": note_id})
