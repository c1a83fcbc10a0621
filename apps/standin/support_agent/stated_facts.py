"""Finds explicit statements in a text: a customer's wishes and facts about the business. Nothing is inferred."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Up to the end of the clause; a full stop in an address or a number does not end the clause.
_CLAUSE = r"((?:[^.!?;,\n]|\.(?=\S)){1,160})"
_WISHES = (
    (
        re.compile(rf"\bI(?:'d| would)?(?: really| much)? prefer {_CLAUSE}", re.IGNORECASE),
        "Prefers {}.",
        "you prefer {}",
    ),
    (
        re.compile(rf"\bmy preferred ((?:\w+ ){{0,4}}\w+) (?:is|are) {_CLAUSE}", re.IGNORECASE),
        "Preferred {}: {}.",
        "your preferred {} is {}",
    ),
    (
        re.compile(rf"(?:\bplease |^|[.!?]\s)always {_CLAUSE}", re.IGNORECASE | re.MULTILINE),
        "Asks us always to {}.",
        "we should always {}",
    ),
    (
        re.compile(rf"\bplease (?:never|don't ever|do not ever) {_CLAUSE}", re.IGNORECASE),
        "Asks us never to {}.",
        "we should never {}",
    ),
    (re.compile(rf"\bfrom now on,? (?:please )?{_CLAUSE}", re.IGNORECASE), "From now on: {}.", "from now on: {}"),
)
_CHANGE = re.compile(rf"\b(?:change|update|set|switch) my ((?:\w+ ){{0,3}}?\w+) to {_CLAUSE}", re.IGNORECASE)
_COURTESY = re.compile(r"(?:\s+(?:please|thanks|thank you|instead))+\s*$", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_REMINDER = re.compile(
    r"^(?:please )?(?:remember|note|keep in mind|from now on|for the record)(?: that)?\s*[:,]?\s*", re.IGNORECASE
)
_BUSINESS_PRONOUN = re.compile(r"\b(?:we|our|us)\b", re.IGNORECASE)
_BUSINESS_CLAIM = re.compile(
    r"\byour (?:\w+ ){1,4}(?:is|are|opens?|closes?|ships?|accepts?|offers?|has|have)\b", re.IGNORECASE
)
_THIRD_PERSON = {"me": "them", "my": "their", "mine": "theirs", "i": "they", "myself": "themselves"}
_SECOND_PERSON = {"me": "you", "my": "your", "mine": "yours", "i": "you", "myself": "yourself"}
_PRONOUN = re.compile(r"\b(?:me|my|mine|I|myself)\b")


@dataclass(frozen=True, slots=True)
class StatedWish:
    """A customer's preference, worded for the record and for the reply to the customer."""

    record: str
    spoken: str


def stated_wish(text: str) -> StatedWish | None:
    plain = text.replace("\u2019", "'")
    for pattern, record, spoken in _WISHES:
        if found := pattern.search(plain):
            return _build_wish(found, record, spoken)
    return None


def stated_change(text: str) -> StatedWish | None:
    """Return the change to their own data that the customer asks for."""
    found = _CHANGE.search(text)
    return _build_wish(found, "Asked to change their {} to {}.", "you asked to change your {} to {}") if found else None


def facts_from_owner(text: str) -> tuple[str, ...]:
    """Return the owner's statements about the business, and what the owner asks the agent to remember."""
    found = []
    for sentence in sentences(text):
        fact = _REMINDER.sub("", sentence, count=1)
        if (fact != sentence or _BUSINESS_PRONOUN.search(sentence)) and _is_statement(fact):
            found.append(fact[0].upper() + fact[1:])
    return tuple(found)


def facts_from_customer(text: str) -> tuple[str, ...]:
    """Return a customer's statements about the business, which are recorded only if a runbook asks for them."""
    return tuple(
        sentence for sentence in sentences(text) if _BUSINESS_CLAIM.search(sentence) and _is_statement(sentence)
    )


def sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


def _is_statement(sentence: str) -> bool:
    return len(sentence.split()) >= 3 and not sentence.endswith("?")


def _build_wish(found: re.Match[str], record: str, spoken: str) -> StatedWish:
    parts = [_COURTESY.sub("", part).strip() for part in found.groups()]
    return StatedWish(
        record.format(*(_swap_pronouns(part, _THIRD_PERSON) for part in parts)),
        spoken.format(*(_swap_pronouns(part, _SECOND_PERSON) for part in parts)),
    )


def _swap_pronouns(text: str, pronouns: dict[str, str]) -> str:
    return _PRONOUN.sub(lambda found: pronouns[found.group().lower()], text)
