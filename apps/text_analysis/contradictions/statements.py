"""A text as single statements: what each is about, under which condition, with which amounts, and whether it forbids."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from apps.text_analysis.contradictions.amounts import Amount, amounts, plain_in_place
from apps.text_analysis.word_stems import WORD, key, keys, turns

LINE_CHARACTERS: Final = 1_000
LINES: Final = 1_000
# The section of a runbook that says what it is for.
WHEN_TO_USE: Final = "when to use"
STATEMENTS: Final = 2_000


class Force(StrEnum):
    """What a statement wants."""

    DOES = "does"
    FORBIDS = "forbids"
    LEAVES = "leaves open"


@dataclass(frozen=True, slots=True)
class Statement:
    """One clause. `about` is in order; `manner` narrows it (for gold members), `condition` says when, `exception` unless what."""

    line: int
    section: str
    text: str
    about: tuple[str, ...]
    manner: frozenset[str]
    condition: frozenset[str]
    exception: frozenset[str]
    amounts: tuple[Amount, ...]
    force: Force
    is_strict: bool
    # The condition stands in a line above.
    is_led: bool

    @property
    def subject(self) -> frozenset[str]:
        """Everything it is about, without what has to be the case."""
        return frozenset(self.about) | self.manner

    @property
    def keys(self) -> frozenset[str]:
        """Every word that it can be found by."""
        return self.subject | self.condition | self.exception


_HEADING: Final = re.compile(r"\s{0,3}#{1,6}\s+(?P<title>.{1,200})")
_MARK: Final = re.compile(r"\s{0,40}(?:[-*+\u2022]|\d{1,3}[.)])\s+")
_SENTENCES: Final = re.compile(r"(?<=[.!?;])\s+|\s*[;\u2014]\s+|\s+[>|]\s+(?:>\s+)?")
_ABBREVIATED: Final = re.compile(r"\b(?:e\.g|i\.e|ca|approx|max|min|no|nr|z\.b|bzw|\d{1,2})\.\Z", re.IGNORECASE)
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
# A phrase before the first comma, or a few words before a colon, hold for all that follows.
_LEADING: Final = re.compile(
    r"^\s*(?:(?:for|in|on|during|at|by|via|with|fur|bei|im|am|mit)\s(?P<rest>[^,:]{1,200})[,:]|(?P<label>\w+(?:\s\w+){0,4}):(?=\s|$))"
)
_FOR_NOT_WHOM: Final = r"(?<!ask )(?<!asks )(?<!asking )(?<!look )(?<!search )(?<!wait )(?<!check )(?<!pay )(?<!apply )"
_MANNER: Final = re.compile(
    rf"(?:^|(?<=\s))(?:{_FOR_NOT_WHOM}for|during|on|in|inside|outside|via|by|with|to|into|at|from|of|fur|bei|per|im|am)\s"
    r"(?:(?:the|a|an|our|their|your|its|all|any|every|each|der|die|das|den|dem)\s)?(?P<words>[^\W\d_][\w'-]{0,40}(?:\s[^\W\d_][\w'-]{0,40})?)"
)
# From when an amount counts: it tells apart no two rules.
_ANCHOR: Final = re.compile(
    r"\b(?:after|of|from|since|following|nach|ab|seit)\s(?:the\s|their\s|its\s|receiving\s|date of\s|der\s|dem\s)?"
    r"(?:date of )?(?:purchase|purchasing|buying|delivery|receipt|arrival|order|ordering|request|approval|payment"
    r"|kauf|lieferung|erhalt|bestellung)"
    r"(?:\sdate)?\b"
)
_CLAUSES: Final = re.compile(
    r"\s*[,:]\s+(?:(?:and|but|or|then|und|aber|dann|sondern)\s+)?|\s+(?:and|but|then|und|aber|dann)\s+"
)

_LEAVES: Final = re.compile(
    r"\b(?:need(?:s)? not|needn't|(?:do|does)(?:n't| not) (?:have|need)|no need|nothing to|optional(?:ly)?|voluntary"
    r"|(?:not?|isn't|aren't) (?:required|necessary|mandatory|obligatory|needed)|braucht? nicht|nicht notig)\b"
)
_TWICE: Final = re.compile(
    r"\b(?:(?:do not|don't|never|not) (?:forget|hesitate|fail|neglect|miss)(?: to)?|not only|not just|no doubt|if not|nicht nur"
    r"|why not|not yet|no (?:problem|matter|worries)|nicht vergessen)\b"
)
_FORBIDS: Final = re.compile(
    r"\b(?:never|not|no|cannot|nobody|none|neither|can't|avoid|refrain from|stop|forbid(?:den|s)?|prohibit(?:ed|s)?"
    r"|(?:do|does|did|is|are|was|were|could|must|should|would|wo|sha|have|has)n't|ban(?:s|ned)?|disallow(?:ed|s)?|unable"
    r"|nie|niemals|nicht|kein(?:e|en|em|er)?|verboten|untersagt|vermeiden?)\b"
)
_TWICE_FORBIDDEN: Final = re.compile(r"\b(?:never|not|don't)\b.{0,20}\b(?:avoid|refuse|reject|decline|deny)\b")
_STRICT: Final = re.compile(
    r"\b(?:always|must|have to|has to|required|mandatory|obligatory|every time|without exception|need to|immer|muss|mussen)\b"
)


def statements(text: str, *, first_line: int = 1) -> list[Statement]:
    """The statements of a text by line. What lies beyond the limits of lines and characters is not read."""
    found: list[Statement] = []
    section, above = "", _Above(-1, frozenset(), frozenset())
    for number, raw in enumerate(text.splitlines()[:LINES], start=first_line):
        line = unicodedata.normalize("NFKC", raw[:LINE_CHARACTERS]).replace("\u2019", "'")
        if heading := _HEADING.match(line):
            section, above = heading["title"].strip().casefold(), _Above(-1, frozenset(), frozenset())
            continue
        indent = len(line) - len(line.lstrip())
        # A condition that ends in a colon holds for the lines that are set in below it.
        within = above if indent > above.indent >= 0 else _Above(-1, frozenset(), frozenset())
        for sentence in _sentences(" ".join(_EMPHASIS.sub("", _MARK.sub("", line, count=1)).split())):
            stated, within = _stated(sentence, within, indent)
            found += [replace(each, line=number, section=section) for each in stated]
        above = within if line.strip() else above
        if len(found) >= STATEMENTS:
            break
    return found[:STATEMENTS]


@dataclass(frozen=True, slots=True)
class _Above:
    """Conditions that were opened and not followed by anything yet, and how far their line is set in."""

    indent: int
    condition: frozenset[str]
    exception: frozenset[str]


def sections(text: str) -> dict[str, list[str]]:
    """The lines below each heading; those above the first stand under no name."""
    found: dict[str, list[str]] = {"": []}
    section = ""
    for line in text.splitlines()[:LINES]:
        if heading := _HEADING.match(line[:LINE_CHARACTERS]):
            section = heading["title"].strip().casefold()
        else:
            found.setdefault(section, []).append(line[:LINE_CHARACTERS])
    return found


def _sentences(line: str) -> Iterator[str]:
    kept = ""
    for part in _SENTENCES.split(line):
        kept = f"{kept} {part}".strip()
        if not _ABBREVIATED.search(kept):
            yield kept.rstrip(".!;")
            kept = ""
    if kept:
        yield kept


def _stated(sentence: str, above: _Above, indent: int) -> tuple[list[Statement], _Above]:
    """The clauses of one sentence, whose conditions hold for all of them, and the conditions that it leaves open."""
    if not sentence or sentence.endswith("?"):
        return [], above
    measured = amounts(sentence)
    reads = _without(plain_in_place(sentence), [(each.start, each.end) for each in measured])
    reads = _blank(_ANCHOR, reads)
    condition, exception = _conditions(reads)
    condition, exception = condition | above.condition, exception | above.exception
    main = _blank(_LEADING, _blank(_CONDITION, reads))
    is_led = bool(above.condition | above.exception)
    found = []
    for start, end in _clauses(main, measured):
        clause = main[start:end]
        about, manner = _about(clause)
        inside = tuple(each for each in measured if start <= each.start < end)
        force = _force(clause)
        # What a clause of nothing but a condition says is the condition.
        if about or manner or (inside and condition):
            is_strict = force is Force.FORBIDS or _STRICT.search(clause) is not None
            found.append(
                Statement(0, "", sentence, about, manner, condition, exception, inside, force, is_strict, is_led)
            )
    if sentence.endswith(":"):
        return found, _Above(indent, condition, exception)
    return found, above


def _without(reads: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, end in spans:
        # No space, which would be taken for the beginning of the comma behind it.
        reads = reads[:start] + "\x00" * (end - start) + reads[end:]
    return reads


def _blank(pattern: re.Pattern[str], reads: str) -> str:
    return pattern.sub(lambda found: " " * len(found.group()), reads)


def _conditions(reads: str) -> tuple[frozenset[str], frozenset[str]]:
    when: set[str] = set()
    unless: set[str] = set()
    for found in _CONDITION.finditer(reads):
        (when if found["when"] else unless).update(_keys(found["rest"]), _NOT & {_denied(found["rest"])})
    if leading := _LEADING.match(_blank(_CONDITION, reads)):
        when.update(_keys(leading["rest"] or leading["label"]))
    return frozenset(when), frozenset(unless)


_NOT: Final = frozenset({"not"})


def _denied(words: str) -> str:
    """A condition that something is not the case is another one than that it is."""
    return "not" if _FORBIDS.search(words) else ""


def _clauses(main: str, measured: Sequence[Amount]) -> Iterator[tuple[int, int]]:
    """Clauses by where they stand; a part that says too little alone stays with what came before it."""
    start = 0
    for found in _CLAUSES.finditer(main):
        # Amounts are blanked, so what looks like an end may lie between two of them.
        if _is_whole(main, start, found.start(), measured) and _is_whole(main, found.end(), len(main), measured):
            yield start, found.start()
            start = found.end()
    yield start, len(main)


def _is_whole(main: str, start: int, end: int, measured: Sequence[Amount]) -> bool:
    keys = len(_keys(main[start:end]))
    return keys >= 2 or (keys == 1 and any(start <= each.start < end for each in measured))


def _about(clause: str) -> tuple[tuple[str, ...], frozenset[str]]:
    manner: set[str] = set()
    for found in _MANNER.finditer(clause):
        manner.update(_keys(found["words"]))
    return tuple(dict.fromkeys(each for each in _keys(clause) if each not in manner)), frozenset(manner)


_FORCE_WORDS: Final = """
avoid refrain stop forbidden forbid prohibit prohibited ban banned disallow cannot nobody nothing none neither don't doesn't
can't won't isn't aren't mustn't shouldn't required necessary mandatory obligatory optional exception unable
hesitate forget fail neglect verboten untersagt vermeide vermeiden
"""
_SAYS_FORCE: Final = frozenset(key(word) for word in _FORCE_WORDS.split())


def _keys(words: str) -> list[str]:
    return [each for each in keys(words) if each not in _SAYS_FORCE]


def _force(clause: str) -> Force:
    reads = _blank(_TWICE, clause)
    if _LEAVES.search(reads):
        return Force.LEAVES
    turned = bool(_FORBIDS.search(reads)) and not _TWICE_FORBIDDEN.search(reads)
    opposite = sum(turns(word) for word in WORD.findall(reads)) % 2 == 1
    if _TWICE_FORBIDDEN.search(reads):
        return Force.DOES
    return Force.FORBIDS if turned != opposite else Force.DOES
