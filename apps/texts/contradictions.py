"""Which lines cannot both be right, told without a model: amounts, dates, never and always, steps, avoided things, tools.

It goes by words and by grammar that is plain: what is said in quite other words is not seen, and neither is what follows
from several lines together. It is made to be right when it speaks; a reviewer who is shown ten wrong findings reads none.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import Final, Self

from apps.texts.comparing import alike, clashing_amounts, covers, leads_elsewhere, shared
from apps.texts.statements import WHEN_TO_USE, Force, Statement, sections, statements
from apps.texts.tool_mentions import Tools, forbidden_tools
from apps.texts.vocabulary import keys


class Part(StrEnum):
    """What kind of text it is; what an agent avoids is forbidden without saying so."""

    PERSONA = "persona"
    AVOID = "avoid"
    RULE = "rule"
    MEMORY = "memory"
    SKILL = "skill"


class Kind(StrEnum):
    """In what two lines contradict each other."""

    AMOUNT = "amount"
    DATE = "date"
    OPPOSITE = "opposite"
    STEPS = "steps"
    AVOIDED = "avoided"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Written:
    """A text of one record; `record` is what findings name it by, `first_line` where in the record the text begins."""

    record: str
    part: Part
    text: str
    first_line: int = 1


@dataclass(frozen=True, slots=True)
class Place:
    """A line, and the words of it that clash."""

    record: str
    line: int
    text: str
    words: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One contradiction, in a sentence for a reviewer; a tool that is not allowed contradicts no other line."""

    kind: Kind
    place: Place
    other: Place | None
    sentence: str


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is looked at: pairs of statements, and findings."""

    pairs: int = 200_000
    findings: int = 200


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found; `is_whole` is false where a limit ended the look."""

    findings: tuple[Finding, ...]
    pairs: int
    is_whole: bool


@dataclass(frozen=True, slots=True)
class _Said:
    statement: Statement
    written: Written
    # What the runbook is for, by its words; what is no runbook holds anywhere.
    scope: frozenset[str]


@dataclass(frozen=True, slots=True)
class Standing:
    """Texts that new ones are compared with, read once; reading takes longer than comparing."""

    said: tuple[_Said, ...]

    @classmethod
    def of(cls, texts: Iterable[Written]) -> Self:
        return cls(tuple(each for written in texts for each in _said(written)))


def contradictions(
    new: Sequence[Written],
    standing: Standing | Sequence[Written] = (),
    *,
    tools: Tools | None = None,
    limits: Limits = Limits(),
) -> Checked:
    """What new texts contradict in each other and in those that stand. `tools` None: names of tools are not looked at."""
    said = [each for written in new for each in _said(written)]
    others = standing.said if isinstance(standing, Standing) else Standing.of(standing).said
    named = list(dict.fromkeys(finding for each in said for finding in _tools(each, tools)))
    found: dict[tuple[str, int, str, int], Finding] = {}
    looked = 0
    for first, second in islice(_pairs(said, others), limits.pairs + 1):
        looked += 1
        if looked > limits.pairs or len(found) + len(named) > limits.findings:
            return Checked((*named, *found.values())[: limits.findings], looked - 1, is_whole=False)
        finding = _compare(first, second)
        if finding and finding.other:
            place, other = finding.place, finding.other
            found.setdefault((place.record, place.line, other.record, other.line), finding)
    return Checked((*named, *found.values())[: limits.findings], looked, len(found) + len(named) <= limits.findings)


def _said(written: Written) -> list[_Said]:
    scope = _trigger(written) if written.part is Part.SKILL else frozenset[str]()
    found = statements(written.text, first_line=written.first_line)
    return [_Said(_forbidden(each) if written.part is Part.AVOID else each, written, scope) for each in found]


def _forbidden(statement: Statement) -> Statement:
    """A line of what to avoid forbids, also where it only names it."""
    return replace(statement, force=Force.FORBIDS) if statement.force is Force.DOES else statement


def _trigger(written: Written) -> frozenset[str]:
    return frozenset(each for line in sections(written.text).get(WHEN_TO_USE, ()) for each in keys(line))


