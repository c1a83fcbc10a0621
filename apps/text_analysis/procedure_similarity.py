"""Finds the known procedure most similar to a new one, by its name, the tools it calls and its words."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.text_analysis.word_stems import word_keys

# Tuned on one half of `tests/text_analysis/similar_procedures.py`, measured on the other; see docs/decisions/23-text-analysis.md.
ACTING_TOOLS_THRESHOLD: Final = 0.5
LOOKUP_TOOLS_THRESHOLD: Final = 0.55
WORDS_THRESHOLD: Final = 0.3
# Short procedures of one support desk share half of their words whatever their purpose.
SURE_WORDS_THRESHOLD: Final = 0.8
# The weight of words if the tools decide, so that the candidate with the most similar words wins.
WORD_WEIGHT_WITH_ACTIONS: Final = 0.1
WORD_WEIGHT_WITH_LOOKUPS: Final = 0.5
# A tool called by more than half of at least this many procedures does not distinguish them.
COMMON_TOOL_SHARE: Final = 0.5
MIN_PROCEDURES: Final = 5
WORDS_SHOWN: Final = 4

_LOOKUP_TOOL: Final = re.compile(
    r"(?:get|list|search|find|look|lookup|read|fetch|check|calculate|think|view|show|verify|compare|count|describe|query)(?:[_-]|$)",
    re.IGNORECASE,
)
_PROCEDURE_HEADING: Final = re.compile(
    r"^## Procedure[ \t]*\n(.*?)(?=^## |\Z)", re.IGNORECASE | re.MULTILINE | re.DOTALL
)
_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}(?<![.-])")
_CODE: Final = re.compile(r"`[^`\n]{0,200}`")


@dataclass(frozen=True, slots=True)
class ProcedureText:
    """A procedure's text from its skill, and the names of the tools it calls."""

    name: str
    title: str
    description: str
    body: str
    tools: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ProcedureLikeness:
    """A match: the index of the known procedure, the similarity (0 to 1), and the reason for a reviewer.

    An uncertain match needs a person's decision, because a wrong match hides a procedure.
    """

    place: int
    score: float
    reason: str
    is_sure: bool = True


@dataclass(frozen=True, slots=True)
class _ProcedureFeatures:
    """The features of a procedure that are compared."""

    name: frozenset[str]
    tools: frozenset[str]
    acting: frozenset[str]
    words: Counter[str]


@dataclass(frozen=True, slots=True)
class _WordVector:
    """The weighted words of a procedure, and the length of the vector."""

    words: Mapping[str, float]
    length: float


@dataclass(frozen=True, slots=True)
class ProcedureIndex:
    """Known procedures, indexed once, with the number of procedures that contain each word or call each tool."""

    known: tuple[_ProcedureFeatures, ...]
    words: Counter[str]
    tools: Counter[str]
    weighed: tuple[_WordVector, ...]

    @classmethod
    def of(cls, known: Iterable[ProcedureText]) -> "ProcedureIndex":
        """Build the index. This is most of the work, so keep the index to compare several drafts."""
        read = tuple(map(_extract_features, known))
        words = Counter(word for each in read for word in each.words)
        tools = Counter(tool for each in read for tool in each.tools)
        return cls(read, words, tools, tuple(_word_vector(each, words, len(read)) for each in read))

    def closest(self, draft: ProcedureText) -> ProcedureLikeness | None:
        """Return the most similar known procedure, the first of several equal ones; None if the draft is new."""
        return _best_likeness(self._likenesses(_extract_features(draft)))

    def behind(self, place: int) -> ProcedureLikeness | None:
        """Return the best certain match for the procedure at `place` among later procedures, the first of several equal ones."""
        return _best_likeness(found for found in self._likenesses(self.known[place], place + 1) if found.is_sure)

    def _likenesses(self, new: _ProcedureFeatures, start: int = 0) -> Iterator[ProcedureLikeness]:
        weighed = _word_vector(new, self.words, len(self.known))
        for place, known in enumerate(self.known[start:], start):
            if new.name and new.name == known.name:
                yield ProcedureLikeness(place, 1.0, "Its name says the same.")
                continue
            words = _cosine(weighed, self.weighed[place])
            score, reason, by_tools = self._compare(new, known, words)
            if reason:
                yield ProcedureLikeness(
                    place, round(score, 3), reason, is_sure=by_tools or words >= SURE_WORDS_THRESHOLD
                )

    def _compare(self, new: _ProcedureFeatures, known: _ProcedureFeatures, words: float) -> tuple[float, str, bool]:
        """Return the score, the reason if the score is high enough, and whether uncommon tools decided."""
        acts = bool(new.acting or known.acting)
        mine, yours = (new.acting, known.acting) if acts else (new.tools, known.tools)
        both = mine & yours
        if not (new.tools and known.tools) or (both and all(map(self._is_common, both))):
            return words, _describe_shared_words(new, known, words) if words >= WORDS_THRESHOLD else "", False
        reason = f"Both call {', '.join(f'`{tool}`' for tool in sorted(both))}; their words agree by {words:.0%}."
        if acts:
            share = _tool_overlap(mine, yours)
            return (
                _weighted_mean(share, words, WORD_WEIGHT_WITH_ACTIONS),
                reason if share > ACTING_TOOLS_THRESHOLD else "",
                True,
            )
        score = _weighted_mean(_tool_overlap(mine, yours), words, WORD_WEIGHT_WITH_LOOKUPS)
        return score, reason if score >= LOOKUP_TOOLS_THRESHOLD else "", True

    def _is_common(self, tool: str) -> bool:
        return len(self.known) >= MIN_PROCEDURES and self.tools[tool] > COMMON_TOOL_SHARE * len(self.known)


