"""Keeps lines that were quarantined, refused or forgotten meanwhile from returning with an earlier text that contains them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from apps.conversations.models import Conversation
from apps.governance.models import Governed, Proposal
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock, MemoryLine, ProfileLine
from apps.prompt.memory_lines.line_diff import distinct_lines
from apps.prompt.memory_lines.write_holds import merge_lines
from apps.restore.plan_steps import RowPair, UnchangedNote

# The text fields of each noun, and the column in which the noun's line ledger refers to its row.
LINE_TEXTS: Final[Mapping[type[Governed], tuple[tuple[str, ...], type[Any], str]]] = {
    AgentMemory: (("body", "approved_body"), MemoryLine, "memory_id"),
    MemoryBlock: (("body", "approved_body"), MemoryLine, "block_id"),
    CustomerProfile: (("preferences", "notes"), ProfileLine, "profile_id"),
}
State = Proposal.State
# The time of the exclusion, and the excluded lines.
ExcludedLines = tuple[datetime, frozenset[str]]


def drop_excluded_lines(model: type[Governed], pairs: list[RowPair[Any]]) -> Iterator[UnchangedNote]:
    """Remove excluded lines from the earlier texts. Yield a note for each row whose text lost a line."""
    if model not in LINE_TEXTS:
        return
    there = [pair for pair in pairs if pair.now is not None and pair.then is not None]
    taken, forgotten = _rejected_lines(model, there), _erased_lines(model, there)
    for pair in there:
        stands = _lines_of_row(model, pair.standing)
        rejected_lines = frozenset().union(*(lines for at, lines in taken[pair.standing.pk] if at > pair.past.at))
        out = (rejected_lines | forgotten[pair.standing.pk]) & (_lines_of_row(model, pair.past.row) - stands)
        if out:
            _remove_lines(model, pair.past.row, out)
            lines = "1 line from that time was" if len(out) == 1 else f"{len(out)} lines from that time were"
            yield UnchangedNote(
                pair.label, f"{lines} quarantined, refused or forgotten since, and {_stay_verb(len(out))} out."
            )


def _stay_verb(count: int) -> str:
    return "stays" if count == 1 else "stay"


def _lines_of_row(model: type[Governed], row: Any) -> frozenset[str]:  # Any: one of the three nouns
    fields, _, _ = LINE_TEXTS[model]
    return frozenset().union(*(distinct_lines(getattr(row, name)) for name in fields))


def _remove_lines(model: type[Governed], row: Any, out: frozenset[str]) -> None:  # Any: as above
    fields, _, _ = LINE_TEXTS[model]
    for name in fields:
        setattr(row, name, merge_lines(getattr(row, name), (), sorted(out)))


def _rejected_lines(model: type[Governed], pairs: Iterable[RowPair[Any]]) -> Mapping[int, list[ExcludedLines]]:
    """Return the quarantined lines and the refused new lines of each row, with the time of each decision."""
    found: dict[int, list[ExcludedLines]] = defaultdict(list)
    rows = Proposal.objects.filter(
        target_type=model._meta.label_lower,
        target_id__in=[pair.standing.pk for pair in pairs],
        state__in=[State.QUARANTINED, State.REJECTED],
    )
    for each in rows:
        # If a whole text was refused, the lines that the row had before are not excluded.
        stood = frozenset(_proposal_lines(each.base_content, whole=True))
        lines = frozenset(_proposal_lines(each.words, whole=each.state == State.QUARANTINED)) - stood
        if lines and each.decided_at:
            found[each.target_id].append((each.decided_at, lines))
    return found


def _proposal_lines(words: Any, *, whole: bool) -> Iterator[str]:  # Any: whatever the kind of proposal contains
    """Yield the lines that a proposal lists; with `whole`, also the lines of its complete texts."""
    for name, value in words.items() if isinstance(words, Mapping) else ():
        if name == "lines":
            for line in value:
                yield from distinct_lines(line)
        elif whole and isinstance(value, str):
            yield from distinct_lines(value)


def _erased_lines(model: type[Governed], pairs: Iterable[RowPair[Any]]) -> Mapping[int, frozenset[str]]:
    """Return each row's lines that came from a forgotten conversation."""
    _, ledger, column = LINE_TEXTS[model]
    found: dict[int, frozenset[str]] = defaultdict(frozenset)
    gone = Conversation.objects.filter(erased_at__isnull=False).values("pk")
    lines = ledger.objects.filter(
        **{f"{column}__in": [pair.standing.pk for pair in pairs]}, source_conversation_id__in=gone
    )
    for row_id, text in lines.values_list(column, "text"):
        found[row_id] |= distinct_lines(text)
    return found