def _pairs(said: Sequence[_Said], others: Sequence[_Said]) -> Iterator[tuple[_Said, _Said]]:
    """Each pair once that shares a word; new statements come first in it."""
    by_key: dict[str, list[int]] = defaultdict(list)
    everything = [*said, *others]
    for number, each in enumerate(everything):
        for word in each.statement.keys:
            by_key[word].append(number)
    for number, each in enumerate(said):
        near = {other for word in sorted(each.statement.keys) for other in by_key[word] if other > number}
        for other in sorted(near):
            yield each, everything[other]


def _compare(first: _Said, second: _Said) -> Finding | None:
    one, two = first.statement, second.statement
    if one.text == two.text:
        return None
    is_scoped = _have_scopes(first, second)
    # What two runbooks are for tells situations, and these do not exclude each other.
    against = None if is_scoped or one.section == two.section == WHEN_TO_USE else _against(first, second)
    if against is Kind.AVOIDED:
        return _in_words(against, first, second)
    if (found := clashing_amounts(one, two)) and not (is_scoped and found[0].dimension.startswith(("count", "bare"))):
        kind = Kind.DATE if found[0].dimension in {"day", "date"} else Kind.AMOUNT
        return _finding(kind, first, second, found[0].words, found[1].words)
    if against:
        return _in_words(against, first, second)
    is_elsewhere = not is_scoped and first.written.record != second.written.record and leads_elsewhere(one, two)
    return _finding(Kind.STEPS, first, second, " ".join(one.about), " ".join(two.about)) if is_elsewhere else None


def _against(first: _Said, second: _Said) -> Kind | None:
    for forbidding, doing in ((first, second), (second, first)):
        if _is_against(forbidding, doing):
            return Kind.AVOIDED if forbidding.written.part is Part.AVOID else Kind.OPPOSITE
    return None


def _in_words(kind: Kind, first: _Said, second: _Said) -> Finding:
    words = shared(first.statement, second.statement)
    return _finding(kind, first, second, words, words)


def _have_scopes(first: _Said, second: _Said) -> bool:
    """Whether both are steps for different situations; then only what holds anywhere can clash."""
    if not first.written.part is second.written.part is Part.SKILL or first.written.record == second.written.record:
        return False
    return not first.scope or not alike(first.scope, second.scope)


def _is_against(forbidding: _Said, doing: _Said) -> bool:
    """Whether the second does what the first forbids, or demands what the first leaves open."""
    no, yes = forbidding.statement, doing.statement
    if yes.force is not Force.DOES or no.force is Force.DOES or (no.force is Force.LEAVES and not yes.is_strict):
        return False
    return covers(no, yes, is_avoided=forbidding.written.part is Part.AVOID)


def _tools(said: _Said, tools: Tools | None) -> Iterator[Finding]:
    if tools is None or said.statement.force is Force.FORBIDS or said.written.part is Part.AVOID:
        return
    for name in forbidden_tools(said.statement.text, tools):
        place = Place(said.written.record, said.statement.line, said.statement.text, name)
        yield Finding(Kind.TOOL, place, None, f"{_where(place)} names the tool {name}, which is not on the allow-list.")


_SAYS: Final = {
    Kind.AMOUNT: "give different amounts for the same thing: {here} and {there}.",
    Kind.DATE: "give different dates for the same thing: {here} and {there}.",
    Kind.OPPOSITE: "say the opposite of each other.",
    Kind.AVOIDED: "clash: one does what the other says to avoid.",
    Kind.STEPS: "tell different steps for the same situation.",
}


def _finding(kind: Kind, first: _Said, second: _Said, here: str, there: str) -> Finding:
    place = Place(first.written.record, first.statement.line, first.statement.text, here)
    other = Place(second.written.record, second.statement.line, second.statement.text, there)
    says = _SAYS[kind].format(here=here, there=there)
    return Finding(kind, place, other, f"{_where(place)} and {_where(other)} {says}")


def _where(place: Place) -> str:
    return f"Line {place.line} of {place.record}"
