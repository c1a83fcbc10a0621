"""Reflects on a day by running the extractor: a result that it returns for two or more conversations is a pattern.

A memory line is a sentence that a colleague wrote to two customers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from apps.standin.learning_agents.extractor import extract_skill
from apps.standin.learning_agents.transcripts import texts_of_role

MOST_SKILLS = 3
CONVERSATIONS_NEEDED = 2
MOST_MEMORIES = 3
# A shorter sentence is only a greeting.
SHORTEST_SENTENCE_WORDS = 5
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_HEADING = re.compile(r"^# Conversation (\d{1,4})$", re.MULTILINE)


def reflect_on_day(day_text: str) -> str:
    """Return strict JSON: the skills and facts that several conversations support, in order of first appearance."""
    found: dict[str, tuple[dict[str, str], list[int]]] = {}
    for number, text in _conversations(day_text):
        skill = json.loads(extract_skill(text))["skill"]
        if skill is not None:
            found.setdefault(skill["name"], (skill, []))[1].append(number)
    shown = [{**skill, "conversations": by} for skill, by in found.values() if len(by) >= CONVERSATIONS_NEEDED]
    mentions: dict[str, list[int]] = {}
    for number, text in _conversations(day_text):
        for sentence in dict.fromkeys(_colleague_texts(text)):
            mentions.setdefault(sentence, []).append(number)
    memories = [
        {"text": sentence, "conversations": by} for sentence, by in mentions.items() if len(by) >= CONVERSATIONS_NEEDED
    ]
    return json.dumps({"skills": shown[:MOST_SKILLS], "memories": memories[:MOST_MEMORIES]}, ensure_ascii=False)


def _colleague_texts(text: str) -> Iterator[str]:
    for message in texts_of_role("operator", text):
        yield from (
            each
            for each in _SENTENCE.split(message)
            if len(each.split()) >= SHORTEST_SENTENCE_WORDS and each.endswith(".")
        )


def _conversations(day_text: str) -> list[tuple[int, str]]:
    _, *parts = _HEADING.split(day_text)
    return [(int(number), text) for number, text in zip(parts[::2], parts[1::2], strict=True)]
