"""Contradiction detection without a model: amounts, never and always, steps, forbidden things, and tools that are not allowed.

Detection uses words and simple grammar. It misses paraphrases, and conclusions that follow only from several lines together. It
favours precision, because a reviewer who is shown ten wrong findings stops reading them.

This module also decides whether two statements are about the same thing, and whether one forbids what the other does. A tool name
is lower-case words joined by underscores.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice, pairwise
from typing import Final, Self

from apps.text_analysis.contradictions.amounts import Amount, has_conflict, has_overlap
from apps.text_analysis.contradictions.statements import (
    WHEN_TO_USE,
    Statement,
    StatementForce,
    parse_sections,
    parse_statements,
)
from apps.text_analysis.word_stems import AMOUNT_STOP_KEYS, word_key, word_keys

# Two triggers that share this part of their words count as the same.
_MIN_TRIGGER_OVERLAP: Final = 0.8
# These words describe how to speak or act, and do not change what a step does.
_MANNER_WORDS: Final = (
    "polite friendly calm kind apologise apologize thank patient empathy careful clear brief concise short greet"
)
_MANNER_KEYS: Final = frozenset(map(word_key, _MANNER_WORDS.split()))


def is_alike(first: frozenset[str], second: frozenset[str]) -> bool:
    """Return whether two sets of words are similar enough to mean the same."""
    return len(first & second) >= _MIN_TRIGGER_OVERLAP * len(first | second)


def conflicting_amounts(one: Statement, two: Statement) -> tuple[Amount, Amount] | None:
    """Return the first two amounts of the same thing that cannot both be right."""
    if not (one.amounts and two.amounts) or not _is_same_matter(one, two):
        return None
    mine, yours = _asserted_amounts(one), _asserted_amounts(two)
    for dimension in dict.fromkeys(each.dimension for each in mine):
        here = [each for each in mine if each.dimension == dimension]
        there = [each for each in yours if each.dimension == dimension]
        # If a side has several amounts, words do not show which ones belong together; with one on each side there is no choice.
        if len(here) == len(there):
            for pair in zip(here, there, strict=True):
                if has_conflict(*pair):
                    return pair
    return None


def _asserted_amounts(statement: Statement) -> list[Amount]:
    """Return the amounts that a statement asserts: never over ten asserts up to ten; never ten asserts no other amount."""
    if statement.force is not StatementForce.FORBIDS:
        return list(statement.amounts)
    return [each.turned() for each in statement.amounts if not each.is_exact]


def _is_same_matter(one: Statement, two: Statement) -> bool:
    """Return whether two statements with amounts measure the same thing, under the same condition."""
    mine, yours = _topic_words(one), _topic_words(two)
    if not mine or not yours or one.exception - two.subject != two.exception - one.subject:
        return False
    if mine == yours:
        return True
    more, less = (one, two) if len(mine) > len(yours) else (two, one)
    extra = _topic_words(more) - _topic_words(less)
    if not _topic_words(less) < _topic_words(more) or extra & (more.manner | more.condition):
        return False
    return len(extra) <= max(1, len(_topic_words(less)) // 2) and not _is_narrowing(extra, more)


def _topic_words(statement: Statement) -> frozenset[str]:
    return (statement.subject | statement.condition) - AMOUNT_STOP_KEYS


def _is_narrowing(extra: frozenset[str], statement: Statement) -> bool:
    """Return whether an extra word directly precedes another word and narrows it, as in international shipping."""
    kept = [each for each in statement.about if each not in AMOUNT_STOP_KEYS]
    return any(before in extra and after not in extra for before, after in pairwise(kept))


def is_violated_by(no: Statement, yes: Statement, *, is_avoided: bool) -> bool:
    """Return whether the second statement does what the first forbids: the forbidden act is the same or more general."""
    if not (
        no.subject <= yes.subject and no.condition <= yes.condition | yes.subject and no.exception <= yes.exception
    ):
        return False
    if len(no.subject) < 2 and no.subject != yes.subject and not (is_avoided and len(yes.about) <= 2):
        return False
    return all(
        any(each.dimension == of.dimension and has_overlap(each, of) for of in yes.amounts) for each in no.amounts
    )


def has_different_steps(one: Statement, two: Statement) -> bool:
    """Return whether the same trigger leads to entirely different steps."""
    if not (_is_step(one) and _is_step(two) and is_alike(one.condition, two.condition)):
        return False
    together = one.subject | two.subject
    return len(one.condition & two.condition) > 1 and not one.subject & two.subject and not together & _MANNER_KEYS


def _is_step(statement: Statement) -> bool:
    is_told = statement.force is StatementForce.DOES and bool(statement.about) and statement.section != WHEN_TO_USE
    return is_told and bool(statement.condition) and not (statement.exception or statement.is_led)


def shared_words(no: Statement, yes: Statement) -> str:
    return " ".join(each for each in (*no.about, *sorted(no.manner)) if each in yes.subject)


@dataclass(frozen=True, slots=True)
class ToolNames:
    """The tools that an agent may call, and other names known to be tools."""

    allowed: frozenset[str]
    known: frozenset[str] = frozenset()


_TOOL_NAME: Final = r"[a-z][a-z0-9]{0,30}(?:_[a-z0-9]{1,30}){1,6}"
_TOOL_MENTION: Final = re.compile(rf"(?<![\w./-])(?P<name>{_TOOL_NAME})(?![\w/-])(?P<call>\s?\()?")
_USE_WORDS: Final = re.compile(
    r"\b(?:use|using|call|calling|run|running|invoke|invoking|execute|via|with|tool|rufe|nutze|verwende)"
    r"(?:\s(?:the|a|das|die|den|tool|function|werkzeug)){0,2}\s?[`\"'\[]{0,2}\Z",
    re.IGNORECASE,
)
_TOOL_SUFFIX: Final = re.compile(r"[`\"'\]]{0,2}\s(?:tool|function)\b", re.IGNORECASE)
_CONTEXT_CHARACTERS: Final = 40


def forbidden_tools(sentence: str, tools: ToolNames) -> tuple[str, ...]:
    """Return named tools that are not on the allow-list. A name that the sentence does not say to use counts as a field."""
    found = []
    for each in _TOOL_MENTION.finditer(sentence):
        name = each["name"]
        is_used = bool(
            each["call"]
            or _USE_WORDS.search(sentence[max(each.start() - _CONTEXT_CHARACTERS, 0) : each.start()])
            or _TOOL_SUFFIX.match(sentence, each.end("name"))
        )
        if name not in tools.allowed and (name in tools.known or is_used):
            found.append(name)
    return tuple(dict.fromkeys(found))


class TextKind(StrEnum):
    """The kind of a text. In a list of things to avoid, each line is a prohibition without a negation."""

    PERSONA = "persona"
    AVOID = "avoid"
    RULE = "rule"
    MEMORY = "memory"
    SKILL = "skill"


class ContradictionKind(StrEnum):
    """How two lines contradict each other."""

    AMOUNT = "amount"
    DATE = "date"
    OPPOSITE = "opposite"
    STEPS = "steps"
    AVOIDED = "avoided"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class NamedText:
    """A text of one record; `record` identifies it in findings, `first_line` is the text's first line in the record."""

    record: str
    part: TextKind
    text: str
    first_line: int = 1


