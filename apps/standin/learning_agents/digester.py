"""Rewrites a list of bullets from lessons: the current bullets, followed by one bullet for each lesson with a correction."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from apps.standin.conversation import json_lines

if TYPE_CHECKING:
    from apps.llm.model_backend import Json

BULLET_CHARACTERS = 250
MOST_BULLETS = 10


def digest_lessons(material: str) -> str:
    """Return the answer as strict JSON; equal material always gives the same list."""
    lines = [line for line in json_lines(material) if isinstance(line, dict)]
    standing = [str(line["bullet"]) for line in lines if line.get("kind") == "active" and "bullet" in line]
    lessons = [line for line in lines if line.get("kind") == "lesson" and "instead" in line]
    new = {_bullet(line["instead"]): line["id"] for line in reversed(lessons)}
    bullets = list(dict.fromkeys([*standing, *reversed(list(new))]))[:MOST_BULLETS]
    answer: dict[str, Json] = {
        "body": "\n".join(f"- {bullet}" for bullet in bullets),
        "change_summary": f"Takes up what {len(lessons)} lesson{'' if len(lessons) == 1 else 's'} showed.",
        "folded_lesson_ids": [line["id"] for line in lessons],
    }
    return json.dumps(answer, ensure_ascii=False)


def _bullet(instead: Json) -> str:
    return " ".join(f"Answer as colleagues do: {instead}".split())[:BULLET_CHARACTERS]
