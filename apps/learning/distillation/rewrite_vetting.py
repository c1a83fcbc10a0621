"""What a rewrite of a distilled tier may drop and add; pure (R171, R172).

MID and LONG are lists of facts that a model rewrites. Each fact cites what it rests on, so that what was dropped and what was
made up can be told without a model.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from apps.llm.token_estimate import estimate_tokens
from apps.prompt.learning_prompts.extraction import objects_in
from apps.prompt.rendering.data_fences import Json
from apps.prompt.sanitizer.invisible_characters import UNSTORABLE
from apps.text_analysis.contradictions.amounts import Amount, amounts, same
from apps.text_analysis.contradictions.detection import Kind, Part, Written, contradictions
from apps.text_analysis.word_stems import keys

DROPPED_AT_MOST: Final = 0.25
# So much of a fact's words has to stand in what it cites, or in the fact that takes its place.
SHARED: Final = 0.5
# Without a citation so much of its words has to stand there: what is like it is not the same.
REPEATED: Final = 0.8
# A tier that is over its budget comes down step by step, since no rewrite may drop much at once.
SHRINKS_TO: Final = 0.95
REPLY_CHARACTERS: Final = 60_000
FACTS_AT_MOST: Final = 400
FACT_CHARACTERS: Final = 600
FACT_ID_CHARACTERS: Final = 12

rewrite_schema: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "source_ids": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["text", "source_ids"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["facts"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a tier keeps, and what it rests on: ids of lines, or of facts that were there before."""

    fact_id: str
    text: str
    source_ids: tuple[str, ...] = ()
    is_permanent: bool = False


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line that a fact may rest on."""

    source_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """The answer was not what was asked for; the tier stays as it is."""

    reason: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A rewrite that may take a tier's place; what is permanent leads, word for word."""

    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A rewrite that is shown and not stored: the facts it would lose, and those that rest on nothing."""

    reasons: tuple[str, ...]
    dropped: tuple[Fact, ...] = ()
    unsupported: tuple[Fact, ...] = ()


def fact_id(text: str) -> str:
    """The same for the same words, so that a fact that stays keeps its name."""
    return sha256(" ".join(text.casefold().split()).encode()).hexdigest()[:FACT_ID_CHARACTERS]


def parse_rewrite(text: str) -> tuple[Fact, ...] | Malformed:
    """The answer as facts; code fences and prose around the object are passed over, and nothing is ever raised."""
    if len(text) > REPLY_CHARACTERS:
        return Malformed("The answer is longer than a tier can be.")
    for found in objects_in(text):
        match found:
            case {"facts": list(facts)}:
                return _facts(facts)
    return Malformed("The answer holds no JSON object with a list of facts.")


def _facts(facts: Sequence[object]) -> tuple[Fact, ...] | Malformed:
    if len(facts) > FACTS_AT_MOST:
        return Malformed(f"A rewrite is a list of at most {FACTS_AT_MOST} facts.")
    read = tuple(each for each in map(_read, facts) if each)
    return read if len(read) == len(facts) else Malformed("Each fact is a text with the ids of what it rests on.")


def _read(fact: object) -> Fact | None:
    match fact:
        case {"text": str(text), "source_ids": list(ids)} if all(isinstance(each, str) for each in ids):
            said = " ".join(text.split())
            is_storable = said and len(said) <= FACT_CHARACTERS and not UNSTORABLE.search(said)
            return Fact(fact_id(said), said, tuple(map(str, ids))) if is_storable else None
        case _:
            return None


def rendered(facts: Iterable[Fact]) -> str:
    """A tier as a prompt carries it."""
    return "\n".join(f"- {each.text}" for each in facts)


def tokens_of(facts: Iterable[Fact]) -> int:
    return estimate_tokens(rendered(facts))


def vet_rewrite(
    before: Sequence[Fact], rewritten: Sequence[Fact], lines: Sequence[SourceLine], *, budget_tokens: int
) -> Kept | Refused:
    """What may become of a tier: it drops a quarter of its facts at most, and adds none that rests on nothing.

    Permanent facts are no part of a rewrite: they stay as they are, and what says the same beside them goes.
    """
    permanent = tuple(each for each in before if each.is_permanent)
    fresh = _beside(permanent, rewritten)
    facts = (*permanent, *fresh)
    changing = [each for each in before if not each.is_permanent]
    now = [_said(each) for each in facts]
    dropped = tuple(each for each in changing if not _survives(_said(each), now))
    known = [*lines, *(SourceLine(each.fact_id, each.text) for each in before)]
    said = {each.text for each in before}
    unsupported = tuple(each for each in fresh if each.text not in said and not is_supported(each, known))
    reasons = [*_losses(dropped, len(changing)), *(f"“{each.text}” rests on no line." for each in unsupported)]
    size, allowed = tokens_of(facts), _allowed_tokens(before, budget_tokens)
    if size > allowed:
        reasons.append(f"It has {size} tokens; {allowed} are allowed.")
    return Refused(tuple(reasons), dropped, unsupported) if reasons else Kept(facts)


def _beside(permanent: Sequence[Fact], rewritten: Sequence[Fact]) -> tuple[Fact, ...]:
    said = {frozenset(keys(each.text)) for each in permanent}
    unique = {each.text: replace(each, is_permanent=False) for each in rewritten if each.text.strip()}
    return tuple(each for each in unique.values() if frozenset(keys(each.text)) not in said)


def _losses(dropped: Sequence[Fact], count: int) -> list[str]:
    if len(dropped) <= DROPPED_AT_MOST * count:
        return []
    lost = [f"“{each.text}” would be lost." for each in dropped]
    return [f"It would drop {len(dropped)} of {count} facts; a quarter is allowed at once.", *lost]


@dataclass(frozen=True, slots=True)
class _Said:
    """A fact by its words and amounts."""

    fact: Fact
    words: frozenset[str]
    amounts: tuple[Amount, ...]


def _said(fact: Fact) -> _Said:
    return _Said(fact, frozenset(keys(fact.text)), amounts(fact.text))


def _survives(known: _Said, facts: Sequence[_Said]) -> bool:
    """Whether a fact says it still: word for word, nearly so, or by what cites it and keeps most of it."""
    return any(each.fact.text == known.fact.text or _repeats(known, each) or _updates(known, each) for each in facts)


def _repeats(known: _Said, other: _Said) -> bool:
    is_near = bool(known.words) and len(known.words & other.words) >= REPEATED * len(known.words)
    return is_near and all(_stands(each, other.amounts) for each in known.amounts)


def _updates(known: _Said, other: _Said) -> bool:
    is_cited = known.fact.fact_id in other.fact.source_ids and bool(known.words)
    has_words = is_cited and len(known.words & other.words) >= SHARED * len(known.words)
    return has_words and {each.dimension for each in known.amounts} <= {each.dimension for each in other.amounts}


def _stands(amount: Amount, others: Iterable[Amount]) -> bool:
    return any(amount.dimension == each.dimension and same(amount, each) for each in others)


def is_supported(fact: Fact, known: Iterable[SourceLine]) -> bool:
    """Whether half of its words and every amount stand in lines that it cites and that do not say otherwise."""
    words = frozenset(keys(fact.text))
    cited = [each for each in known if each.source_id in fact.source_ids and words & frozenset(keys(each.text))]
    agreeing = [each.text for each in cited if not _says_otherwise(fact.text, each.text)]
    said = frozenset(key for text in agreeing for key in keys(text))
    measured = [amount for text in agreeing for amount in amounts(text)]
    has_words = bool(words) and len(words & said) >= SHARED * len(words)
    return has_words and all(_stands(each, measured) for each in amounts(fact.text))


def _says_otherwise(text: str, source: str) -> bool:
    found = contradictions([Written("fact", Part.MEMORY, text)], [Written("source", Part.MEMORY, source)]).findings
    return any(each.kind in {Kind.OPPOSITE, Kind.AMOUNT, Kind.DATE} and each.place.record == "fact" for each in found)


def _allowed_tokens(before: Sequence[Fact], budget_tokens: int) -> int:
    """The budget; where a tier is over it already, somewhat less than it has."""
    has = tokens_of(before)
    return budget_tokens if has <= budget_tokens else max(budget_tokens, int(has * SHRINKS_TO))
