"""Line-by-line edits of remembered text by an agent, and refusals of edits that do not apply (R160)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Self

from apps.prompt.memory_lines.line_diff import distinct_lines, split_lines, strip_line
from apps.prompt.memory_lines.line_expiry import REVIEW_AFTER, VALID_UNTIL
from apps.prompt.sanitizer.clean import sanitize
from apps.prompt.text_limits import SECTION_CHARACTERS

MAX_ADVICE_LINES: Final = 3
QUOTED_CHARACTERS: Final = 80


class LineOperation(StrEnum):
    """What an edit does with a line."""

    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class LineEdit:
    """One edit. `place` names the text; `line` is the current line, `text` the new one.

    `until` is the new line's last day and `review` the day of its next review, as the agent wrote them.
    """

    op: LineOperation
    place: str
    line: str = ""
    text: str = ""
    until: str = ""
    review: str = ""

    @classmethod
    def of(cls, arguments: Mapping[str, object], place: str) -> Self:
        """Parse an edit from a tool's arguments; `place` is the argument that names the text."""
        line, text = (str(arguments.get(name, "")) for name in ("line", "text"))
        until, review = (str(arguments.get(name, "")).strip() for name in (VALID_UNTIL, REVIEW_AFTER))
        op, named = LineOperation(str(arguments["op"])), str(arguments.get(place, "")).strip()
        return cls(op, named, line.rstrip("\r\n"), text.rstrip("\r\n"), until, review)


@dataclass(frozen=True, slots=True)
class LineEditResult:
    """The edited text, and which line was replaced by which; if there are flaws, the unchanged text."""

    text: str
    flaws: tuple[str, ...] = ()
    instead: Mapping[str, str] = field(default_factory=dict)


def apply_line_edits(text: str, edits: Iterable[LineEdit]) -> LineEditResult:
    """Apply all edits or none. A line is identified by its text, as shown to the editor."""
    lines, flaws, instead = split_lines(text), list[str](), dict[str, str]()
    for edit in edits:
        if flaw := _find_flaw(edit, lines):
            flaws.append(flaw)
            continue
        if edit.op is LineOperation.UPDATE:
            instead = _track_replacement(
                instead, frozenset(map(strip_line, _matching_lines(edit.line, lines))), strip_line(edit.text)
            )
        lines = _apply_edit(edit, lines)
    return (
        LineEditResult(text, tuple(flaws)) if flaws else LineEditResult("\n".join(lines).strip("\n"), instead=instead)
    )


def _track_replacement(instead: Mapping[str, str], meant: frozenset[str], text: str) -> dict[str, str]:
    """Return the replacements after these updates; a line that was updated twice maps to its last text."""
    followed = {old: text if new in meant else new for old, new in instead.items()}
    return {**followed, **dict.fromkeys(meant, text)}


def _find_flaw(edit: LineEdit, lines: Sequence[str]) -> str:
    if edit.op is not LineOperation.DELETE and not strip_line(edit.text):
        return f"Give `text` with {edit.op}: the line as it shall read."
    if len(split_lines(edit.text)) > 1:
        return f"“{edit.text[:QUOTED_CHARACTERS]}” is several lines. Give each an operation of its own."
    if edit.op is not LineOperation.ADD and not _matching_lines(edit.line, lines):
        return f"No line there reads “{edit.line[:QUOTED_CHARACTERS]}”. Give `line` exactly as it stands."
    return ""


def _matching_lines(asked: str, lines: Iterable[str]) -> frozenset[str]:
    """Return the lines that match the requested text; none if that text is empty."""
    meant = strip_line(asked)
    return frozenset(
        line for line in lines if strip_line(line) and meant in {strip_line(line), strip_line(_sanitized_line(line))}
    )


def _sanitized_line(line: str) -> str:
    return sanitize(line, len(line)).text


def _apply_edit(edit: LineEdit, lines: Sequence[str]) -> list[str]:
    meant = _matching_lines(edit.line, lines) if edit.op is not LineOperation.ADD else frozenset[str]()
    stays = distinct_lines("\n".join(line for line in lines if line not in meant))
    new = [edit.text] if edit.op is not LineOperation.DELETE and strip_line(edit.text) not in stays else []
    at = next((number for number, line in enumerate(lines) if line in meant), _append_position(lines))
    before, behind = ([line for line in side if line not in meant] for side in (lines[:at], lines[at:]))
    return [*before, *new, *behind]


def _append_position(lines: Sequence[str]) -> int:
    """Return the position for an appended line: after the last line that is not blank."""
    return next((number + 1 for number in reversed(range(len(lines))) if strip_line(lines[number])), 0)


def too_long_advice(text: str, most: int, oldest: Sequence[str] = ()) -> str:
    """Return advice for a text with too many characters: what to shorten and what to remove. Empty if the text fits."""
    if len(text) <= most:
        return ""
    lines = list(dict.fromkeys(filter(None, map(strip_line, split_lines(text)))))
    longest = sorted(lines, key=len, reverse=True)[:MAX_ADVICE_LINES]
    advice = [f"The longest lines are {_quote_lines(longest)}."]
    if oldest:
        advice.append(f"The oldest are {_quote_lines(oldest[:MAX_ADVICE_LINES])}.")
    advice += [f"These say the same: {_quote_lines(group)}." for group in _duplicate_groups(lines)[:MAX_ADVICE_LINES]]
    size = f"It would have {len(text):,} characters, and {most:,} are the most, so nothing was saved."
    return f"{size} Merge, shorten or delete lines in the same call. {' '.join(advice)}"


def cut_off_advice(text: str, shown: int = SECTION_CHARACTERS) -> str:
    """Return advice for a text of which prompts show only the beginning; empty if they show the whole text."""
    place, left = 0, list[str]()
    for line in split_lines(text):
        place += len(line) + 1
        if place - 1 > shown and strip_line(line):
            left.append(strip_line(line))
    if not left:
        return ""
    count = "1 line does" if len(left) == 1 else f"{len(left)} lines do"
    return (
        f"It is saved, but prompts carry its first {shown:,} characters: {count} not reach you whole, beginning with"
        f" {_quote_lines(left[:1])}. Merge, shorten or delete lines."
    )


def _duplicate_groups(lines: Iterable[str]) -> list[list[str]]:
    """Return groups of lines that have the same words, regardless of order, case and punctuation."""
    groups: dict[frozenset[str], list[str]] = defaultdict(list)
    for line in lines:
        spaced = "".join(character if character.isalnum() else " " for character in line.casefold())
        groups[frozenset(spaced.split())].append(line)
    return [group for words, group in groups.items() if words and len(group) > 1]


def _quote_lines(lines: Iterable[str]) -> str:
    return "; ".join(f"“{line[:QUOTED_CHARACTERS]}” ({len(line):,})" for line in lines)
