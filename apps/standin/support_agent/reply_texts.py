"""Composes the support agent's reply: what was done, what was not done, and one next step."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from apps.standin.conversation import json_lines
from apps.standin.support_agent.persona import persona_of
from apps.standin.support_agent.runbooks import GET_SKILL, fetched_runbook
from apps.standin.support_agent.stated_facts import sentences, stated_change, stated_wish
from apps.standin.vocabulary import content_words, shared_words, tool_name_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apps.llm.model_backend import Json
    from apps.standin.conversation import PastCall, RequestConversation
    from apps.standin.support_agent.runbooks import Runbook

ESCALATE = "escalate"
MOST_STEPS = 5
QUOTED_CHARACTERS = 160
THANKS_CHARACTERS = 60
_BACKTICKS = re.compile(r"`([^`]{1,80})`")
_CHANNEL = re.compile(
    r"^Prefers (?:to be contacted by |contact by )?(e-?mail|phone|sms|text|chat|letter)s?\b", re.IGNORECASE
)
_THANKS = re.compile(r"\b(?:thanks|thank you|cheers|that was all|that is all)\b", re.IGNORECASE)
_WHO_ARE_YOU = re.compile(
    r"\b(?:who are you|your name|who am i (?:talking|speaking|writing) (?:to|with))\b", re.IGNORECASE
)


def reply_to(conversation: RequestConversation, *, missing: tuple[str, ...]) -> str:
    outcome = list(_outcome_sentences(conversation, missing))
    relayed = [f"A colleague looked into it: {answer}" for answer in conversation.turn.answers]
    if not (conversation.turn.customer or outcome) and relayed:
        return " ".join([*_opening_sentences(conversation), *relayed])
    parts = [*_opening_sentences(conversation), *relayed, *(outcome or _honest_answer(conversation))]
    return " ".join(parts)


def _opening_sentences(conversation: RequestConversation) -> Iterator[str]:
    if not conversation.is_first_reply:
        return
    yield persona_of(conversation).greeting
    if remembered := _remembered_preference(conversation):
        yield remembered


def _remembered_preference(conversation: RequestConversation) -> str:
    preferences = _preferences(conversation.section("Customer profile"))
    if not preferences:
        return ""
    channel = _CHANNEL.match(preferences)
    if channel:
        return f"I'll use {channel.group(1).lower()}, as you prefer."
    return f"I have in mind what you told us: {preferences.rstrip('.')}."


def _preferences(profile: str) -> str:
    for value in json_lines(profile):
        if isinstance(value, dict):
            return _as_prose(value.get("preferences"))
    return ""


def _as_prose(value: Json) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{tool_name_in_words(key)}: {_as_prose(item)}" for key, item in sorted(value.items()))
    if isinstance(value, list):
        return "; ".join(_as_prose(item) for item in value)
    return "" if value is None else str(value).strip()


def _outcome_sentences(conversation: RequestConversation, missing: tuple[str, ...]) -> Iterator[str]:
    runbook = fetched_runbook(conversation)
    if runbook is not None:
        yield from _runbook_sentence(runbook)
    for call in conversation.turn_calls:
        if call.tool_name != GET_SKILL or runbook is None:
            yield _call_sentence(call, conversation)
    if missing:
        yield f"To go on I still need this from you: {', '.join(missing)}."
    elif conversation.turn_calls:
        yield "Is there anything else I can do?"


def _runbook_sentence(runbook: Runbook) -> Iterator[str]:
    steps = [_step_text(step) for step in runbook.steps[:MOST_STEPS]]
    if more := len(runbook.steps) - len(steps):
        steps.append(f"and {more} more")
    yield f"Following our runbook “{runbook.name}”: {'; '.join(steps) or 'it lists no steps'}."


def _step_text(step: str) -> str:
    plain = _BACKTICKS.sub(lambda found: tool_name_in_words(found.group(1)), step).rstrip(".;: ")
    return plain[:1].lower() + plain[1:]


def _call_sentence(call: PastCall, conversation: RequestConversation) -> str:
    if call.tool_name == GET_SKILL:
        return "I could not read our runbook for this."
    if call.tool_name == ESCALATE and not call.is_error:
        return "I have handed this to a colleague, who will answer you here."
    if call.is_error:
        return f"This did not work: {tool_name_in_words(call.tool_name)}. A colleague has to finish it."
    customer = conversation.turn.customer
    wish = stated_wish(customer) or stated_change(customer)
    if wish is not None and call.arguments.get("preferences") == wish.record:
        return f"I have noted that {wish.spoken}."
    return f"Done: {tool_name_in_words(call.tool_name)}."


def _honest_answer(conversation: RequestConversation) -> list[str]:
    text = conversation.turn.customer or conversation.turn.owner
    if _WHO_ARE_YOU.search(text) and (name := persona_of(conversation).full_name):
        return [f"You are talking to {name}. How can I help you?"]
    if _is_only_thanks(text):
        return ["You are welcome. Write again whenever you need something."]
    if not content_words(text):
        return ["How can I help you?"]
    wish = stated_wish(text)
    if wish is not None:
        return [_wish_sentence(conversation, wish.record, wish.spoken)]
    return [_restate_request(text), *_remembered_facts(text, conversation), _next_step_sentence(conversation)]


def _is_only_thanks(text: str) -> bool:
    return len(text) <= THANKS_CHARACTERS and "?" not in text and _THANKS.search(text) is not None


def _wish_sentence(conversation: RequestConversation, record: str, spoken_wish: str) -> str:
    if record in conversation.section("Customer profile"):
        return f"I already have on record that {spoken_wish}."
    return f"I understand that {spoken_wish}, but I cannot save that here."


def _restate_request(text: str) -> str:
    request = next((part for part in sentences(text) if content_words(part)), text)
    short = request if len(request) <= QUOTED_CHARACTERS else request[:QUOTED_CHARACTERS].rstrip() + "…"
    return f"You wrote: “{short.strip()}”"


def _remembered_facts(text: str, conversation: RequestConversation) -> Iterator[str]:
    lines = (line.lstrip("-* ") for line in conversation.remembered.splitlines())
    scored = [(shared_words(line, text), line) for line in lines]
    best = max((score for score, _ in scored), default=0)
    if best >= 2:
        line = next(line for score, line in scored if score == best)
        yield f"What I have on record, which may be out of date: {line.rstrip('.')}."


def _next_step_sentence(conversation: RequestConversation) -> str:
    if GET_SKILL in conversation.tools:
        return "I found no runbook for this, so I will not guess. Tell me which result you want, and I will look again."
    return "I cannot look that up here, so I will not guess. Tell me which result you want, for a colleague to take on."
