"""Categories of recurring edits, described by fixed phrases of the product; pure.

Texts of customers and colleagues are matched and never repeated: a category names a change and a topic from the table below. Only
the sentence and the rule of a category reach people and, once approved, prompts.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.learning.lessons.edit_clustering import Cluster, EditKind

DISCARDED: Final = "discarded"
_NUMBERED_ITEM: Final = re.compile(r"([0-9]{1,4})\. ")
# A dismissed cluster is shown again once the number of its drafts has grown by this factor.
REGROWTH_FACTOR: Final = 3


@dataclass(frozen=True, slots=True)
class _Topic:
    words: re.Pattern[str]
    called: str
    where_added: str = ""


def _make_topic(words: str, called: str, where_added: str = "") -> _Topic:
    return _Topic(re.compile(words, re.IGNORECASE), called, where_added)


# Asking for a number and stating a number are different topics.
_ASKING_WORDS: Final = (
    r"(?:\b(?:what|which)\b|\b(?:tell|send|give|provide|share|state|include|confirm|quote|need|have|know)\b)"
    r"[^.?!]{0,40}"
)


# The first match wins; personal data in the text is already masked.
_TOPICS: Final[Mapping[str, _Topic]] = {
    "asks_order_number": _make_topic(
        _ASKING_WORDS + r"\byour order\W{0,3}(?:number|no\b|id\b)|\bnumber of your order\b[^.!]{0,40}\?",
        "a question for the order number",
        "Ask for the order number where you need it and do not know it.",
    ),
    "order_number": _make_topic(
        r"\border\W{0,3}(?:number|no\b|id\b)|\bnumber of (?:your|the) order", "the order number"
    ),
    "tracking": _make_topic(r"\btrack(?:ing|ed)?\b", "how to follow the parcel"),
    "apology": _make_topic(r"\b(?:sorry|apolog(?:y|ies|i[sz]e))\b", "an apology"),
    "thanks": _make_topic(r"\bthanks?\b", "thanks"),
    "further_help": _make_topic(
        r"\banything else\b|\bfurther (?:help|questions)\b|\blet us know\b", "an offer of further help"
    ),
    "closing": _make_topic(r"\b(?:regards|sincerely|best wishes)\b", "a closing line"),
    "refund": _make_topic(r"\brefund", "a note on refunds"),
    "returns": _make_topic(r"\breturn(?:s|ed|ing)?\b", "a note on returns"),
    "contact_details": _make_topic(r"\[(?:e-mail|phone)\]|\b(?:call|phone|e-?mail) us\b", "how to reach us"),
    "money": _make_topic(r"[$€£]|\b(?:eur|usd|euros?|dollars?)\b", "an amount of money"),
    "duration": _make_topic(
        r"\[number\] (?:business |working )?(?:minute|hour|day|week|month)|\b(?:soon|shortly)\b", "how long it takes"
    ),
    "date": _make_topic(r"\[date\]|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\btomorrow\b", "a date"),
    "promise": _make_topic(r"\b(?:guarantee|promise|definitely|certainly)", "words that commit us"),
    "name": _make_topic(r"\[name\]", "the customer's name"),
    "greeting": _make_topic(r"^\W*(?:hello|hi|dear|good (?:morning|day|evening))\b", "a greeting"),
    "question": _make_topic(r"\?\s*$", "a question to the customer", "Ask the customer what you have to know."),
}
_DISCARD_REASONS: Final[Mapping[str, tuple[str, str]]] = {
    "wrong": ("because they were wrong", "Look a matter up before you state it."),
    "ungrounded": (
        "because nothing supported what they said",
        "State only what a skill, a tool's answer or the customer's profile supports.",
    ),
    "against_policy": (
        "because they were against policy",
        "Keep to the written policy; where it does not say, escalate.",
    ),
    "wrong_tone": ("because of their tone", "Keep to the tone that the persona sets."),
    "incomplete": ("because they left something out", "Answer everything that the customer asked."),
    "not_needed": ("because no reply was needed", "Do not reply where the customer only confirms or says thanks."),
    "other": ("for another reason", ""),
}


def edit_category(cluster: Cluster) -> str:
    """Return the kind of change and its topics, such as `added:order_number`; a topic missing from the table is empty."""
    if cluster.change is EditKind.REPLACED:
        return f"replaced:{_topic_of(cluster.removed)}:{_topic_of(cluster.added)}"
    return f"{cluster.change}:{_topic_of(cluster.added or cluster.removed)}"


def discard_category(reason_code: str) -> str:
    """Return the category of drafts that were discarded for one reason."""
    return f"{DISCARDED}:{reason_code}"


def describe_category(habit: str) -> str:
    """Return the change as a sentence of fixed phrases, such as `A person added the order number`."""
    change, first, second = _split_category(habit)
    if change == DISCARDED:
        return f"A person discarded drafts {_DISCARD_REASONS[first][0]}"
    if change == EditKind.REPLACED:
        if first == second:
            return f"A person put {_topic_label(first)} in other words"
        return f"A person wrote {_topic_label(second)} instead of {_topic_label(first)}"
    return f"A person {change} {_topic_label(first)}"


def suggested_rule(habit: str) -> str:
    """Return the suggested rule for the agent; empty if the table lacks the topic, and a person has to write the rule."""
    change, first, second = _split_category(habit)
    if change == DISCARDED:
        return _DISCARD_REASONS[first][1]
    if not first or (change == EditKind.REPLACED and not second):
        return ""
    one, two = _topic_label(first), _topic_label(second)
    if change == EditKind.ADDED:
        return _TOPICS[first].where_added or f"Put {one} into a reply where you know it and it fits."
    if change == EditKind.REMOVED:
        return f"Leave {one} out of a reply unless the customer asked for it."
    if first == second:
        return f"Check {one} before it goes into a reply; people often correct it."
    return f"Write {two} rather than {one}."


def insert_into_runbook(body: str, habit: str, line: str) -> str:
    """Insert a line into a runbook: as a step if people add this text to drafts, else as a pitfall.

    The line goes to the end of the section, and a missing section to the end of the runbook. The reviewer can move the line.
    """
    title = "Procedure" if habit.startswith(f"{EditKind.ADDED}:") else "Pitfalls"
    lines = body.rstrip().split("\n")
    heads = [number for number, each in enumerate(lines) if each.startswith("## ")]
    at = next((number for number in heads if lines[number][3:].strip().lower() == title.lower()), None)
    if at is None:
        return "\n".join([*lines, "", f"## {title}", f"- {line}", ""])
    end = next((number for number in heads if number > at), len(lines))
    while end > at + 1 and not lines[end - 1].strip():
        end -= 1
    return "\n".join([*lines[:end], f"{_next_list_marker(lines[at + 1 : end])} {line}", *lines[end:], ""])


def _next_list_marker(items: Sequence[str]) -> str:
    """Return the marker of the next list item: the next number, or a hyphen if the list has no numbers."""
    numbers = [int(found[1]) for found in map(_NUMBERED_ITEM.match, items) if found]
    return f"{numbers[-1] + 1}." if numbers else "-"


def has_grown_enough(count: int, count_at_dismissal: int) -> bool:
    """Return whether a dismissed cluster has enough new drafts to be shown again."""
    return count >= REGROWTH_FACTOR * max(count_at_dismissal, 1)


def _topic_of(words: str) -> str:
    return next((name for name, matter in _TOPICS.items() if matter.words.search(words)), "")


def _topic_label(matter: str) -> str:
    return _TOPICS[matter].called if matter else "words of another kind"


def _split_category(habit: str) -> tuple[str, str, str]:
    change, first, *second = habit.split(":")
    return change, first, second[0] if second else ""
