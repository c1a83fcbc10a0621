"""Frozen sessions: assembled once, stored by content, sent byte for byte until the conversation falls silent (R041, R062)."""

import logging
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from apps.conversations.models import Conversation
from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.llm.backend import SystemBlock
from apps.prompt.assembly import assemble
from apps.prompt.breakpoints import marks
from apps.prompt.values import Assembled, Part, Slot
from apps.runtime.gather import gather
from apps.runtime.house_tools import HOUSE_TOOLS
from apps.runtime.journal import freeze
from apps.runtime.models import Session
from apps.runtime.rules import is_stale
from apps.tenants.models import Agent

logger = logging.getLogger(__name__)


class PrefixChanged(Exception):
    """What would be sent is not what was frozen; nothing is sent instead."""

    code = "prefix_changed"


@dataclass(frozen=True, slots=True)
class Frozen:
    """A session with the prefix it was opened on."""

    session: Session
    assembled: Assembled


def session_of(conversation: Conversation, agent: Agent, *, system: Actor, agent_actor: Actor, now: datetime) -> Frozen:
    """The running session, or a new one if the conversation was silent too long."""
    idle = agent.session_idle_seconds
    idle_seconds = settings.AGENT_SESSION_IDLE_SECONDS if idle is None else idle
    with acting(system):
        latest = Session.objects.filter(conversation=conversation).first()
        if latest and not is_stale(last_turn_at(latest), now, idle_seconds):
            return _thawed(latest)
    return open_session(conversation, agent, system=system, agent_actor=agent_actor)


def open_session(conversation: Conversation, agent: Agent, *, system: Actor, agent_actor: Actor) -> Frozen:
    """Freeze what the nouns say now."""
    assembled = assemble(gather(agent, conversation.end_user_key, actor=agent_actor))
    for slot in sorted({note.slot for note in assembled.notes}):
        logger.info("prompt text neutralised", extra={"slot": slot.name.lower(), "agent_id": agent.pk})
    # The bare agent has the learning layer's tools no more than its prompt (R001, R004).
    tool_names = [tool.name for tool in HOUSE_TOOLS] if agent.learns else []
    return Frozen(freeze(conversation, assembled, tool_names, actor=system), assembled)


def system_blocks(frozen: Frozen) -> tuple[SystemBlock, ...]:
    """The prefix as the model gets it, refused if it is not to the byte what was frozen (R043)."""
    if frozen.assembled.sha256 != frozen.session.prefix_sha256:
        raise PrefixChanged(f"The prefix of session {frozen.session.pk} no longer has the hash it was frozen with.")
    pairs = zip(frozen.assembled.blocks, marks(frozen.assembled), strict=True)
    return tuple(SystemBlock(text, cache) for text, cache in pairs)


def last_turn_at(session: Session) -> datetime:
    """When the session was last used: its latest finished turn, or its beginning."""
    latest = (
        session.turns.exclude(finished_at=None).order_by("-finished_at").values_list("finished_at", flat=True).first()
    )
    return latest or session.snapshot_at


def _thawed(session: Session) -> Frozen:
    places = session.parts.select_related("part")
    return Frozen(session, Assembled(tuple(Part(Slot(place.part.slot), place.part.text) for place in places)))
