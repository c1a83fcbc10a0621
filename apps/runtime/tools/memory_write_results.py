"""The results that memory tools return to the model: the first words state whether the text was saved, in part, or not at all.

A model that reads "Saved" tells the customer so. The result is therefore derived from the row before and after the write, and not
from the call having succeeded.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Self

from apps.governance.actors import Actor
from apps.learning.contradictions.memory_warnings import PROFILE_FIELDS, add_memory_warnings
from apps.memory.line_ledger import RememberedText
from apps.memory.models import CustomerProfile
from apps.memory.write_holds import memory_review_of, unsaved_parts
from apps.prompt.memory_lines.line_diff import distinct_lines, strip_line
from apps.prompt.memory_lines.line_expiry import LineDates, find_line_dates
from apps.prompt.memory_lines.write_holds import MemoryReview, quote_lines

SAVED: Final = "Saved. It is read from the next session on."
SAVED_IN_PART: Final = "Saved in part; the rest is named below. The saved part is read from the next session on."
NOT_SAVED: Final = "Not saved; the text is as it was."
UNCHANGED: Final = "Nothing changed; the text reads so already."
WAITS_FOR_APPROVAL: Final = "Not saved yet. It waits for a person to approve; until then no prompt contains it."

NO_DATES: Final[Mapping[str, LineDates]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class TextState:
    """The texts of a row by field, without empty ones, and the dates of their lines at one moment."""

    texts: Mapping[str, str]
    line_dates: Mapping[str, object]

    @classmethod
    def of(cls, row: RememberedText | CustomerProfile | None) -> Self:
        """Return the state of a row; a row that does not exist yet is empty."""
        if row is None:
            return cls({}, {})
        fields = PROFILE_FIELDS if isinstance(row, CustomerProfile) else ("body",)
        return cls({name: text for name in fields if (text := getattr(row, name))}, dict(row.line_dates))


@dataclass(frozen=True, slots=True)
class TextWrite:
    """The outcome of a write to one text: whether anything was saved, the part that was not, and warnings about the rest."""

    is_saved: bool
    held: str
    warnings: str


def outcome_of_write(
    row: RememberedText, before: TextState, sent: str, actor: Actor, dates: Mapping[str, LineDates] = NO_DATES
) -> TextWrite:
    """Compare a memory or block with its state before the write, and with the text and the dates that the agent sent."""
    held = "\n".join(filter(None, [unsaved_parts(row, sent, actor).notice, _undated_notice(row, row.body, dates)]))
    warnings = add_memory_warnings("", row, before.texts.get("body", ""), actor)
    return TextWrite(TextState.of(row) != before, held, warnings)


def _undated_notice(row: RememberedText | CustomerProfile, text: str, dates: Mapping[str, LineDates]) -> str:
    """Return a notice on lines whose dates were not set, since an agent dates only lines that are new."""
    lines = [line for line in map(strip_line, dates) if line in distinct_lines(text)]
    stored, wanted = find_line_dates(lines, row.line_dates), {strip_line(line): each for line, each in dates.items()}
    undated = [line for line in lines if stored.get(line) != wanted[line]]
    said = "These lines were there before, and only a person changes their dates"
    return f"{said}: {quote_lines(undated)}" if undated else ""


def describe_writes(writes: Iterable[TextWrite]) -> str:
    """Return the result for the model: the outcome of all writes of one call, then the notices of each."""
    writes = list(writes)
    notices = [notice for write in writes for notice in (write.held, write.warnings)]
    return "\n".join([_first_sentence(writes), *filter(None, notices)])


def _first_sentence(writes: Iterable[TextWrite]) -> str:
    is_held = any(write.held for write in writes)
    if any(write.is_saved for write in writes):
        return SAVED_IN_PART if is_held else SAVED
    return NOT_SAVED if is_held else UNCHANGED


def describe_profile_write(
    profile: CustomerProfile,
    before: TextState,
    values: Mapping[str, str],
    actor: Actor,
    dates: Mapping[str, LineDates] = NO_DATES,
) -> str:
    """Return the result of a write to a customer's profile, which is saved or waits as a whole."""
    differs = any(getattr(profile, name) != text for name, text in values.items())
    if differs and memory_review_of(actor) is MemoryReview.ALL:
        return WAITS_FOR_APPROVAL
    undated = _undated_notice(profile, profile.noted, dates)
    return describe_writes([TextWrite(TextState.of(profile) != before, undated, "")])
