"""Splits a text into statements: subject, condition, amounts, and whether each statement forbids."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from apps.text_analysis.contradictions.amounts import Amount, find_amounts, normalize_in_place
from apps.text_analysis.word_stems import WORD, is_opposite, word_key, word_keys

LINE_CHARACTERS: Final = 1_000
MAX_LINES: Final = 1_000
# The section of a runbook that describes its purpose.
WHEN_TO_USE: Final = "when to use"
MAX_STATEMENTS: Final = 2_000


class StatementForce(StrEnum):
    """Whether a statement requires something, forbids it, or leaves it open."""

    DOES = "does"
    FORBIDS = "forbids"
    LEAVES = "leaves open"


@dataclass(frozen=True, slots=True)
class Statement:
    """One clause, with ordered words in `about`.

    `manner` narrows it (for gold members), `condition` says when it applies, and `exception` unless what.
    """

    line: int
    section: str
    text: str
    about: tuple[str, ...]
    manner: frozenset[str]
    condition: frozenset[str]
    exception: frozenset[str]
    amounts: tuple[Amount, ...]
    force: StatementForce
    is_strict: bool
    # The condition is on an earlier line.
    is_led: bool

    @property
    def subject(self) -> frozenset[str]:
        """Return all words of the subject, without the condition."""
        return frozenset(self.about) | self.manner

    @property
    def keys(self) -> frozenset[str]:
        """Return every word under which the statement is indexed."""
        return self.subject | self.condition | self.exception


_HEADING: Final = re.compile(r"\s{0,3}#{1,6}\s+(?P<title>.{1,200})")
_LIST_MARK: Final = re.compile(r"\s{0,40}(?:[-*+\u2022]|\d{1,3}[.)])\s+")
_SENTENCE_BREAK: Final = re.compile(r"(?<=[.!?;])\s+|\s*[;\u2014]\s+|\s+[>|]\s+(?:>\s+)?")
_ABBREVIATION: Final = re.compile(r"\b(?:e\.g|i\.e|ca|approx|max|min|no|nr|z\.b|bzw|\d{1,2})\.\Z", re.IGNORECASE)
_EMPHASIS: Final = re.compile(r"(?<!\w)[*_`\"\u201c\u201d\u201e]+(?=\w)|(?<=[\w.!?])[*_`\"\u201c\u201d]+(?!\w)")

_WHEN: Final = (
    r"if|whether|when|whenever|once|as soon as|as long as|provided that|in case|wenn|ob|falls|sobald|sofern|solange"
)
_UNLESS: Final = (
    r"unless|except(?: for)?|without|before|until|instead of|rather than|other than|ohne|bevor|ausser|es sei denn"
)
_CONDITION: Final = re.compile(
    rf"(?:^|(?<=\s))(?:(?P<when>{_WHEN})|(?P<unless>{_UNLESS}))\s(?P<rest>[^,:]{{1,400}}?)(?=,|:|\sthen\s|\sdann\s|$)"
)
# A phrase before the first comma, or a few words before a colon, apply to everything after them.
_LEADING_CONDITION: Final = re.compile(
    r"^\s*(?:(?:for|in|on|during|at|by|via|with|fur|bei|im|am|mit)\s(?P<rest>[^,:]{1,200})[,:]|(?P<label>\w+(?:\s\w+){0,4}):(?=\s|$))"
)
_FOR_WITHOUT_VERB: Final = (
    r"(?<!ask )(?<!asks )(?<!asking )(?<!look )(?<!search )(?<!wait )(?<!check )(?<!pay )(?<!apply )"
)
_MANNER: Final = re.compile(
    rf"(?:^|(?<=\s))(?:{_FOR_WITHOUT_VERB}for|during|on|in|inside|outside|via|by|with|to|into|at|from|of|fur|bei|per|im|am)\s"
    r"(?:(?:the|a|an|our|their|your|its|all|any|every|each|der|die|das|den|dem)\s)?(?P<words>[^\W\d_][\w'-]{0,40}(?:\s[^\W\d_][\w'-]{0,40})?)"
)
# Two rules do not differ in the event from which a period counts.
_TIME_ANCHOR: Final = re.compile(
    r"\b(?:after|of|from|since|following|nach|ab|seit)\s(?:the\s|their\s|its\s|receiving\s|date of\s|der\s|dem\s)?"
    r"(?:date of )?(?:purchase|purchasing|buying|delivery|receipt|arrival|order|ordering|request|approval|payment"
    r"|kauf|lieferung|erhalt|bestellung)"
    r"(?:\sdate)?\b"
)
_CLAUSE_BREAK: Final = re.compile(
    r"\s*[,:]\s+(?:(?:and|but|or|then|und|aber|dann|sondern)\s+)?|\s+(?:and|but|then|und|aber|dann)\s+"
)

_LEAVES_OPEN: Final = re.compile(
    r"\b(?:need(?:s)? not|needn't|(?:do|does)(?:n't| not) (?:have|need)|no need|nothing to|optional(?:ly)?|voluntary"
    r"|(?:not?|isn't|aren't) (?:required|necessary|mandatory|obligatory|needed)|braucht? nicht|nicht notig)\b"
)
_DOUBLE_NEGATION: Final = re.compile(
    r"\b(?:(?:do not|don't|never|not) (?:forget|hesitate|fail|neglect|miss)(?: to)?|not only|not just|no doubt|if not|nicht nur"
    r"|why not|not yet|no (?:problem|matter|worries)|nicht vergessen)\b"
)
_FORBIDS: Final = re.compile(
    r"\b(?:never|not|no|cannot|nobody|none|neither|can't|avoid|refrain from|stop|forbid(?:den|s)?|prohibit(?:ed|s)?"
    r"|(?:do|does|did|is|are|was|were|could|must|should|would|wo|sha|have|has)n't|ban(?:s|ned)?|disallow(?:ed|s)?|unable"
    r"|nie|niemals|nicht|kein(?:e|en|em|er)?|verboten|untersagt|vermeiden?)\b"
)
_NEGATED_REFUSAL: Final = re.compile(r"\b(?:never|not|don't)\b.{0,20}\b(?:avoid|refuse|reject|decline|deny)\b")
_STRICT: Final = re.compile(
    r"\b(?:always|must|have to|has to|required|mandatory|obligatory|every time|without exception|need to|immer|muss|mussen)\b"
)


def parse_statements(text: str, *, first_line: int = 1) -> list[Statement]:
    """Return the statements of a text line by line. Text beyond the limits of lines and characters is ignored."""
    found: list[Statement] = []
    section, above = "", _OpenConditions(-1, frozenset(), frozenset())
    for number, raw in enumerate(text.splitlines()[:MAX_LINES], start=first_line):
        line = unicodedata.normalize("NFKC", raw[:LINE_CHARACTERS]).replace("\u2019", "'")
        if heading := _HEADING.match(line):
            section, above = heading["title"].strip().casefold(), _OpenConditions(-1, frozenset(), frozenset())
            continue
        indent = len(line) - len(line.lstrip())
        # A condition that ends in a colon applies to the indented lines below it.
        within = above if indent > above.indent >= 0 else _OpenConditions(-1, frozenset(), frozenset())
        for sentence in _split_sentences(" ".join(_EMPHASIS.sub("", _LIST_MARK.sub("", line, count=1)).split())):
            stated, within = _parse_sentence(sentence, within, indent)
            found += [replace(each, line=number, section=section) for each in stated]
        above = within if line.strip() else above
        if len(found) >= MAX_STATEMENTS:
            break
    return found[:MAX_STATEMENTS]


@dataclass(frozen=True, slots=True)
class _OpenConditions:
    """Conditions still without a clause, and the indentation of their line."""

    indent: int
    condition: frozenset[str]
    exception: frozenset[str]


def parse_sections(text: str) -> dict[str, list[str]]:
    """Return the lines below each heading; lines before the first heading have an empty heading."""
    found: dict[str, list[str]] = {"": []}
    section = ""
    for line in text.splitlines()[:MAX_LINES]:
        if heading := _HEADING.match(line[:LINE_CHARACTERS]):
            section = heading["title"].strip().casefold()
        else:
            found.setdefault(section, []).append(line[:LINE_CHARACTERS])
    return found


def _split_sentences(line: str) -> Iterator[str]:
    kept = ""
    for part in _SENTENCE_BREAK.split(line):
        kept = f"{kept} {part}".strip()
        if not _ABBREVIATION.search(kept):
            yield kept.rstrip(".!;")
            kept = ""
    if kept:
        yield kept


def _parse_sentence(sentence: str, above: _OpenConditions, indent: int) -> tuple[list[Statement], _OpenConditions]:
    """Return the clauses of a sentence with their conditions, and the conditions that stay open."""
    if not sentence or sentence.endswith("?"):
        return [], above
    measured = find_amounts(sentence)
    reads = _blank_spans(normalize_in_place(sentence), [(each.start, each.end) for each in measured])
    reads = _blank_matches(_TIME_ANCHOR, reads)
    condition, exception = _parse_conditions(reads)
    condition, exception = condition | above.condition, exception | above.exception
    main = _blank_matches(_LEADING_CONDITION, _blank_matches(_CONDITION, reads))
    is_led = bool(above.condition | above.exception)
    found = []
    for start, end in _split_clauses(main, measured):
        clause = main[start:end]
        about, manner = _subject_and_manner(clause)
        inside = tuple(each for each in measured if start <= each.start < end)
        force = _statement_force(clause)
        # A clause that consists only of a condition states that condition.
        if about or manner or (inside and condition):
            is_strict = force is StatementForce.FORBIDS or _STRICT.search(clause) is not None
            found.append(
                Statement(0, "", sentence, about, manner, condition, exception, inside, force, is_strict, is_led)
            )
    if sentence.endswith(":"):
        return found, _OpenConditions(indent, condition, exception)
    return found, above


def _blank_spans(reads: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, end in spans:
        # Not a space, because the pattern would treat a space as the beginning of the following comma.
        reads = reads[:start] + "\x00" * (end - start) + reads[end:]
    return reads


def _blank_matches(pattern: re.Pattern[str], reads: str) -> str:
    return pattern.sub(lambda found: " " * len(found.group()), reads)


def _parse_conditions(reads: str) -> tuple[frozenset[str], frozenset[str]]:
    when: set[str] = set()
    unless: set[str] = set()
    for found in _CONDITION.finditer(reads):
        (when if found["when"] else unless).update(
            _content_keys(found["rest"]), _NEGATION_KEYS & {_negation_key(found["rest"])}
        )
    if leading := _LEADING_CONDITION.match(_blank_matches(_CONDITION, reads)):
        when.update(_content_keys(leading["rest"] or leading["label"]))
    return frozenset(when), frozenset(unless)


_NEGATION_KEYS: Final = frozenset({"not"})


def _negation_key(words: str) -> str:
    """Return the key of a condition; a negated condition has a different key."""
    return "not" if _FORBIDS.search(words) else ""


def _split_clauses(main: str, measured: Sequence[Amount]) -> Iterator[tuple[int, int]]:
    """Yield the spans of clauses; a part that is too short to be a clause is merged with its neighbour."""
    start = 0
    for found in _CLAUSE_BREAK.finditer(main):
        # Amounts are blanked out, so a separator may lie between two of them.
        if _is_whole_clause(main, start, found.start(), measured) and _is_whole_clause(
            main, found.end(), len(main), measured
        ):
            yield start, found.start()
            start = found.end()
    yield start, len(main)


def _is_whole_clause(main: str, start: int, end: int, measured: Sequence[Amount]) -> bool:
    keys = len(_content_keys(main[start:end]))
    return keys >= 2 or (keys == 1 and any(start <= each.start < end for each in measured))


def _subject_and_manner(clause: str) -> tuple[tuple[str, ...], frozenset[str]]:
    manner: set[str] = set()
    for found in _MANNER.finditer(clause):
        manner.update(_content_keys(found["words"]))
    return tuple(dict.fromkeys(each for each in _content_keys(clause) if each not in manner)), frozenset(manner)


_FORCE_WORDS: Final = """
avoid refrain stop forbidden forbid prohibit prohibited ban banned disallow cannot nobody nothing none neither don't doesn't
can't won't isn't aren't mustn't shouldn't required necessary mandatory obligatory optional exception unable
hesitate forget fail neglect verboten untersagt vermeide vermeiden
"""
_FORCE_KEYS: Final = frozenset(word_key(word) for word in _FORCE_WORDS.split())


def _content_keys(words: str) -> list[str]:
    return [each for each in word_keys(words) if each not in _FORCE_KEYS]


def _statement_force(clause: str) -> StatementForce:
    reads = _blank_matches(_DOUBLE_NEGATION, clause)
    if _LEAVES_OPEN.search(reads):
        return StatementForce.LEAVES
    turned = bool(_FORBIDS.search(reads)) and not _NEGATED_REFUSAL.search(reads)
    opposite = sum(is_opposite(word) for word in WORD.findall(reads)) % 2 == 1
    if _NEGATED_REFUSAL.search(reads):
        return StatementForce.DOES
    return StatementForce.FORBIDS if turned != opposite else StatementForce.DOES
