"""A change of one place in a text, named by the words that stand there; what fits no place, or several, is told why."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

NEAREST_LINES: Final = 3
LINES_NAMED: Final = 8
LIKE_ENOUGH: Final = 0.4
# So much of a line is compared and shown; comparing takes the square of it.
LINE_CHARACTERS: Final = 160
LINES_COMPARED: Final = 2_000


@dataclass(frozen=True, slots=True)
class Patched:
    """The text with the change, and the line in which it begins, counted from 1."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why nothing was changed, in words whoever asked can act on."""

    reason: str


def patched(text: str, anchor: str, replacement: str) -> Patched | Unfit:
    """The text with the one place where the anchor stands replaced (R101)."""
    if not anchor.strip():
        return Unfit("Say which text to replace; an empty one stands everywhere.")
    if anchor == replacement:
        return Unfit("The new text is the old one, so there is nothing to change.")
    places = list(_places(text, anchor))
    if not places:
        return Unfit(f"This text occurs 0 times; copy it letter for letter. {_nearest(text, anchor)}")
    if len(places) > 1:
        named = ", ".join(str(_line_at(text, place)) for place in places[:LINES_NAMED])
        more = " and more" if len(places) > LINES_NAMED else ""
        return Unfit(
            f"This text occurs {len(places)} times, in the lines {named}{more}. Give more of what stands around the one you mean."
        )
    at = places[0]
    return Patched(f"{text[:at]}{replacement}{text[at + len(anchor) :]}", _line_at(text, at))


def _places(text: str, anchor: str) -> Iterator[int]:
    """Where it stands, places that overlap included: those too are not one."""
    at = text.find(anchor)
    while at >= 0:
        yield at
        at = text.find(anchor, at + 1)


def _line_at(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _nearest(text: str, anchor: str) -> str:
    """The lines that read most like the longest line of what was looked for, best first."""
    wanted = max(anchor.splitlines(), key=lambda line: len(line.strip())).strip()[:LINE_CHARACTERS]
    scored = []
    for number, line in enumerate(text.splitlines()[:LINES_COMPARED], start=1):
        shown = line.strip()[:LINE_CHARACTERS]
        matcher = SequenceMatcher(None, shown, wanted, autojunk=False)
        if shown and matcher.real_quick_ratio() >= LIKE_ENOUGH and matcher.quick_ratio() >= LIKE_ENOUGH:
            scored.append((-matcher.ratio(), number, shown))
    found = [
        f"line {number}: {shown}" for like, number, shown in sorted(scored)[:NEAREST_LINES] if -like >= LIKE_ENOUGH
    ]
    return (
        f"The lines most like it are:\n{chr(10).join(found)}" if found else "No line is like it; read the text again."
    )
