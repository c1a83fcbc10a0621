"""Replaces one passage of a text, identified by quoting it; an anchor that matches nothing or several passages is refused."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

NEAREST_LINES: Final = 3
MAX_LINES_NAMED: Final = 8
MIN_SIMILARITY: Final = 0.4
# At most this many characters of a line are compared and shown; the time of a comparison is quadratic in the length.
LINE_CHARACTERS: Final = 160
LINES_COMPARED: Final = 2_000


@dataclass(frozen=True, slots=True)
class EditedText:
    """The changed text, and the line number (from 1) at which the change begins."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class EditRefusal:
    """Why nothing was changed, in words that the caller can act on."""

    reason: str


def apply_anchored_edit(text: str, anchor: str, replacement: str) -> EditedText | EditRefusal:
    """Return the text with the anchor replaced, which must occur exactly once (R101)."""
    if not anchor.strip():
        return EditRefusal("Say which text to replace; an empty one stands everywhere.")
    if anchor == replacement:
        return EditRefusal("The new text is the old one, so there is nothing to change.")
    places = list(_anchor_positions(text, anchor))
    if not places:
        return EditRefusal(
            f"This text occurs 0 times; copy it letter for letter. {_describe_nearest_lines(text, anchor)}"
        )
    if len(places) > 1:
        named = ", ".join(str(_line_number(text, place)) for place in places[:MAX_LINES_NAMED])
        more = " and more" if len(places) > MAX_LINES_NAMED else ""
        return EditRefusal(
            f"This text occurs {len(places)} times, in the lines {named}{more}. Give more of what stands around the one you mean."
        )
    at = places[0]
    return EditedText(f"{text[:at]}{replacement}{text[at + len(anchor) :]}", _line_number(text, at))


def _anchor_positions(text: str, anchor: str) -> Iterator[int]:
    """Yield each position of the anchor, including overlapping ones, which make it ambiguous too."""
    at = text.find(anchor)
    while at >= 0:
        yield at
        at = text.find(anchor, at + 1)


def _line_number(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _describe_nearest_lines(text: str, anchor: str) -> str:
    """Return the lines most similar to the anchor's longest line, best first."""
    wanted = max(anchor.splitlines(), key=lambda line: len(line.strip())).strip()[:LINE_CHARACTERS]
    scored = []
    for number, line in enumerate(text.splitlines()[:LINES_COMPARED], start=1):
        shown = line.strip()[:LINE_CHARACTERS]
        matcher = SequenceMatcher(None, shown, wanted, autojunk=False)
        if shown and matcher.real_quick_ratio() >= MIN_SIMILARITY and matcher.quick_ratio() >= MIN_SIMILARITY:
            scored.append((-matcher.ratio(), number, shown))
    found = [
        f"line {number}: {shown}" for like, number, shown in sorted(scored)[:NEAREST_LINES] if -like >= MIN_SIMILARITY
    ]
    return (
        f"The lines most like it are:\n{chr(10).join(found)}" if found else "No line is like it; read the text again."
    )