def _best_likeness(likenesses: Iterable[ProcedureLikeness]) -> ProcedureLikeness | None:
    return max(likenesses, key=lambda found: (found.is_sure, found.score, -found.place), default=None)


def tools_in(body: str, tools: Iterable[str]) -> frozenset[str]:
    """Return those of the agent's tools that the procedure in a body names."""
    named = frozenset(_TOOL_NAME.findall(_procedure_section(body)))
    return named.intersection(tools)


def _procedure_section(body: str) -> str:
    section = _PROCEDURE_HEADING.search(body)
    return section[1] if section else body


def _extract_features(draft: ProcedureText) -> _ProcedureFeatures:
    steps = _CODE.sub(" ", _procedure_section(draft.body))
    return _ProcedureFeatures(
        frozenset(word_keys(draft.name.replace("-", " ").replace("_", " "))),
        draft.tools,
        frozenset(tool for tool in draft.tools if not _LOOKUP_TOOL.match(tool)),
        Counter(word_keys(f"{draft.title}\n{draft.description}\n{steps}")),
    )


def _describe_shared_words(new: _ProcedureFeatures, known: _ProcedureFeatures, words: float) -> str:
    shared = sorted(
        new.words.keys() & known.words.keys(), key=lambda word: (-new.words[word] * known.words[word], word)
    )
    return f"Their words agree by {words:.0%}: {', '.join(shared[:WORDS_SHOWN])}."


def _weighted_mean(tools: float, words: float, share: float) -> float:
    return (1 - share) * tools + share * words


def _tool_overlap(one: frozenset[str], two: frozenset[str]) -> float:
    return len(one & two) / len(one | two) if one or two else 0.0


def _word_vector(read: _ProcedureFeatures, known: Counter[str], count: int) -> _WordVector:
    """Return TF-IDF weights: a word counts more the fewer known procedures contain it."""
    words = {
        word: (1 + math.log(times)) * (1 + math.log((1 + count) / (1 + known[word])))
        for word, times in read.words.items()
    }
    return _WordVector(words, math.sqrt(math.fsum(weight * weight for weight in words.values())))


def _cosine(one: _WordVector, two: _WordVector) -> float:
    """Return the cosine. The exact sum does not depend on the order of words, so every process gets an equal result."""
    shared = math.fsum(one.words[word] * two.words[word] for word in one.words.keys() & two.words.keys())
    return shared / (one.length * two.length) if shared else 0.0


def group_procedures(drafts: Sequence[ProcedureText]) -> list[list[int]]:
    """Return groups of drafts with the same content. A draft is compared with the first of each group, so groups do not drift."""
    groups: list[list[int]] = []
    for place, draft in enumerate(drafts):
        found = ProcedureIndex.of(drafts[group[0]] for group in groups).closest(draft)
        if found:
            groups[found.place].append(place)
        else:
            groups.append([place])
    return groups
