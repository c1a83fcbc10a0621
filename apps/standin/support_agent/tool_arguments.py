"""Fills a tool's required arguments from the customer's statements, or returns the argument that is missing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apps.standin.vocabulary import content_words, tool_name_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from apps.llm.model_backend import Json, JsonObject

_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
_PHONE = re.compile(r"\+?\d[\d ()/-]{5,18}\d")
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b")
_IDENTIFIER = re.compile(r"\b(?=[\w-]{0,40}\d)[A-Za-z0-9][\w-]{1,40}\b|\b[A-Z]{5,12}\b")
_NUMBER = re.compile(r"(?<![\w./-])\d{1,12}(?:\.\d{1,6})?(?![\w/-])")
# By the last word of the argument's name.
_PATTERNS: Mapping[str, re.Pattern[str]] = {
    "email": _EMAIL,
    "phone": _PHONE,
    "telephone": _PHONE,
    "date": _DATE,
    "day": _DATE,
    "id": _IDENTIFIER,
    "number": _IDENTIFIER,
    "no": _IDENTIFIER,
    "code": _IDENTIFIER,
    "key": _IDENTIFIER,
    "reference": _IDENTIFIER,
}
_FREE_TEXT = frozenset(
    {"body", "comment", "content", "description", "details", "issue", "message", "note", "notes", "problem"}
    | {"query", "question", "reason", "request", "summary", "text"}
)


@dataclass(frozen=True, slots=True)
class MissingArgument:
    """An argument that the customer has not stated."""

    argument: str


def fill_arguments(schema: JsonObject, texts: Sequence[str]) -> JsonObject | MissingArgument:
    """Return only the required arguments, found only in `texts`, latest first."""
    properties = schema.get("properties")
    required = schema.get("required")
    filled: JsonObject = {}
    for name in required if isinstance(required, list) else []:
        rule = properties.get(str(name)) if isinstance(properties, dict) else None
        value = _argument_value(str(name), rule if isinstance(rule, dict) else {}, texts)
        if value is None:
            return MissingArgument(tool_name_in_words(str(name)))
        filled[str(name)] = value
    return filled


def _argument_value(name: str, rule: JsonObject, texts: Sequence[str]) -> Json:
    choices = rule.get("enum")
    if isinstance(choices, list):
        return _stated_choice(choices, texts)
    match rule.get("type"):
        case "integer":
            return _stated_number(texts, int)
        case "number":
            return _stated_number(texts, float)
        case "string" | None:
            return _stated_text(name, texts)
        case _:
            return None


def _stated_choice(choices: Iterable[Json], texts: Sequence[str]) -> Json:
    for text in texts:
        words = set(content_words(text))
        for choice in choices:
            if words & set(content_words(tool_name_in_words(str(choice)))):
                return choice
    return None


def _stated_number(texts: Sequence[str], kind: type[int] | type[float]) -> int | float | None:
    for text in texts:
        if found := _NUMBER.search(text):
            return kind(float(found.group()))
    return None


def _stated_text(name: str, texts: Sequence[str]) -> str | None:
    last_word = tool_name_in_words(name).split(" ")[-1].lower()
    if last_word in _FREE_TEXT:
        return texts[0] if texts else None
    pattern = _PATTERNS.get(last_word)
    if pattern is not None:
        return next((found.group() for text in texts if (found := pattern.search(text))), None)
    return _stated_by_name(tool_name_in_words(name), texts)


def _stated_by_name(words: str, texts: Sequence[str]) -> str | None:
    """Return the text after a phrase such as `my new address is ...` or `address: ...`."""
    stated = re.compile(rf"\b{re.escape(words)}\b(?: is| to|:) ((?:[^.!?;\n]|\.(?=\S)){{1,160}})", re.IGNORECASE)
    return next((found.group(1).strip() for text in texts if (found := stated.search(text))), None)
