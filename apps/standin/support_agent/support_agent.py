"""An honest support agent: it does what the customer explicitly requests, and reports only what it did."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from apps.standin.decisions import Decision, TextDecision, ToolDecision
from apps.standin.support_agent.reply_texts import ESCALATE, reply_to
from apps.standin.support_agent.runbooks import GET_SKILL, fetched_runbook
from apps.standin.support_agent.stated_facts import facts_from_customer, facts_from_owner, stated_change, stated_wish
from apps.standin.support_agent.tool_arguments import MissingArgument, fill_arguments
from apps.standin.vocabulary import shared_words, tool_name_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apps.llm.model_backend import JsonObject
    from apps.standin.conversation import IndexedSkill, RequestConversation
    from apps.standin.support_agent.stated_facts import StatedWish

UPDATE_PROFILE = "update_customer_profile"
UPDATE_MEMORY = "update_memory"
# Read-only tools for use with a runbook, which are not steps of it.
SKILL_READING_TOOLS = frozenset({GET_SKILL, "get_skill_attachment", "skill_view"})
WORDS_TO_MATCH = 2
_WANTS_A_PERSON = re.compile(
    r"\b(?:talk|speak|write|chat) (?:to|with) (?:an?|some|your) (?:\w+ )?(?:person|human|colleague|employee|manager)\b",
    re.IGNORECASE,
)
_APPROVED_CALL = re.compile(r"approved the call of (\S{1,64}) that you asked for \(request (\d{1,18})\)")


def answer_conversation(conversation: RequestConversation) -> Decision:
    for decide in (
        _make_approved_call,
        _hand_over,
        _record_owner_facts,
        _fetch_skill,
        _follow_runbook,
        _record_wish,
    ):
        call = decide(conversation)
        if call is not None:
            return call
    return TextDecision(reply_to(conversation, missing=_missing_arguments(conversation)))


def _make_approved_call(conversation: RequestConversation) -> ToolDecision | None:
    """Return the approved call with its original arguments, once per approval by an owner."""
    for name, request in _APPROVED_CALL.findall(conversation.turn.owner):
        asked = (call for call in reversed(conversation.calls) if call.tool_name == name)
        call = next((call for call in asked if f"(request {request})" in call.result), None)
        if call is not None and not any(
            (made.tool_name, made.arguments) == (name, call.arguments) for made in conversation.turn_calls
        ):
            return ToolDecision(name, call.arguments)
    return None


def _hand_over(conversation: RequestConversation) -> ToolDecision | None:
    """Return an escalation, at most one per conversation."""
    if ESCALATE not in conversation.tools or any(call.tool_name == ESCALATE for call in conversation.calls):
        return None
    question = conversation.turn.customer
    return (
        ToolDecision(ESCALATE, {"reason": "customer_asked", "question": question})
        if _WANTS_A_PERSON.search(question)
        else None
    )


def _record_owner_facts(conversation: RequestConversation) -> ToolDecision | None:
    if _was_called(conversation, UPDATE_MEMORY):
        return None
    return _memory_call(conversation, facts_from_owner(conversation.turn.owner))


def _fetch_skill(conversation: RequestConversation) -> ToolDecision | None:
    if GET_SKILL not in conversation.tools or _was_called(conversation, GET_SKILL):
        return None
    skill = _best_skill(conversation)
    if skill is None:
        return None
    argument = _skill_argument(conversation.tools[GET_SKILL])
    fetched = any(
        call.tool_name == GET_SKILL and call.arguments.get(argument) == skill.skill_id for call in conversation.calls
    )
    return None if fetched else ToolDecision(GET_SKILL, {argument: skill.skill_id})


def _best_skill(conversation: RequestConversation) -> IndexedSkill | None:
    scored = [
        (shared_words(f"{tool_name_in_words(skill.name)} {skill.description}", conversation.turn.customer), skill)
        for skill in conversation.skills
    ]
    best = max((score for score, _ in scored), default=0)
    if best < WORDS_TO_MATCH:
        return None
    return next(skill for score, skill in scored if score == best)


def _skill_argument(schema: JsonObject) -> str:
    properties = schema.get("properties")
    names = list(properties) if isinstance(properties, dict) else []
    return next((name for name in ("skill_id", "id") if name in names), names[0] if names else "skill_id")


def _follow_runbook(conversation: RequestConversation) -> ToolDecision | None:
    for tool_name in _tools_to_call(conversation):
        call = _call_for(tool_name, conversation)
        if isinstance(call, ToolDecision):
            return call
    return None


def _tools_to_call(conversation: RequestConversation) -> tuple[str, ...]:
    """Return the offered tools that the fetched runbook names and that have not been called since."""
    runbook = fetched_runbook(conversation)
    if runbook is None:
        return ()
    called = {call.tool_name for call in runbook.calls_since}
    return tuple(
        name
        for name in runbook.tool_names
        if name in conversation.tools and name not in called and name not in SKILL_READING_TOOLS
    )


def _missing_arguments(conversation: RequestConversation) -> tuple[str, ...]:
    calls = (_call_for(name, conversation) for name in _tools_to_call(conversation))
    return tuple(dict.fromkeys(call.argument for call in calls if isinstance(call, MissingArgument)))


def _call_for(tool_name: str, conversation: RequestConversation) -> ToolDecision | MissingArgument | None:
    if tool_name == UPDATE_PROFILE:
        wish = stated_wish(conversation.turn.customer) or stated_change(conversation.turn.customer)
        return _profile_call(wish) if wish else None
    if tool_name == UPDATE_MEMORY:
        return _memory_call(conversation, facts_from_customer(conversation.turn.customer))
    arguments = fill_arguments(conversation.tools[tool_name], conversation.customer_texts)
    return arguments if isinstance(arguments, MissingArgument) else ToolDecision(tool_name, arguments)


def _record_wish(conversation: RequestConversation) -> ToolDecision | None:
    wish = stated_wish(conversation.turn.customer)
    if wish is None or UPDATE_PROFILE not in conversation.tools or _was_called(conversation, UPDATE_PROFILE):
        return None
    is_known = wish.record in conversation.section("Customer profile")
    return None if is_known else _profile_call(wish)


def _profile_call(wish: StatedWish) -> ToolDecision:
    return ToolDecision(UPDATE_PROFILE, {"preferences": wish.record})


def _memory_call(conversation: RequestConversation, facts: Sequence[str]) -> ToolDecision | None:
    """Return a memory write. Memory is written as a whole: the current text, followed by the new facts."""
    if UPDATE_MEMORY not in conversation.tools:
        return None
    known = conversation.remembered
    new = [f"- {fact}" for fact in facts if fact not in known]
    return ToolDecision(UPDATE_MEMORY, {"body": "\n".join(filter(None, [known, *new]))}) if new else None


def _was_called(conversation: RequestConversation, tool_name: str) -> bool:
    return any(call.tool_name == tool_name for call in conversation.turn_calls)
