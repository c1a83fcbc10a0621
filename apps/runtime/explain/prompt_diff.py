"""Compares the prompts of two sessions, or of a session and a new one opened now, and explains the cause of each difference."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import QuerySet

from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.errors import Conflict
from apps.prompt.prompt_diff import Hunk, OwnerChange, diff_owners, diff_prompt_lines, is_reordered
from apps.prompt.prompt_input import Slot
from apps.prompt.rendering.segments import PromptSnapshot, SegmentMismatch
from apps.prompt.rendering.snapshot import render_snapshot
from apps.runtime.explain.prompt_diff_causes import Causes, ChangeCause, Window
from apps.runtime.models import Session
from apps.runtime.prompt_snapshot.preview import preview_prompt_input
from apps.runtime.sessions.session_prefix import PrefixChanged, load_prefix, tools_part
from apps.runtime.tools.builtin_tool import ToolOffer

LATEST_CONVERSATIONS: Final = 20
UNEXPLAINED: Final = "no act in between explains it: the product's own words, or the choice by use, changed"
FIRST_ROW_EXPLANATION: Final = (
    "no act on this text: the contract is longer while a row describes the agent, and the first such row was added, or the last"
    " one removed"
)


@dataclass(frozen=True, slots=True)
class ExplainedHunk:
    """A difference within a slot, the acts that caused it, and a sentence to show if no act did."""

    hunk: Hunk
    causes: tuple[ChangeCause, ...]
    explanation: str


@dataclass(frozen=True, slots=True)
class SlotReordering:
    """The slot names in the order of each prompt, and the acts that changed the order."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    causes: tuple[ChangeCause, ...]


@dataclass(frozen=True, slots=True)
class PromptDiff:
    """The differences between two prompts and their tools. `other_differences` are causes that no act explains."""

    is_same: bool
    other_differences: tuple[str, ...]
    reordered: SlotReordering | None
    hunks: tuple[ExplainedHunk, ...]
    owner_changes: tuple[OwnerChange, ...]


def diff_sessions(session: Session, other: Session | None, *, system: Actor, now: datetime) -> PromptDiff:
    """Compare the session with the other, or with the prompt that a new session of its conversation would freeze now.

    The caller acts as an actor and has read both sessions with `tools`, `agent` and `conversation`. Raises Conflict if a stored
    prompt cannot be read any more.
    """
    one, two = _frozen_prompt(session), _frozen_prompt(other) if other else _current_prompt(session, system)
    unlike = tuple(_other_differences(session, other)) if other else ()
    hunks = diff_prompt_lines(one, two)
    known = Causes.of(hunks, Window.between(session, other, now))
    return PromptDiff(
        one.sha256 == two.sha256,
        unlike,
        _slot_reordering(one, two, known),
        tuple(_explain_hunks(hunks, known, one, two, is_like=not unlike)),
        diff_owners(one, two),
    )


def _frozen_prompt(session: Session) -> PromptSnapshot:
    """The stored prompt with its tools, which are part of what the model reads."""
    try:
        frozen = load_prefix(session)
    except (PrefixChanged, SegmentMismatch) as refusal:
        raise Conflict(f"The prompt of session {session.pk} cannot be compared. {refusal}") from refusal
    return PromptSnapshot((frozen.tools, *frozen.assembled.parts))


def _current_prompt(session: Session, system: Actor) -> PromptSnapshot:
    agent, conversation = session.agent, session.conversation
    given = preview_prompt_input(
        agent, conversation.end_user_key, system=system, off_the_record=conversation.off_the_record
    )
    tools = tools_part(agent, ToolOffer.of(agent, conversation, knows_agents=bool(given.invokable)))
    return PromptSnapshot((tools, *render_snapshot(given).parts))


def _other_differences(one: Session, other: Session) -> Iterator[str]:
    if one.agent_id != other.agent_id:
        yield f"They belong to two agents: {one.agent.key} and {other.agent.key}."
    if one.conversation.end_user_key != other.conversation.end_user_key:
        yield "They belong to two customers."
    if one.conversation.off_the_record != other.conversation.off_the_record:
        yield "One of the two conversations is off the record, so its agent has fewer tools and a shorter prompt."


def _slot_reordering(one: PromptSnapshot, other: PromptSnapshot, known: Causes) -> SlotReordering | None:
    if not is_reordered(one, other):
        return None
    before, after = (tuple(part.slot.name.lower() for part in each.parts) for each in (one, other))
    return SlotReordering(before, after, known.of_order())


def _explain_hunks(
    hunks: tuple[Hunk, ...], known: Causes, one: PromptSnapshot, other: PromptSnapshot, *, is_like: bool
) -> Iterator[ExplainedHunk]:
    follows = "" if is_like else ", or it follows from the above"
    for hunk in hunks:
        grown = hunk.slot is Slot.CONTRACT and not hunk.sources and _has_bare_contract(one) != _has_bare_contract(other)
        yield ExplainedHunk(hunk, known.of_hunk(hunk), (FIRST_ROW_EXPLANATION if grown else UNEXPLAINED) + follows)


def _has_bare_contract(prompt: PromptSnapshot) -> bool:
    """Whether the contract ends with the sentences about answering questions on being an AI."""
    [contract] = [part for part in prompt.parts if part.slot is Slot.CONTRACT]
    return contract.segments[-1].template.startswith("disclosure.")


def comparable_sessions(actor: Actor) -> QuerySet[Session]:
    """The sessions that may be compared: those with customers, in conversations that the actor sees."""
    threads = Conversation.objects.visible_to(actor).of_customers()
    sessions = Session.objects.filter(tenant_id=actor.tenant_id, conversation__in=threads)
    return sessions.select_related("tools", "agent", "conversation")


def previous_session(session: Session, *, actor: Actor) -> Session | None:
    """The agent's previous session in this conversation, or else in the customer's latest earlier conversations."""
    known, customer = comparable_sessions(actor), session.conversation.end_user_key
    before = known.filter(pk__lt=session.pk, agent_id=session.agent_id).order_by("-pk")
    found = before.filter(conversation_id=session.conversation_id).first()
    if found or not customer:
        return found
    # The few conversations are read first. In one query the planner may scan all sessions backwards.
    threads = Conversation.objects.visible_to(actor).filter(end_user_key=customer, pk__lt=session.conversation_id)
    return before.filter(
        conversation_id__in=list(threads.order_by("-pk").values_list("pk", flat=True)[:LATEST_CONVERSATIONS])
    ).first()
