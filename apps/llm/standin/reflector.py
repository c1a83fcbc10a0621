"""Reflects on a day as the extractor reads one conversation: what it writes of two or more of them is a pattern."""

from __future__ import annotations

import json
import re

from apps.llm.standin.extractor import extract

SKILLS = 3
SHOWN_BY = 2
_HEADING = re.compile(r"^# Conversation (\d{1,4})$", re.MULTILINE)


def reflect(day_text: str) -> str:
    """Strict JSON: the skills that several conversations show, in the order in which they first came up."""
    found: dict[str, tuple[dict[str, str], list[int]]] = {}
    for number, text in _conversations(day_text):
        skill = json.loads(extract(text))["skill"]
        if skill is not None:
            found.setdefault(skill["name"], (skill, []))[1].append(number)
    shown = [{**skill, "conversations": by} for skill, by in found.values() if len(by) >= SHOWN_BY]
    return json.dumps({"skills": shown[:SKILLS]}, ensure_ascii=False)


def _conversations(day_text: str) -> list[tuple[int, str]]:
    _, *parts = _HEADING.split(day_text)
    return [(int(number), text) for number, text in zip(parts[::2], parts[1::2], strict=True)]
