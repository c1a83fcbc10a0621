"""Material that learning may not use because a person put its conversation in quarantine."""

from collections.abc import Collection

from django.db.models.expressions import RawSQL

from apps.conversations.models import Conversation
from apps.governance.actors import Actor


class MaterialQuarantined(Exception):  # says what happened, as the other reasons of the pipelines do
    """A person put a conversation in quarantine while a model read it."""


def refuse_quarantined(conversation_ids: Collection[int], *, actor: Actor) -> None:
    """Raise MaterialQuarantined if one of the conversations is in quarantine; else keep all of them out of it until the commit."""
    rows = Conversation.objects.visible_to(actor).filter(pk__in=conversation_ids).order_by("pk")
    if any(row.is_quarantined for row in rows.select_for_update(no_key=True, of=("self",))):
        raise MaterialQuarantined


def quarantined_lessons() -> RawSQL:
    """The ids of the lessons whose words come from a quarantined conversation, for a condition of a query."""
    return RawSQL("SELECT list_quarantined_lessons()", ())
