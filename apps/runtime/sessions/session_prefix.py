"""Frozen sessions: the prompt is rendered once, stored by content, and sent unchanged until the session ends (R041, R062)."""

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial

from django.conf import settings
from django.utils import timezone

from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.llm.model_backend import ToolDefinition
from apps.prompt.prompt_input import Slot
from apps.prompt.rendering.data_fences import canonical_json
from apps.prompt.rendering.segments import (
    PromptSnapshot,
    Segment,
    SegmentMismatch,
    SegmentTable,
    SlotText,
    decode_segments,
)
from apps.prompt.rendering.snapshot import render_snapshot
from apps.runtime.limits.turn_limits import is_stale, offered_tools
from apps.runtime.models import Session, SnapshotPart
from apps.runtime.prompt_snapshot.part_cache import CLAIMED_PARTS, FROZEN_PARTS, StoredPart
from apps.runtime.prompt_snapshot.playground_proposal import find_trial, mark_as_proposed
from apps.runtime.prompt_snapshot.prompt_input_builder import read_prompt_input
from apps.runtime.prompt_snapshot.snapshot_store import PromptUnavailable, store_snapshot
from apps.runtime.tools.assistant_tools import member_rights_in
from apps.runtime.tools.builtin_catalog import builtin_tools
from apps.runtime.tools.builtin_tool import ToolOffer
from apps.runtime.tools.tool_search import ROUTING_DEFINITIONS
from apps.runtime.turn_store.turn_context import CurrentSession
from apps.tenants.models import Agent

logger = logging.getLogger(__name__)

TOOLS = "tools"
# The position of the tools in a claim, before the slots of the system prompt.
TOOLS_POSITION = -1
DEFINITIONS_KEPT = 256


class PrefixChanged(PromptUnavailable):
    """The prefix to be sent differs from the frozen one, so nothing is sent."""

    code = "prefix_changed"


