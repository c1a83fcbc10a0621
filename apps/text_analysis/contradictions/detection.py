"""Contradiction detection without a model: amounts, never and always, steps, forbidden things, and tools that are not allowed.

Detection uses words and plain grammar. It misses paraphrases, and conclusions that follow from several lines together. It favours
precision: a reviewer who is shown ten wrong findings reads none.

The module also decides whether two statements concern one thing, and whether one forbids what the other does. A tool name is
lower-case words joined by underscores.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice, pairwise
from typing import Final, Self

from apps.text_analysis.contradictions.amounts import Amount, clash, overlap
from apps.text_analysis.contradictions.statements import WHEN_TO_USE, Force, Statement, sections, statements
from apps.text_analysis.word_stems import BESIDE_AMOUNTS, key, keys

# So many of the words of both make two triggers one.
_ALIKE: Final = 0.8
# Saying how something is said or done leads nowhere else.
_MANNER_WORDS: Final = (
    "polite friendly calm kind apologise apologize thank patient empathy careful clear brief concise short greet"
)
_MANNERS: Final = frozenset(map(key, _MANNER_WORDS.split()))


def alike(first: frozenset[str], second: frozenset[str]) -> bool:
    """Whether two sets of words say the same."""
    return len(first & second) >= _ALIKE * len(first | second)


def clashing_amounts(one: Statement, two: Statement) -> tuple[Amount, Amount] | None:
    """The first amounts of the same thing that cannot both be right."""
    if not (one.amounts and two.amounts) or not _is_same_matter(one, two):
        return None
    mine, yours = _asserted(one), _asserted(two)
    for dimension in dict.fromkeys(each.dimension for each in mine):
        here = [each for each in mine if each.dimension == dimension]
        there = [each for each in yours if each.dimension == dimension]
        # Which of several belong together is not told by words; with one each there is nothing to choose.
        if len(here) == len(there):
            for pair in zip(here, there, strict=True):
                if clash(*pair):
                    return pair
    return None


def _asserted(statement: Statement) -> list[Amount]:
    """What a statement says to be so: never over ten says up to ten, and never ten says nothing of other amounts."""
    if statement.force is not Force.FORBIDS:
        return list(statement.amounts)
    return [each.turned() for each in statement.amounts if not each.is_exact]


def _is_same_matter(one: Statement, two: Statement) -> bool:
    """Whether two measuring statements measure one thing, under the same condition."""
    mine, yours = _matter(one), _matter(two)
    if not mine or not yours or one.exception - two.subject != two.exception - one.subject:
        return False
    if mine == yours:
        return True
    more, less = (one, two) if len(mine) > len(yours) else (two, one)
    extra = _matter(more) - _matter(less)
    if not _matter(less) < _matter(more) or extra & (more.manner | more.condition):
        return False
    return len(extra) <= max(1, len(_matter(less)) // 2) and not _narrows(extra, more)


def _matter(statement: Statement) -> frozenset[str]:
    return (statement.subject | statement.condition) - BESIDE_AMOUNTS


def _narrows(extra: frozenset[str], statement: Statement) -> bool:
    """Whether a word stands right before another one, as in international shipping."""
    kept = [each for each in statement.about if each not in BESIDE_AMOUNTS]
    return any(before in extra and after not in extra for before, after in pairwise(kept))


def covers(no: Statement, yes: Statement, *, is_avoided: bool) -> bool:
    """Whether what is forbidden is all in what is done: more general, or the very same."""
    if not (
        no.subject <= yes.subject and no.condition <= yes.condition | yes.subject and no.exception <= yes.exception
    ):
        return False
    if len(no.subject) < 2 and no.subject != yes.subject and not (is_avoided and len(yes.about) <= 2):
        return False
    return all(any(each.dimension == of.dimension and overlap(each, of) for of in yes.amounts) for each in no.amounts)


def leads_elsewhere(one: Statement, two: Statement) -> bool:
    """Whether the same trigger is followed by quite other steps."""
    if not (_is_step(one) and _is_step(two) and alike(one.condition, two.condition)):
        return False
    together = one.subject | two.subject
    return len(one.condition & two.condition) > 1 and not one.subject & two.subject and not together & _MANNERS


def _is_step(statement: Statement) -> bool:
    is_told = statement.force is Force.DOES and bool(statement.about) and statement.section != WHEN_TO_USE
    return is_told and bool(statement.condition) and not (statement.exception or statement.is_led)


def shared(no: Statement, yes: Statement) -> str:
    return " ".join(each for each in (*no.about, *sorted(no.manner)) if each in yes.subject)


@dataclass(frozen=True, slots=True)
class Tools:
    """What an agent may call, and which other names are known to be tools."""

    allowed: frozenset[str]
    known: frozenset[str] = frozenset()


_NAME: Final = r"[a-z][a-z0-9]{0,30}(?:_[a-z0-9]{1,30}){1,6}"
_NAMED: Final = re.compile(rf"(?<![\w./-])(?P<name>{_NAME})(?![\w/-])(?P<call>\s?\()?")
_USED: Final = re.compile(
    r"\b(?:use|using|call|calling|run|running|invoke|invoking|execute|via|with|tool|rufe|nutze|verwende)"
    r"(?:\s(?:the|a|das|die|den|tool|function|werkzeug)){0,2}\s?[`\"'\[]{0,2}\Z",
    re.IGNORECASE,
)
_IS_TOOL: Final = re.compile(r"[`\"'\]]{0,2}\s(?:tool|function)\b", re.IGNORECASE)
_NEAR: Final = 40


def forbidden_tools(sentence: str, tools: Tools) -> tuple[str, ...]:
    """The tools named that are not on the allow-list. A name that nobody says to use is taken for a field."""
    found = []
    for each in _NAMED.finditer(sentence):
        name = each["name"]
        is_used = bool(
            each["call"]
            or _USED.search(sentence[max(each.start() - _NEAR, 0) : each.start()])
            or _IS_TOOL.match(sentence, each.end("name"))
        )
        if name not in tools.allowed and (name in tools.known or is_used):
            found.append(name)
    return tuple(dict.fromkeys(found))


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
