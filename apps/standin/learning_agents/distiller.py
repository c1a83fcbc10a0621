"""Rewrites a memory tier: keeps every fact, and adds each theme of the lines that no fact covers yet."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from apps.standin.conversation import json_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apps.llm.model_backend import Json, JsonObject

BYTES_PER_TOKEN = 4
_BUDGET = re.compile(r"At most (\d+) tokens\.")
_DAY = re.compile(r"^\d{4}-\d\d-\d\d: ")


def distil_tier(message_text: str) -> str:
    """Return the answer as strict JSON. Facts beyond the budget are left for the next run."""
    objects = list(_objects(json_lines(message_text)))
    facts: list[JsonObject] = [_fact(str(each["text"]), [str(each["fact"])]) for each in objects if "fact" in each]
    fact_texts = {each["text"] for each in facts}
    themes: dict[str, list[str]] = {}
    for each in objects:
        if "line" in each and (theme := _theme_of_line(str(each.get("text", "")))) and theme not in fact_texts:
            themes.setdefault(theme, []).append(str(each["line"]))
    budget = _BUDGET.search(message_text)
    left = int(budget[1]) * BYTES_PER_TOKEN if budget else 0
    left -= sum(len(str(each["text"]).encode()) + 3 for each in facts)
    for theme, lines in sorted(themes.items(), key=lambda each: -len(each[1])):
        left -= len(theme.encode()) + 3
        if left < 0:
            break
        facts.append(_fact(theme, lines[:5]))
    return json.dumps({"facts": facts}, ensure_ascii=False)


def _fact(text: str, source_ids: list[str]) -> JsonObject:
    ids: list[Json] = list(source_ids)
    return {"text": text, "source_ids": ids}


def _theme_of_line(text: str) -> str:
    """Return a line without its day and counts."""
    parts = [each for each in _DAY.sub("", text).split("; ") if not any(char.isdigit() for char in each)]
    return "; ".join(parts)


def _objects(lines: Iterator[Json]) -> Iterator[JsonObject]:
    for line in lines:
        if isinstance(line, dict):
            yield line
