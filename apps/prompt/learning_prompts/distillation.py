"""The message to the distilling model: a tier's facts and the lines that it may cite, as data."""

from collections.abc import Sequence
from typing import TypeAlias

from apps.prompt.rendering.data_fences import fence_lines
from apps.prompt.sanitizer.clean import sanitize
from apps.prompt.text_limits import TRANSCRIPT_LINE_CHARACTERS

NamedTexts: TypeAlias = Sequence[tuple[str, str]]


def rewrite_message(facts: NamedTexts, lines: NamedTexts, *, voice: str, budget_tokens: int) -> str:
    """Return a message with one fenced JSON object that has an id for each fact and line, and the budget in tokens after it."""
    shown = [
        *([{"voice": _clean(voice)}] if voice else []),
        *({"fact": name, "text": _clean(text)} for name, text in facts),
        *({"line": name, "text": _clean(text)} for name, text in lines),
    ]
    return f"# Memory\n\n{fence_lines(shown)}\n\nAt most {budget_tokens} tokens."


def _clean(text: str) -> str:
    return sanitize(text, TRANSCRIPT_LINE_CHARACTERS).text
