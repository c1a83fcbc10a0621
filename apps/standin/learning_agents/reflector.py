"""Reflects on a day as the extractor reads one conversation: what it writes of two or more of them is a pattern.

To remember is what a colleague told two customers in the same words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from apps.standin.learning_agents.extractor import extract
from apps.standin.learning_agents.transcripts import told_by

SKILLS = 3
SHOWN_BY = 2
MEMORIES = 3
# A shorter sentence is a greeting.
WORDS = 5
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_HEADING = re.compile(r"^# Conversation (\d{1,4})$", re.MULTILINE)


def reflect(day_text: str) -> str:
    """Strict JSON: the skills and facts that several conversations show, in the order in which they first came up."""
    found: dict[str, tuple[dict[str, str], list[int]]] = {}
    for number, text in _conversations(day_text):
        skill = json.loads(extract(text))["skill"]
        if skill is not None:
            found.setdefault(skill["name"], (skill, []))[1].append(number)
    shown = [{**skill, "conversations": by} for skill, by in found.values() if len(by) >= SHOWN_BY]
    told: dict[str, list[int]] = {}
    for number, text in _conversations(day_text):
        for sentence in dict.fromkeys(_told_by_colleagues(text)):
            told.setdefault(sentence, []).append(number)
    memories = [{"text": sentence, "conversations": by} for sentence, by in told.items() if len(by) >= SHOWN_BY]
    return json.dumps({"skills": shown[:SKILLS], "memories": memories[:MEMORIES]}, ensure_ascii=False)


def _told_by_colleagues(text: str) -> Iterator[str]:
    for said in told_by("operator", text):
        yield from (each for each in _SENTENCE.split(said) if len(each.split()) >= WORDS and each.endswith("."))


def _conversations(day_text: str) -> list[tuple[int, str]]:
    _, *parts = _HEADING.split(day_text)
    return [(int(number), text) for number, text in zip(parts[::2], parts[1::2], strict=True)]
