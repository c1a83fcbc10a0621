"""Cleans text of people, agents and customers for a prompt; the stored text is not changed.

Safety does not depend on cleaning, since customers' text is also fenced as data.
"""

import re
from dataclasses import dataclass
from typing import Final

from apps.prompt.instruction_texts import SECTION_TITLES, TITLE_PREFIXES
from apps.prompt.normalization.lookalike_folding import unmask_lookalikes
from apps.prompt.prompt_input import EventKind, SanitizerRule
from apps.prompt.sanitizer.invisible_characters import remove_invisible
from apps.prompt.sanitizer.role_control import TextSpan, ascii_outline, find_role_control
from apps.prompt.sanitizer.truncation import truncate_text
from apps.prompt.text_limits import SECTION_CHARACTERS

REDACTED_TEXT: Final = "[redacted]"


@dataclass(frozen=True, slots=True)
class SanitizedText:
    """A text that may enter a prompt, and the rules that changed it."""

    text: str
    notes: tuple[SanitizerRule, ...]


def sanitize(text: str, cap: int = SECTION_CHARACTERS) -> SanitizedText:
    """Return the text without hidden characters, forged turns and forged sections, truncated to `cap` characters.

    Truncation may expose a forgery and a replacement may complete one, so the steps repeat until neither changes the text.
    """
    tripped: set[SanitizerRule] = set()
    while True:
        seen = remove_invisible(text)
        plain = unmask_lookalikes(seen)
        shadow = ascii_outline(plain)
        calm = _redact_roles(seen, find_role_control(plain, shadow))
        escaped = _escape_forged_sections(calm, shadow)
        whole = truncate_text(escaped, cap)
        changes = (seen != text, calm != seen, escaped != calm, whole != escaped)
        tripped.update(rule for rule, changed in zip(_STEP_RULES, changes, strict=True) if changed)
        if calm == seen and whole == escaped:
            return SanitizedText(whole, tuple(sorted(tripped)))
        text = whole


_STEP_RULES: Final = (
    SanitizerRule.INVISIBLE,
    SanitizerRule.ROLE_CONTROL,
    SanitizerRule.ESCAPED,
    SanitizerRule.TRUNCATED,
)


def _redact_roles(text: str, stretches: tuple[TextSpan, ...]) -> str:
    kept, end = [], 0
    for stretch in stretches:
        kept.append(text[end : stretch.start])
        end = stretch.end
    return REDACTED_TEXT.join((*kept, text[end:])) if kept else text


_SPACE: Final = r"[^\S\r\n]"
_LINE_END: Final = rf"{_SPACE}*+(?=[\r\n]|\Z)"
_TITLES: Final = "|".join(map(re.escape, SECTION_TITLES))
_TITLE_PREFIXES: Final = "|".join(re.escape(prefix.rstrip(": ")) for prefix in TITLE_PREFIXES)
_LABELS: Final = "|".join(map(re.escape, EventKind))
_FORGERY: Final = re.compile(
    rf"([\r\n]{_SPACE}*+)(?=[#\[-])(?="
    rf"\#(?:\s|\Z)|\#{{1,6}}{_SPACE}++(?:(?:{_TITLES})(?:{_SPACE}|[:\#])*+(?=[\r\n]|\Z)|(?:{_TITLE_PREFIXES}){_SPACE}*+:)"
    rf"|-{{3,}}+{_LINE_END}|-{{3,}}+{_SPACE}*+System\b"
    rf"|\[{_SPACE}*+(?:{_LABELS})\b)",
    re.IGNORECASE,
)


_HEADERS: Final = tuple(kind.value.lower().encode() for kind in EventKind)


def _escape_forged_sections(text: str, shadow: bytes) -> str:
    """Escape lines that look like one of the product's titles, separators or headers, keeping their words."""
    if not (b"#" in shadow or b"---" in shadow or (b"[" in shadow and any(header in shadow for header in _HEADERS))):
        return text
    return _FORGERY.sub(r"\1\\", "\n" + text)[1:]


def clean(text: str, cap: int = SECTION_CHARACTERS) -> str:
    """Return a tool's result as shown to the model: sanitized, and truncated to `cap` characters (R071)."""
    return sanitize(text, cap).text