@dataclass(frozen=True, slots=True)
class SessionPrefix:
    """A session with its frozen prefix: the tool definitions and the system prompt."""

    session: Session
    assembled: PromptSnapshot
    tools: SlotText

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The tool definitions that the session froze when it opened, even if a release has changed them since."""
        return read_definitions(self.tools.text)

    def verified(self) -> "SessionPrefix":
        """The prefix itself. Raises PrefixChanged if its bytes or their owners differ from those frozen (R043)."""
        if self.assembled.sha256 != self.session.prefix_sha256:
            raise PrefixChanged(f"The prefix of session {self.session.pk} no longer has the hash it was frozen with.")
        if self.session.tools_sha256 not in {"", _sha256(self.tools.text)}:
            raise PrefixChanged(f"The tools of session {self.session.pk} are no longer those it was frozen with.")
        return self


def is_session_over(running: CurrentSession, agent: Agent, now: datetime) -> bool:
    """Whether a new session has to begin: a person ended it, or it was unused for too long or is too old (R064, Z-5)."""
    idle = agent.session_idle_seconds
    idle_seconds = settings.AGENT_SESSION_IDLE_SECONDS if idle is None else idle
    session, oldest = running.session, agent.max_session_age_seconds
    if agent.sessions_ended_at is not None and session.snapshot_at <= agent.sessions_ended_at:
        return True
    # Early releases did not freeze tools. Their sessions are over, since their requests cannot be repeated exactly.
    return session.tools_id is None or is_stale(running.used_at, now, idle_seconds, session.snapshot_at, oldest)


def open_session(
    conversation: Conversation,
    agent: Agent,
    *,
    system: Actor,
    agent_actor: Actor,
    outside: tuple[ToolDefinition, ...] = (),
) -> SessionPrefix:
    """Open a session: render the prompt from the current rows and freeze it."""
    reads = partial(
        read_prompt_input,
        agent,
        conversation.end_user_key,
        actor=agent_actor,
        system=system,
        now=timezone.now(),
        off_the_record=conversation.tells_off_the_record,
    )
    prompt_input = reads()
    assembled = render_snapshot(prompt_input)
    if tried := find_trial(conversation, system=system):
        assembled = mark_as_proposed(render_snapshot(reads(would=tried.would)), assembled, tried)
    for slot in sorted({note.slot for note in assembled.notes}):
        logger.info("prompt text neutralised", extra={"slot": slot.name.lower(), "agent_id": agent.pk})
    offer = ToolOffer.of(
        agent, conversation, knows_agents=bool(prompt_input.invokable), member_rights=member_rights_in(conversation)
    )
    tools = tools_part(agent, offer, outside)
    session = store_snapshot(conversation, assembled, tools, actor=system)
    parts = tuple(_share_part(agent.tenant_id, part) for part in assembled.parts)
    return SessionPrefix(session, PromptSnapshot(parts), _share_part(agent.tenant_id, tools))


def _share_part(tenant_id: int, part: SlotText) -> SlotText:
    """The copy of this part that all turns of the process share."""
    return FROZEN_PARTS.keep(tenant_id, part.sha256, part)


def tools_part(agent: Agent, offer: ToolOffer, outside: tuple[ToolDefinition, ...] = ()) -> SlotText:
    """The allowed tools as slot 0 of the frozen prefix: built-in ones first, in the order of the allow list (R058).

    If there are too many tools, the last ones are reached through routing tools (R125). An agent without the learning layer has
    neither the layer's tools nor its prompt (R001, R004).
    """
    ours = builtin_tools(offer) if agent.has_learning else ()
    offered = offered_tools([tool.definition for tool in ours], outside, ROUTING_DEFINITIONS)
    # One definition per line, so that a diff shows the tool that changed.
    lines = ",\n".join(canonical_json(tool.wire) for tool in offered)
    return SlotText(Slot.TOOLS, (Segment(f"[{lines}]", None, TOOLS),))


def load_prefix(session: Session) -> SessionPrefix:
    """The session with its prefix, read from its stored parts."""
    places = session.parts.select_related("part")
    assembled = PromptSnapshot(tuple(_read_snapshot_part(place.part) for place in places))
    tools = (
        _read_snapshot_part(session.tools)
        if session.tools
        else SlotText(Slot.TOOLS, (Segment("[]", None, "unrecorded"),))
    )
    return SessionPrefix(session, assembled, tools).verified()


def prefix_from_claim(running: CurrentSession, known: Mapping[str, SlotText]) -> SessionPrefix:
    """The session that came with a claim, with its prefix. `known` are parts that this process has cached, by mark."""
    tenant_id = running.session.tenant_id
    parts = {stored.position: known.get(stored.mark) or _keep_part(stored, tenant_id) for stored in running.parts}
    assembled = PromptSnapshot(tuple(part for position, part in parts.items() if position != TOOLS_POSITION))
    return SessionPrefix(running.session, assembled, parts[TOOLS_POSITION]).verified()


def _keep_part(stored: StoredPart, tenant_id: int) -> SlotText:
    return CLAIMED_PARTS.keep(
        tenant_id, stored.mark, _decode_part(stored.id, stored.slot, stored.text or "", stored.segments, stored.sha256)
    )


def _read_snapshot_part(stored: SnapshotPart) -> SlotText:
    return _decode_part(stored.pk, stored.slot, stored.text, stored.segments, stored.sha256)


def _decode_part(number: int, slot_number: int, text: str, segments: SegmentTable | None, sha256: str) -> SlotText:
    slot = Slot(slot_number)
    if segments is None:
        # An earlier release froze this part without owners.
        return SlotText(slot, (Segment(text, None, "unrecorded"),))
    try:
        part = decode_segments(slot, text, segments)
    except SegmentMismatch as flaw:
        raise PrefixChanged(f"Part {number} of slot {slot.value} cannot be read: {flaw}") from flaw
    if part.sha256 != sha256:
        raise PrefixChanged(f"Part {number} of slot {slot.value} is not what it was stored as.")
    return part


@lru_cache(maxsize=DEFINITIONS_KEPT)
def read_definitions(text: str) -> tuple[ToolDefinition, ...]:
    """The parsed tool definitions. Cached, since a worker has thousands of turns, and each needs the definitions three times."""
    return tuple(ToolDefinition(**definition) for definition in json.loads(text))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
