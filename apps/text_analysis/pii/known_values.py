"""Finds known values of a person in a text, in any spelling."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from apps.text_analysis.pii.impersonal_numbers import hide_impersonal_numbers
from apps.text_analysis.pii.text_folding import BARRIER, fold

NAME: Final = "name"
ID: Final = "id"
LEAST_CHARACTERS: Final = 4
PHRASE_WORDS: Final = 16

# Names that are also common words; in lower case they count as the common word.
ORDINARY_WORDS: Final = frozenset(
    re.findall(
        r"\w+",
        "amber angel art august autumn baker bill black bond bright brook brown carol case chance charity chase"
        " christian clay cliff cook crystal daisy dale dawn dean dick drew duke earnest eve faith faye field frank gene"
        " german grace grant gray green guy hall harmony hazel heath herb holly hope iris ivy jack jade jean joy june"
        " king lane law lee lily long mark marsh mason max may melody mercy miles moon nick noble north olive page park"
        " pat patience paul pearl penny price prudence queen ray read reed rich rob robin rock rose ruby rusty ruth sage"
        " sandy sharp short singer skip small smart smith stone storm street sue summer swan taylor terry trinity"
        " tuesday turner victor vince violet wade ward warren way west white wild will wise wolf wood woods yes york"
        " young",
    )
)
_WORD: Final = re.compile(r"[^\W_]{1,200}")
# Separators between two words of one value: `mia.li@x`, `mia_li`, `Li, Mia`.
_WORD_GAP: Final = re.compile(r"[^\w\n\x00?!;]{0,3}|_{1,3}")
_CODE: Final = re.compile(r"(?<![^\W_])(?=[A-Za-z_-]{0,40}[0-9])[A-Za-z0-9_-]{5,41}(?![^\W_])")
_UNSPACED_SCRIPT: Final = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class KnownValues:
    """Names of people, and values that belong to them, in their original spelling."""

    names: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()

    def __or__(self, other: "KnownValues") -> "KnownValues":
        return KnownValues(self.names | other.names, self.values | other.values)


@dataclass(slots=True)
class _PhraseNode:
    """A node of the phrase tree: the words that may follow, and the kind of the value that ends at this node."""

    kind: str = ""
    after: "dict[str, _PhraseNode]" = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KnownPhrases:
    """Known values as a tree of words, so that a text is read once regardless of their number."""

    words: _PhraseNode
    unspaced: tuple[str, ...]


def codes_in(spoken: Iterable[str]) -> frozenset[str]:
    """Return codes with digits from a conversation (order numbers, user ids), but no dates, prices or error codes."""
    return frozenset(
        code.lower() for text in spoken for code in _CODE.findall(hide_impersonal_numbers(fold(text).text))
    )


def build_phrases(known: KnownValues) -> KnownPhrases:
    """Return the values as phrases to search for, without values of fewer than four letters and digits, which identify nobody."""
    tree = _PhraseNode()
    for name in known.names:
        words = [word.casefold() for word in _WORD.findall(fold(name).text)]
        for phrase in (words, words[::-1], *([word] for word in words)):
            if sum(map(len, phrase)) > 1:
                _add_phrase(tree, phrase, NAME)
    for value in known.values:
        words = [word.casefold() for word in _WORD.findall(fold(value).text)]
        if sum(map(len, words)) >= LEAST_CHARACTERS:
            _add_phrase(tree, words, ID)
    return KnownPhrases(
        tree, tuple(sorted(filter(_UNSPACED_SCRIPT.search, known.names), key=lambda name: (-len(name), name)))
    )


def _add_phrase(tree: _PhraseNode, words: Sequence[str], kind: str) -> None:
    if 0 < len(words) <= PHRASE_WORDS:
        for word in words:
            tree = tree.after.setdefault(word, _PhraseNode())
        tree.kind = tree.kind or kind


def find_known_values(text: str, looked_for: KnownPhrases) -> Iterator[tuple[int, int, str]]:
    """Yield the start, end and kind of each known value in a folded text.

    Of two values at one position the longer counts; adjacent names are yielded as one.
    """
    for name in looked_for.unspaced:
        for found in re.finditer(re.escape(name), text):
            yield found.start(), found.end(), NAME
        text = text.replace(name, BARRIER * len(name))
    words = list(_WORD.finditer(text))
    place, start, before = 0, 0, ""
    while place < len(words):
        length, kind = _longest_match(text, words[place : place + PHRASE_WORDS], looked_for.words)
        if before and not (
            kind == before == NAME and _WORD_GAP.fullmatch(text, words[place - 1].end(), words[place].start())
        ):
            yield start, words[place - 1].end(), before
            before = ""
        if length:
            start, before = (start if before else words[place].start()), kind
        place += length or 1
    if before:
        yield start, words[-1].end(), before


def _longest_match(text: str, words: Sequence[re.Match[str]], node: _PhraseNode) -> tuple[int, str]:
    best = (0, "")
    for length, word in enumerate(words, 1):
        if length > 1 and not _WORD_GAP.fullmatch(text, words[length - 2].end(), word.start()):
            break
        if (deeper := node.after.get(word[0].casefold())) is None:
            break
        node = deeper
        if node.kind == ID or (node.kind and (length > 1 or _is_written_as_name(word[0]))):
            best = (length, node.kind)
    return best


def _is_written_as_name(word: str) -> bool:
    """Return whether one part of a name is written as a name: capitalised, or at least four letters and not a common word."""
    return word[0].isupper() or (len(word) >= LEAST_CHARACTERS and word not in ORDINARY_WORDS)