@dataclass(frozen=True, slots=True)
class ConflictingLine:
    """A line, and the words in it that conflict."""

    record: str
    line: int
    text: str
    words: str


@dataclass(frozen=True, slots=True)
class ContradictionFinding:
    """One contradiction, explained in a sentence for a reviewer; for a tool that is not allowed, there is no other line."""

    kind: ContradictionKind
    place: ConflictingLine
    other: ConflictingLine | None
    sentence: str


@dataclass(frozen=True, slots=True)
class ComparisonLimits:
    """The limits of a comparison, in pairs of statements and in findings."""

    pairs: int = 200_000
    findings: int = 200


@dataclass(frozen=True, slots=True)
class ContradictionCheck:
    """The findings; `is_whole` is false if a limit ended the comparison."""

    findings: tuple[ContradictionFinding, ...]
    pairs: int
    is_whole: bool


@dataclass(frozen=True, slots=True)
class _ScopedStatement:
    statement: Statement
    written: NamedText
    # The words of the runbook's purpose. Other kinds of text apply everywhere.
    scope: frozenset[str]


@dataclass(frozen=True, slots=True)
class IndexedTexts:
    """Texts indexed once for comparison with new texts; indexing takes longer than comparing."""

    said: tuple[_ScopedStatement, ...]

    @classmethod
    def of(cls, texts: Iterable[NamedText]) -> Self:
        return cls(tuple(each for written in texts for each in _scoped_statements(written)))


