"""A cursor over a rendered prompt, and the check that no prose looks like one of the product's own lines."""

import re
from collections.abc import Mapping
from typing import Final

from apps.prompt.instruction_texts import SECTION_TITLES, SYSTEM_LINE, TITLE_PREFIXES
from apps.prompt.prompt_input import SEPARATOR, EventKind
from apps.prompt.rendering.data_fences import Json, canonical_json, unfence_lines

PARAGRAPH_BREAK: Final = "\n\n"
_OPENING_TAG: Final = re.compile(r'<data id="[0-9a-f]+">\n')
_CLOSING_TAG: Final = '\n</data id="'
_TITLES: Final = "|".join(re.escape(title.lower()) for title in SECTION_TITLES)
_PREFIXES: Final = "|".join(re.escape(prefix.strip().lower()) for prefix in TITLE_PREFIXES)
_LABELS: Final = "|".join(re.escape(kind.lower()) for kind in EventKind)
_PRODUCT_LINE: Final = re.compile(
    rf"#(?:\s|\Z)|#{{2,6}}\s+(?:(?:{_TITLES})\Z|(?:{_PREFIXES}))|{re.escape(SEPARATOR.strip())}-*\Z"
    rf"|{re.escape(SYSTEM_LINE.lower())}|\[(?:{_LABELS})\b|</?data(?:\s[^<>]*)?>"
)


class UnreadablePrompt(ValueError):
    """The text was not written by the renderer; `at` is the character position where this shows."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(f"{reason} (at character {at}).")
        self.at = at


class Cursor:
    """A reader of a text from beginning to end. `base` is the position of the text in the whole prompt."""

    def __init__(self, text: str, base: int = 0) -> None:
        self.text = text
        self.base = base
        self.at = 0

    @property
    def is_at_end(self) -> bool:
        return self.at == len(self.text)

    def take(self, words: str) -> bool:
        """Read these words if they come next. Return whether they did."""
        comes = self.text.startswith(words, self.at)
        self.at += len(words) * comes
        return comes

    def take_part(self, words: str) -> bool:
        """Read these words like `take`, after the blank line between paragraphs."""
        return self.take(words) if self.at == 0 else self.take(PARAGRAPH_BREAK + words)

    def expect(self, words: str) -> None:
        if not self.take(words):
            raise self.refusal(f"Here {words[:60]!r} has to stand")

    def line(self) -> str:
        """Read the rest of this line, without the line break."""
        end = self.text.find("\n", self.at)
        return self.until(len(self.text) if end < 0 else end)

    def until(self, end: int) -> str:
        """Read the text up to this position."""
        passed, self.at = self.text[self.at : end], end
        return passed

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match the pattern at the current position, and read the match if there is one."""
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found

    def piece(self, start: int, end: int) -> "Cursor":
        """Return a cursor over a part of the text that keeps its position in the whole prompt."""
        return Cursor(self.text[start:end], self.base + start)

    def one_of(self, choices: Mapping[str, str]) -> str:
        """Read whichever of these texts comes next, and return its name."""
        for name, words in choices.items():
            if self.take(words):
                return name
        raise self.refusal(f"Here one of {', '.join(choices)} has to stand")

    def prose_to_the_end(self) -> str:
        return self.prose(self.until(len(self.text)))

    def prose(self, text: str) -> str:
        """Return the text that was just read, if it is prose that the renderer allows."""
        if not text or text != text.strip():
            raise self.refusal("Prose is missing, or has white space around it")
        for line in text.splitlines():
            if is_product_line(line):
                raise self.refusal(f"Prose holds a line that only the product writes: {line.strip()[:60]!r}")
        return text

    def fence(self) -> tuple[Json, ...]:
        """Read the fence at the current position and return its decoded payloads."""
        end = self.text.find(_CLOSING_TAG, self.at)
        if not _OPENING_TAG.match(self.text, self.at) or end < 0:
            raise self.refusal("Here a fence has to stand")
        begun = self.at
        whole = self.until(end + 1) + self.line()
        try:
            payloads = unfence_lines(whole)
        except ValueError as error:
            self.at = begun
            raise self.refusal("The fence was changed, or holds something other than JSON") from error
        if "\n".join(map(canonical_json, payloads)) != whole.partition("\n")[2].rpartition("\n")[0]:
            self.at = begun
            raise self.refusal("A payload is not written the one way it can be written")
        return payloads

    def finish(self) -> None:
        if not self.is_at_end:
            raise self.refusal(f"Nothing may follow here, but {self.text[self.at :][:60]!r} does")

    def refusal(self, reason: str) -> UnreadablePrompt:
        return UnreadablePrompt(reason, self.base + self.at)


def is_product_line(line: str) -> bool:
    """Return whether a line looks like a separator, a title, a header, the System line or a fence's tag."""
    return bool(_PRODUCT_LINE.match(line.strip().lower()))
