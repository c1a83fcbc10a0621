"""Frozen sessions: assembled once, stored by content, sent byte for byte until the conversation falls silent (R041, R062)."""

import hashlib
import json
import logging
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from django.conf import settings

from apps.conversations.models import Conversation
from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.llm.backend import Tool
from apps.prompt.assembly import assemble
from apps.prompt.framing import canonical_json
from apps.prompt.segments import Assembled, NotSegments, Part, Segment, decode_segments
from apps.prompt.values import Slot
from apps.runtime.gather import gather
from apps.runtime.house_tools import house_tools
from apps.runtime.journal import freeze
from apps.runtime.models import Session, SnapshotPart
from apps.runtime.rules import is_stale
from apps.tenants.models import Agent

logger = logging.getLogger(__name__)

TOOLS = "tools"
DEFINITIONS_KEPT = 256


class PrefixChanged(Exception):
    """What would be sent is not what was frozen; nothing is sent instead."""

    code = "prefix_changed"


@dataclass(frozen=True, slots=True)
class Frozen:
    """A session with the prefix it was opened on: the tools' definitions and the system prompt."""

    session: Session
    assembled: Assembled
    tools: Part

    @property
    def definitions(self) -> tuple[Tool, ...]:
        """The tools as they were when the session opened, whatever a release made of them since."""
        return read_definitions(self.tools.text)

    def verified(self) -> "Frozen":
        """Refused if it is not to the byte what was frozen, or if somebody else would answer for its bytes (R043)."""
        if self.assembled.sha256 != self.session.prefix_sha256:
            raise PrefixChanged(f"The prefix of session {self.session.pk} no longer has the hash it was frozen with.")
        if self.session.tools_sha256 not in {"", _sha256(self.tools.text)}:
            raise PrefixChanged(f"The tools of session {self.session.pk} are no longer those it was frozen with.")
        return self


def session_of(
    conversation: Conversation,
    agent: Agent,
    *,
    system: Actor,
    agent_actor: Actor,
    now: datetime,
    outside: tuple[Tool, ...] = (),
) -> Frozen:
    """The running session, or a new one if the conversation was silent too long or the session is too old."""
    idle = agent.session_idle_seconds
    idle_seconds = settings.AGENT_SESSION_IDLE_SECONDS if idle is None else idle
    with acting(system):
        latest = Session.objects.filter(conversation=conversation).select_related("tools").first()
        # A session of a release that did not freeze tools is over: what it was told cannot be sent again whole.
        if (
            latest
            and latest.tools
            and not is_stale(last_turn_at(latest), now, idle_seconds, latest.snapshot_at, agent.max_session_age_seconds)
        ):
            return thawed(latest)
    return open_session(conversation, agent, system=system, agent_actor=agent_actor, outside=outside)


def open_session(
    conversation: Conversation, agent: Agent, *, system: Actor, agent_actor: Actor, outside: tuple[Tool, ...] = ()
) -> Frozen:
    """Freeze what the nouns say now."""
    assembled = assemble(
        gather(
            agent,
            conversation.end_user_key,
            actor=agent_actor,
            system=system,
            off_the_record=conversation.off_the_record,
        )
    )
    for slot in sorted({note.slot for note in assembled.notes}):
        logger.info("prompt text neutralised", extra={"slot": slot.name.lower(), "agent_id": agent.pk})
    tools = tools_part(agent, outside, off_the_record=conversation.off_the_record)
    return Frozen(freeze(conversation, assembled, tools, actor=system), assembled, tools)


def tools_part(agent: Agent, outside: tuple[Tool, ...] = (), *, off_the_record: bool) -> Part:
    """The allow-listed tools in allow-list order, the house's first, as slot 0 of what is frozen (R058).

    The bare agent has the learning layer's tools no more than its prompt (R001, R004).
    """
    ours = house_tools(off_the_record=off_the_record) if agent.learns else ()
    offered = (*(tool.definition for tool in ours), *outside)
    # One definition a line, so that a difference shows which tool it is about.
    lines = ",\n".join(canonical_json(tool.wire) for tool in offered)
    return Part(Slot.TOOLS, (Segment(f"[{lines}]", None, TOOLS),))


def last_turn_at(session: Session) -> datetime:
    """When the session was last used: its latest finished turn, or its beginning."""
    latest = (
        session.turns.exclude(finished_at=None).order_by("-finished_at").values_list("finished_at", flat=True).first()
    )
    return latest or session.snapshot_at


def thawed(session: Session) -> Frozen:
    """The session with its prefix, read back from the parts it refers to."""
    places = session.parts.select_related("part")
    assembled = Assembled(tuple(_part(place.part) for place in places))
    tools = _part(session.tools) if session.tools else Part(Slot.TOOLS, (Segment("[]", None, "unrecorded"),))
    return Frozen(session, assembled, tools).verified()


def _part(stored: SnapshotPart) -> Part:
    slot = Slot(stored.slot)
    if stored.segments is None:
        # Frozen before owners were kept.
        return Part(slot, (Segment(stored.text, None, "unrecorded"),))
    try:
        part = decode_segments(slot, stored.text, stored.segments)
    except NotSegments as flaw:
        raise PrefixChanged(f"Part {stored.pk} of slot {slot.value} cannot be read: {flaw}") from flaw
    if part.sha256 != stored.sha256:
        raise PrefixChanged(f"Part {stored.pk} of slot {slot.value} is not what it was stored as.")
    return part


@lru_cache(maxsize=DEFINITIONS_KEPT)
def read_definitions(text: str) -> tuple[Tool, ...]:
    """Read once for all sessions with these tools: a worker holds thousands of turns, and asks three times in each."""
    return tuple(Tool(**definition) for definition in json.loads(text))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