def detect_contradictions(
    new: Sequence[NamedText],
    standing: IndexedTexts | Sequence[NamedText] = (),
    *,
    tools: ToolNames | None = None,
    limits: ComparisonLimits = ComparisonLimits(),
) -> ContradictionCheck:
    """Return the contradictions of new texts with each other and with existing ones.

    If `tools` is None, tool names are not checked.
    """
    statements = [each for written in new for each in _scoped_statements(written)]
    others = standing.said if isinstance(standing, IndexedTexts) else IndexedTexts.of(standing).said
    named = list(dict.fromkeys(finding for each in statements for finding in _find_forbidden_tools(each, tools)))
    found: dict[tuple[str, int, str, int], ContradictionFinding] = {}
    looked = 0
    for first, second in islice(_candidate_pairs(statements, others), limits.pairs + 1):
        looked += 1
        if looked > limits.pairs or len(found) + len(named) > limits.findings:
            return ContradictionCheck((*named, *found.values())[: limits.findings], looked - 1, is_whole=False)
        finding = _compare_statements(first, second)
        if finding and finding.other:
            place, other = finding.place, finding.other
            found.setdefault((place.record, place.line, other.record, other.line), finding)
    return ContradictionCheck(
        (*named, *found.values())[: limits.findings], looked, len(found) + len(named) <= limits.findings
    )


def _scoped_statements(written: NamedText) -> list[_ScopedStatement]:
    scope = _trigger_words(written) if written.part is TextKind.SKILL else frozenset[str]()
    found = parse_statements(written.text, first_line=written.first_line)
    return [
        _ScopedStatement(_as_prohibition(each) if written.part is TextKind.AVOID else each, written, scope)
        for each in found
    ]


def _as_prohibition(statement: Statement) -> Statement:
    """Return a line from a list of things to avoid as a prohibition, even if the line only names the thing."""
    return replace(statement, force=StatementForce.FORBIDS) if statement.force is StatementForce.DOES else statement


def _trigger_words(written: NamedText) -> frozenset[str]:
    return frozenset(each for line in parse_sections(written.text).get(WHEN_TO_USE, ()) for each in word_keys(line))


def _candidate_pairs(
    statements: Sequence[_ScopedStatement], others: Sequence[_ScopedStatement]
) -> Iterator[tuple[_ScopedStatement, _ScopedStatement]]:
    """Yield each pair of statements that share a word once, with the new statement first."""
    by_key: dict[str, list[int]] = defaultdict(list)
    everything = [*statements, *others]
    for number, each in enumerate(everything):
        for word in each.statement.keys:
            by_key[word].append(number)
    for number, each in enumerate(statements):
        near = {other for word in sorted(each.statement.keys) for other in by_key[word] if other > number}
        for other in sorted(near):
            yield each, everything[other]


