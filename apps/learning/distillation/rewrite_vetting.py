"""Checks of a rewritten memory tier: which facts it may drop and which it may add; pure (R171, R172).

The mid and long tiers are lists of facts that a model rewrites. Each fact cites its sources, so dropped and made-up facts are
detected without a model.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from apps.llm.token_estimate import estimate_tokens
from apps.prompt.learning_prompts.extraction import json_objects_in
from apps.prompt.rendering.data_fences import Json
from apps.prompt.sanitizer.invisible_characters import UNSTORABLE_CHARACTERS
from apps.text_analysis.contradictions.amounts import Amount, find_amounts, is_same_amount
from apps.text_analysis.contradictions.detection import ContradictionKind, NamedText, TextKind, detect_contradictions
from apps.text_analysis.word_stems import word_keys

MAX_DROPPED_SHARE: Final = 0.25
# At least this share of a fact's words must occur in the lines that it cites, or in the fact that replaces it.
MIN_SHARED_WORDS: Final = 0.5
# A replacing fact without a citation must contain at least this share of the words, since similar text may differ in meaning.
MIN_REPEATED_WORDS: Final = 0.8
# A tier over its budget shrinks step by step, since no single rewrite may drop much.
SHRINK_FACTOR: Final = 0.95
REPLY_CHARACTERS: Final = 60_000
MAX_FACTS: Final = 400
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
class TierFact:
    """One fact of a tier, and its sources: ids of lines, or ids of facts in the tier's previous text."""

    fact_id: str
    text: str
    source_ids: tuple[str, ...] = ()
    is_permanent: bool = False


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line that a fact may cite."""

    source_id: str
    text: str


@dataclass(frozen=True, slots=True)
class MalformedRewrite:
    """The answer does not match the schema; the tier stays as it is."""

    reason: str


@dataclass(frozen=True, slots=True)
class AcceptedRewrite:
    """A rewrite that may replace a tier; it starts with the permanent facts, unchanged."""

    facts: tuple[TierFact, ...]


@dataclass(frozen=True, slots=True)
class RefusedRewrite:
    """A rewrite that is shown to people and not stored, with the facts that it would lose and its unsupported facts."""

    reasons: tuple[str, ...]
    dropped: tuple[TierFact, ...] = ()
    unsupported: tuple[TierFact, ...] = ()


def fact_id(text: str) -> str:
    """Return an id computed from a fact's text, so that an unchanged fact keeps its id."""
    return sha256(" ".join(text.casefold().split()).encode()).hexdigest()[:FACT_ID_CHARACTERS]


def parse_rewrite(text: str) -> tuple[TierFact, ...] | MalformedRewrite:
    """Parse the answer as facts, skipping code fences and prose around the JSON object. Never raises."""
    if len(text) > REPLY_CHARACTERS:
        return MalformedRewrite("The answer is longer than a tier can be.")
    for found in json_objects_in(text):
        match found:
            case {"facts": list(facts)}:
                return _parse_facts(facts)
    return MalformedRewrite("The answer holds no JSON object with a list of facts.")


def _parse_facts(facts: Sequence[object]) -> tuple[TierFact, ...] | MalformedRewrite:
    if len(facts) > MAX_FACTS:
        return MalformedRewrite(f"A rewrite is a list of at most {MAX_FACTS} facts.")
    read = tuple(each for each in map(_parse_fact, facts) if each)
    return (
        read if len(read) == len(facts) else MalformedRewrite("Each fact is a text with the ids of what it rests on.")
    )


def _parse_fact(fact: object) -> TierFact | None:
    match fact:
        case {"text": str(text), "source_ids": list(ids)} if all(isinstance(each, str) for each in ids):
            clean_text = " ".join(text.split())
            is_storable = (
                clean_text and len(clean_text) <= FACT_CHARACTERS and not UNSTORABLE_CHARACTERS.search(clean_text)
            )
            return TierFact(fact_id(clean_text), clean_text, tuple(map(str, ids))) if is_storable else None
        case _:
            return None


def render_facts(facts: Iterable[TierFact]) -> str:
    """Return a tier's text for the prompt."""
    return "\n".join(f"- {each.text}" for each in facts)


def count_fact_tokens(facts: Iterable[TierFact]) -> int:
    return estimate_tokens(render_facts(facts))


@dataclass(frozen=True, slots=True)
class _FactContent:
    """The words and amounts of a fact."""

    fact: TierFact
    words: frozenset[str]
    amounts: tuple[Amount, ...]


def _content_of(fact: TierFact) -> _FactContent:
    return _FactContent(fact, frozenset(word_keys(fact.text)), find_amounts(fact.text))


