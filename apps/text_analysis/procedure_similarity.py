"""Which known procedure a new one is like, by name, by the tools it calls and by its words."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.text_analysis.word_stems import keys

# Tuned on one half of `tests/text_analysis/similar_procedures.py`, measured on the other; see docs/decisions/likeness.md.
SAME_ACTS: Final = 0.5
LIKE_BY_LOOKUPS: Final = 0.55
LIKE_BY_WORDS: Final = 0.3
# Short procedures of one desk agree in half of their words whatever they are for.
SURE_BY_WORDS: Final = 0.8
# What words count for where tools have decided, so that of several the one in like words is chosen.
WORDS_BESIDE_ACTS: Final = 0.1
WORDS_BESIDE_LOOKUPS: Final = 0.5
# A tool that more than half of so many procedures call does not tell one from another.
COMMON: Final = 0.5
ENOUGH: Final = 5
TOLD_WORDS: Final = 4

_READS: Final = re.compile(
    r"(?:get|list|search|find|look|lookup|read|fetch|check|calculate|think|view|show|verify|compare|count|describe|query)(?:[_-]|$)",
    re.IGNORECASE,
)
_PROCEDURE: Final = re.compile(r"^## Procedure[ \t]*\n(.*?)(?=^## |\Z)", re.IGNORECASE | re.MULTILINE | re.DOTALL)
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}(?<![.-])")
_CODE: Final = re.compile(r"`[^`\n]{0,200}`")


@dataclass(frozen=True, slots=True)
class Draft:
    """A procedure as a skill holds it, and the names of the tools it calls."""

    name: str
    title: str
    description: str
    body: str
    tools: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Likeness:
    """The place of the known one in the order they were given, how alike from 0 to 1, and why, for a reviewer.

    Who is not sure asks a person: a wrong likeness hides a procedure.
    """

    place: int
    score: float
    reason: str
    is_sure: bool = True


@dataclass(frozen=True, slots=True)
class _Read:
    """A draft as it is compared."""

    name: frozenset[str]
    tools: frozenset[str]
    acting: frozenset[str]
    words: Counter[str]


@dataclass(frozen=True, slots=True)
class _Weighed:
    """The words of a draft by what each counts for, and how long that is as a vector."""

    words: Mapping[str, float]
    length: float


@dataclass(frozen=True, slots=True)
class Shelf:
    """Known procedures, read and weighed once, with how many of them hold a word or call a tool."""

    known: tuple[_Read, ...]
    words: Counter[str]
    tools: Counter[str]
    weighed: tuple[_Weighed, ...]

    @classmethod
    def of(cls, known: Iterable[Draft]) -> "Shelf":
        """Reading is most of the work: keep the shelf where several drafts are looked for."""
        read = tuple(map(_read, known))
        words = Counter(word for each in read for word in each.words)
        tools = Counter(tool for each in read for tool in each.tools)
        return cls(read, words, tools, tuple(_weighed(each, words, len(read)) for each in read))

    def closest(self, draft: Draft) -> Likeness | None:
        """The known one that says the same; of equals the first. None: this one is new."""
        return _best(self._likenesses(_read(draft)))

    def behind(self, place: int) -> Likeness | None:
        """Of the known ones behind a place the one that surely says the same as the one there; of equals the first."""
        return _best(found for found in self._likenesses(self.known[place], place + 1) if found.is_sure)

    def _likenesses(self, new: _Read, start: int = 0) -> Iterator[Likeness]:
        weighed = _weighed(new, self.words, len(self.known))
        for place, known in enumerate(self.known[start:], start):
            if new.name and new.name == known.name:
                yield Likeness(place, 1.0, "Its name says the same.")
                continue
            words = _cosine(weighed, self.weighed[place])
            score, reason, by_tools = self._compared(new, known, words)
            if reason:
                yield Likeness(place, round(score, 3), reason, is_sure=by_tools or words >= SURE_BY_WORDS)

    def _compared(self, new: _Read, known: _Read, words: float) -> tuple[float, str, bool]:
        """The score, the reason where it is enough, and whether tools decided: those that are not called everywhere."""
        acts = bool(new.acting or known.acting)
        mine, yours = (new.acting, known.acting) if acts else (new.tools, known.tools)
        both = mine & yours
        if not (new.tools and known.tools) or (both and all(map(self._is_common, both))):
            return words, _told_words(new, known, words) if words >= LIKE_BY_WORDS else "", False
        told = f"Both call {', '.join(f'`{tool}`' for tool in sorted(both))}; their words agree by {words:.0%}."
        if acts:
            share = _share(mine, yours)
            return _mixed(share, words, WORDS_BESIDE_ACTS), told if share > SAME_ACTS else "", True
        score = _mixed(_share(mine, yours), words, WORDS_BESIDE_LOOKUPS)
        return score, told if score >= LIKE_BY_LOOKUPS else "", True

    def _is_common(self, tool: str) -> bool:
        return len(self.known) >= ENOUGH and self.tools[tool] > COMMON * len(self.known)


def _best(likenesses: Iterable[Likeness]) -> Likeness | None:
    return max(likenesses, key=lambda found: (found.is_sure, found.score, -found.place), default=None)


def tools_in(body: str, tools: Iterable[str]) -> frozenset[str]:
    """Which of an agent's tools the procedure of a body names."""
    named = frozenset(_NAME.findall(_procedure(body)))
    return named.intersection(tools)


def _procedure(body: str) -> str:
    section = _PROCEDURE.search(body)
    return section[1] if section else body


def _read(draft: Draft) -> _Read:
    steps = _CODE.sub(" ", _procedure(draft.body))
    return _Read(
        frozenset(keys(draft.name.replace("-", " ").replace("_", " "))),
        draft.tools,
        frozenset(tool for tool in draft.tools if not _READS.match(tool)),
        Counter(keys(f"{draft.title}\n{draft.description}\n{steps}")),
    )


def _told_words(new: _Read, known: _Read, words: float) -> str:
    shared = sorted(
        new.words.keys() & known.words.keys(), key=lambda word: (-new.words[word] * known.words[word], word)
    )
    return f"Their words agree by {words:.0%}: {', '.join(shared[:TOLD_WORDS])}."


def _mixed(tools: float, words: float, share: float) -> float:
    return (1 - share) * tools + share * words


def _share(one: frozenset[str], two: frozenset[str]) -> float:
    return len(one & two) / len(one | two) if one or two else 0.0


def _weighed(read: _Read, known: Counter[str], count: int) -> _Weighed:
    """TF-IDF: a word counts for more the fewer of the known hold it."""
    words = {
        word: (1 + math.log(times)) * (1 + math.log((1 + count) / (1 + known[word])))
        for word, times in read.words.items()
    }
    return _Weighed(words, math.sqrt(math.fsum(weight * weight for weight in words.values())))


def _cosine(one: _Weighed, two: _Weighed) -> float:
    """The same in every process: a precise sum does not depend on the order of the words."""
    shared = math.fsum(one.words[word] * two.words[word] for word in one.words.keys() & two.words.keys())
    return shared / (one.length * two.length) if shared else 0.0


def grouped(drafts: Sequence[Draft]) -> list[list[int]]:
    """Places of drafts that say the same, each compared with the first of a group, so that likeness does not wander."""
    groups: list[list[int]] = []
    for place, draft in enumerate(drafts):
        found = Shelf.of(drafts[group[0]] for group in groups).closest(draft)
        if found:
            groups[found.place].append(place)
        else:
            groups.append([place])
    return groups