def _compare_statements(first: _ScopedStatement, second: _ScopedStatement) -> ContradictionFinding | None:
    one, two = first.statement, second.statement
    if one.text == two.text:
        return None
    is_scoped = _has_different_scopes(first, second)
    # The purposes of two runbooks describe situations, which do not exclude each other.
    against = None if is_scoped or one.section == two.section == WHEN_TO_USE else _opposition_kind(first, second)
    if against is ContradictionKind.AVOIDED:
        return _opposition_finding(against, first, second)
    if (found := conflicting_amounts(one, two)) and not (
        is_scoped and found[0].dimension.startswith(("count", "bare"))
    ):
        kind = ContradictionKind.DATE if found[0].dimension in {"day", "date"} else ContradictionKind.AMOUNT
        return _make_finding(kind, first, second, found[0].words, found[1].words)
    if against:
        return _opposition_finding(against, first, second)
    is_elsewhere = not is_scoped and first.written.record != second.written.record and has_different_steps(one, two)
    return (
        _make_finding(ContradictionKind.STEPS, first, second, " ".join(one.about), " ".join(two.about))
        if is_elsewhere
        else None
    )


def _opposition_kind(first: _ScopedStatement, second: _ScopedStatement) -> ContradictionKind | None:
    for forbidding, doing in ((first, second), (second, first)):
        if _is_opposed(forbidding, doing):
            return (
                ContradictionKind.AVOIDED if forbidding.written.part is TextKind.AVOID else ContradictionKind.OPPOSITE
            )
    return None


def _opposition_finding(
    kind: ContradictionKind, first: _ScopedStatement, second: _ScopedStatement
) -> ContradictionFinding:
    words = shared_words(first.statement, second.statement)
    return _make_finding(kind, first, second, words, words)


def _has_different_scopes(first: _ScopedStatement, second: _ScopedStatement) -> bool:
    """Return whether both are steps for different situations, so that they cannot conflict."""
    if not first.written.part is second.written.part is TextKind.SKILL or first.written.record == second.written.record:
        return False
    return not first.scope or not is_alike(first.scope, second.scope)


def _is_opposed(forbidding: _ScopedStatement, doing: _ScopedStatement) -> bool:
    """Return whether the second statement does what the first forbids, or requires what the first makes optional."""
    no, yes = forbidding.statement, doing.statement
    if (
        yes.force is not StatementForce.DOES
        or no.force is StatementForce.DOES
        or (no.force is StatementForce.LEAVES and not yes.is_strict)
    ):
        return False
    return is_violated_by(no, yes, is_avoided=forbidding.written.part is TextKind.AVOID)


def _find_forbidden_tools(candidate: _ScopedStatement, tools: ToolNames | None) -> Iterator[ContradictionFinding]:
    if tools is None or candidate.statement.force is StatementForce.FORBIDS or candidate.written.part is TextKind.AVOID:
        return
    for name in forbidden_tools(candidate.statement.text, tools):
        place = ConflictingLine(candidate.written.record, candidate.statement.line, candidate.statement.text, name)
        yield ContradictionFinding(
            ContradictionKind.TOOL,
            place,
            None,
            f"{_describe_line(place)} names the tool {name}, which is not on the allow-list.",
        )


_SENTENCE_TEMPLATES: Final = {
    ContradictionKind.AMOUNT: "give different amounts for the same thing: {here} and {there}.",
    ContradictionKind.DATE: "give different dates for the same thing: {here} and {there}.",
    ContradictionKind.OPPOSITE: "say the opposite of each other.",
    ContradictionKind.AVOIDED: "clash: one does what the other says to avoid.",
    ContradictionKind.STEPS: "tell different steps for the same situation.",
}


def _make_finding(
    kind: ContradictionKind, first: _ScopedStatement, second: _ScopedStatement, here: str, there: str
) -> ContradictionFinding:
    place = ConflictingLine(first.written.record, first.statement.line, first.statement.text, here)
    other = ConflictingLine(second.written.record, second.statement.line, second.statement.text, there)
    says = _SENTENCE_TEMPLATES[kind].format(here=here, there=there)
    return ContradictionFinding(kind, place, other, f"{_describe_line(place)} and {_describe_line(other)} {says}")


def _describe_line(place: ConflictingLine) -> str:
    return f"Line {place.line} of {place.record}"