def vet_rewrite(
    before: Sequence[TierFact], rewritten: Sequence[TierFact], lines: Sequence[SourceLine], *, budget_tokens: int
) -> AcceptedRewrite | RefusedRewrite:
    """Check a rewrite: it may drop at most a quarter of the facts, and must not add an unsupported fact.

    Permanent facts are not part of a rewrite: they stay unchanged, and rewritten facts that repeat them are dropped.
    """
    permanent = tuple(each for each in before if each.is_permanent)
    changing = [each for each in before if not each.is_permanent]
    fresh = _without_permanent(permanent, rewritten, {each.text for each in changing})
    facts = (*permanent, *fresh)
    now = [_content_of(each) for each in facts]
    dropped = tuple(each for each in changing if not _is_kept_in(_content_of(each), now))
    known = [*lines, *(SourceLine(each.fact_id, each.text) for each in before)]
    earlier_texts = {each.text for each in before}
    unsupported = tuple(each for each in fresh if each.text not in earlier_texts and not is_supported(each, known))
    reasons = [
        *_drop_reasons(dropped, len(changing)),
        *(f"“{each.text}” is supported by no line." for each in unsupported),
    ]
    size, allowed = count_fact_tokens(facts), _allowed_tokens(before, budget_tokens)
    if size > allowed:
        reasons.append(f"It has {size} tokens; {allowed} are allowed.")
    return RefusedRewrite(tuple(reasons), dropped, unsupported) if reasons else AcceptedRewrite(facts)


def _without_permanent(
    permanent: Sequence[TierFact], rewritten: Sequence[TierFact], earlier_texts: Collection[str]
) -> tuple[TierFact, ...]:
    """Return the rewritten facts that no permanent fact contains.

    An earlier fact in the words of a permanent one, but with another amount, is a fact of its own.
    """
    known = [_content_of(each) for each in permanent]
    unique = {each.text: replace(each, is_permanent=False) for each in rewritten if each.text.strip()}
    return tuple(
        each
        for each in unique.values()
        if not any(_has_words_of(each, other, with_amounts=each.text in earlier_texts) for other in known)
    )


def _has_words_of(fact: TierFact, known: _FactContent, *, with_amounts: bool) -> bool:
    found = _content_of(fact)
    return found.words == known.words and (
        not with_amounts or all(_has_same_amount(each, known.amounts) for each in found.amounts)
    )


def _drop_reasons(dropped: Sequence[TierFact], count: int) -> list[str]:
    if len(dropped) <= MAX_DROPPED_SHARE * count:
        return []
    lost = [f"“{each.text}” would be lost." for each in dropped]
    return [f"It would drop {len(dropped)} of {count} facts; a quarter is allowed at once.", *lost]


def _is_kept_in(known: _FactContent, facts: Sequence[_FactContent]) -> bool:
    """Return whether the facts keep this fact: almost word for word, or in a fact that cites it and keeps most of its words."""
    return any(
        each.fact.text == known.fact.text or _is_repeated_by(known, each) or _is_updated_by(known, each)
        for each in facts
    )


def _is_repeated_by(known: _FactContent, other: _FactContent) -> bool:
    is_near = bool(known.words) and len(known.words & other.words) >= MIN_REPEATED_WORDS * len(known.words)
    return is_near and all(_has_same_amount(each, other.amounts) for each in known.amounts)


def _is_updated_by(known: _FactContent, other: _FactContent) -> bool:
    is_cited = known.fact.fact_id in other.fact.source_ids and bool(known.words)
    has_words = is_cited and len(known.words & other.words) >= MIN_SHARED_WORDS * len(known.words)
    return has_words and {each.dimension for each in known.amounts} <= {each.dimension for each in other.amounts}


def _has_same_amount(amount: Amount, others: Iterable[Amount]) -> bool:
    return any(amount.dimension == each.dimension and is_same_amount(amount, each) for each in others)


def is_supported(fact: TierFact, known: Iterable[SourceLine]) -> bool:
    """Return whether half of the fact's words and all its amounts are in the lines it cites, and none of these contradicts it."""
    words = frozenset(word_keys(fact.text))
    cited = [each for each in known if each.source_id in fact.source_ids and words & frozenset(word_keys(each.text))]
    agreeing = [each.text for each in cited if not _is_contradicted_by(fact.text, each.text)]
    agreeing_words = frozenset(key for text in agreeing for key in word_keys(text))
    measured = [amount for text in agreeing for amount in find_amounts(text)]
    has_words = bool(words) and len(words & agreeing_words) >= MIN_SHARED_WORDS * len(words)
    return has_words and all(_has_same_amount(each, measured) for each in find_amounts(fact.text))


def _is_contradicted_by(text: str, source: str) -> bool:
    found = detect_contradictions(
        [NamedText("fact", TextKind.MEMORY, text)], [NamedText("source", TextKind.MEMORY, source)]
    ).findings
    return any(
        each.kind in {ContradictionKind.OPPOSITE, ContradictionKind.AMOUNT, ContradictionKind.DATE}
        and each.place.record == "fact"
        for each in found
    )


def _allowed_tokens(before: Sequence[TierFact], budget_tokens: int) -> int:
    """Return the token limit of a rewrite: the budget, or slightly less than the present size for a tier over its budget."""
    has = count_fact_tokens(before)
    return budget_tokens if has <= budget_tokens else max(budget_tokens, int(has * SHRINK_FACTOR))
