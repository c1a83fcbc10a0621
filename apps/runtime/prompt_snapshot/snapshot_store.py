"""Stores the frozen prefix of a session. It is sent during the session's lifetime and kept as a record afterwards."""

import json
from functools import lru_cache
from typing import ClassVar, Final

from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.prompt.rendering.segments import PromptSnapshot, SlotText, encode_segments
from apps.runtime.models import Session, SessionPart, SnapshotPart

# How many parsed tool lists are cached.
NAMES_KEPT: Final = 64


class PromptUnavailable(Exception):
    """The prompt of a turn cannot be built or restored."""

    code: ClassVar[str]


def store_snapshot(conversation: Conversation, assembled: PromptSnapshot, tools: SlotText, *, actor: Actor) -> Session:
    """Store a prefix: each part once per content, and the session as a list of references to parts (R062)."""
    with acting_as(actor):
        session = Session.objects.create(
            tenant_id=conversation.tenant_id,
            conversation=conversation,
            agent_id=conversation.agent_id,
            prefix_sha256=assembled.sha256,
            tool_names=list(_read_tool_names(tools.text)),
            tools_id=_store_part(tools, conversation.tenant_id),
            tools_sha256=tools.text_sha256,
        )
        for position, part in enumerate(assembled.parts):
            stored = _store_part(part, session.tenant_id)
            SessionPart.objects.create(tenant_id=session.tenant_id, session=session, position=position, part_id=stored)
    return session


@lru_cache(NAMES_KEPT)
def _read_tool_names(definitions: str) -> tuple[str, ...]:
    """The names in a tool list. Cached, so that waiting turns with the same tools share one tuple."""
    return tuple(definition["name"] for definition in json.loads(definitions))


def _store_part(part: SlotText, tenant_id: int) -> int:
    """Store a part unless it exists, and return its id. The text of an existing part is not read."""
    stored, _ = SnapshotPart.objects.only("pk").get_or_create(
        tenant_id=tenant_id,
        slot=part.slot,
        sha256=part.sha256,
        defaults={"text": part.text, "segments": encode_segments(part)},
    )
    return stored.pk
