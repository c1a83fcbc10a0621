"""Storing a prefix for as long as its session lasts, and after it for the record."""

import json
from functools import lru_cache
from typing import ClassVar, Final

from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.prompt.rendering.segments import Assembled, Part, encode_segments
from apps.runtime.models import Session, SessionPart, SnapshotPart

# Of so many lists of tools the names are known.
NAMES_KEPT: Final = 64


class NotFrozen(Exception):
    """There is no prompt that a turn could go on with."""

    code: ClassVar[str]


def freeze(conversation: Conversation, assembled: Assembled, tools: Part, *, actor: Actor) -> Session:
    """Store a prefix: its parts once per content, its session as the list of them (R062)."""
    with acting(actor):
        session = Session.objects.create(
            tenant_id=conversation.tenant_id,
            conversation=conversation,
            agent_id=conversation.agent_id,
            prefix_sha256=assembled.sha256,
            tool_names=list(_names(tools.text)),
            tools_id=_stored(tools, conversation.tenant_id),
            tools_sha256=tools.text_sha256,
        )
        for position, part in enumerate(assembled.parts):
            stored = _stored(part, session.tenant_id)
            SessionPart.objects.create(tenant_id=session.tenant_id, session=session, position=position, part_id=stored)
    return session


@lru_cache(NAMES_KEPT)
def _names(definitions: str) -> tuple[str, ...]:
    """Read once, and held once by all the turns that wait under the same tools."""
    return tuple(definition["name"] for definition in json.loads(definitions))


def _stored(part: Part, tenant_id: int) -> int:
    """Its number. Of a part that is there already nothing else is read."""
    stored, _ = SnapshotPart.objects.only("pk").get_or_create(
        tenant_id=tenant_id,
        slot=part.slot,
        sha256=part.sha256,
        defaults={"text": part.text, "segments": encode_segments(part)},
    )
    return stored.pk
