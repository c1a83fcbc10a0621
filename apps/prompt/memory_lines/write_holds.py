"""What of an agent's write to memory takes effect, and what waits for a person first (Z-19)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from apps.prompt.memory_lines.line_diff import bare, known, lines_of
from apps.prompt.text_reuse.derived_lines import Heard, Whose, derived


class MemoryReview(StrEnum):
    """How much of what agents write to memory of their own accord waits for a person."""

    OFF = "off"
    TAINTED = "tainted"
    ALL = "all"

    @property
    def sentence(self) -> str:
        """What it means, for people."""
        return _SENTENCES[self]


_SENTENCES: Final = {
    MemoryReview.OFF: "Agents write their memory freely; prompts carry it as quoted data.",
    MemoryReview.TAINTED: "Lines of memory in the words of a customer or a tool wait for a person.",
    MemoryReview.ALL: "Whatever an agent writes to memory waits for a person.",
}


@dataclass(frozen=True, slots=True)
class HeldLine:
    """A line that waits, and whose words it repeats."""

    text: str
    whose: Whose


@dataclass(frozen=True, slots=True)
class Parted:
    """A write taken apart: the text that may stand at once, the lines that wait, and the approved ones that would go."""

    text: str
    held: tuple[HeldLine, ...] = ()
    drops: tuple[str, ...] = ()


def repeated(before: str, wanted: str, heard: Heard) -> tuple[HeldLine, ...]:
    """The lines that are new in a text and repeat a customer or a tool; of what was not heard whole, every new line."""
    old = known(before)
    added = [line for line in lines_of(wanted) if bare(line) and bare(line) not in old]
    if not heard.is_whole:
        return tuple(HeldLine(line, Whose.CUSTOMER) for line in added)
    return tuple(HeldLine(added[found.number], found.whose) for found in derived(added, heard))


def parted(before: str, wanted: str, approved: str, heard: Heard) -> Parted:
    """Take a write apart. What a person approved stays until a person lets it go; what repeats somebody waits."""
    held = repeated(before, wanted, heard)
    waits = frozenset(bare(line.text) for line in held)
    drops = tuple(
        bare(line) for line in lines_of(before) if bare(line) in known(approved) and bare(line) not in known(wanted)
    )
    stays = [line for line in lines_of(wanted) if wanted and bare(line) not in waits]
    if not held and not drops:
        return Parted(wanted)
    return Parted("\n".join(_with(drops, lines_of(before), stays)), held, drops)


def _with(kept: Sequence[str], before: Sequence[str], stays: Sequence[str]) -> list[str]:
    """The lines that stay, with the kept ones each behind what it stood behind."""
    standing, missing = frozenset(map(bare, stays)), frozenset(kept)
    behind: dict[str, list[str]] = {}
    last = ""
    for line in before:
        if bare(line) in missing:
            behind.setdefault(last, []).append(line)
        elif bare(line) in standing and bare(line):
            last = bare(line)
    whole = behind.pop("", [])
    for line in stays:
        whole += [line, *behind.pop(bare(line), [])]
    return whole


def joined_lines(text: str, lines: Iterable[str], drops: Iterable[str] = ()) -> str:
    """A text without some lines and with others behind it; what stands there already is not said twice."""
    gone = frozenset(map(bare, drops))
    stays = [line for line in lines_of(text) if bare(line) not in gone or not bare(line)]
    new = dict.fromkeys(line for line in lines if bare(line) and bare(line) not in frozenset(map(bare, stays)))
    return "\n".join([*_trimmed(stays), *new]) if new else "\n".join(stays)


def _trimmed(lines: list[str]) -> list[str]:
    end = len(lines)
    while end and not bare(lines[end - 1]):
        end -= 1
    return lines[:end]


def answer(sent: str, stands: str, refused: frozenset[str] = frozenset()) -> str:
    """What an agent is told of its write: what waits, what a person turned down, and what stays against its wish."""
    missing = [bare(line) for line in lines_of(sent) if bare(line) and bare(line) not in known(stands)]
    waiting = [line for line in missing if line not in refused]
    declined = [line for line in missing if line in refused]
    staying = [bare(line) for line in lines_of(stands) if bare(line) and bare(line) not in known(sent)]
    said = []
    if waiting:
        said.append(f"{_counted(waiting)} for a person to approve; until then nobody is told: {_quoted(waiting)}")
    if declined:
        said.append(f"A person turned this down before, so it is not saved: {_quoted(declined)}")
    if staying:
        said.append(f"What you left out or reworded stays until a person agrees: {_quoted(staying)}")
    return "\n".join(said)


_QUOTED: Final = 160


def _counted(lines: Sequence[str]) -> str:
    return "1 line waits" if len(lines) == 1 else f"{len(lines)} lines wait"


def _quoted(lines: Iterable[str]) -> str:
    return "; ".join(f"“{line[:_QUOTED]}”" for line in lines)
