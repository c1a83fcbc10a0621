"""What a rewrite of memory may drop and add; and a year of rewrites, some of them bad."""

import json
import random
from dataclasses import replace

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.learning.distillation.rewrite_vetting import (
    AcceptedRewrite,
    MalformedRewrite,
    RefusedRewrite,
    SourceLine,
    TierFact,
    count_fact_tokens,
    fact_id,
    is_supported,
    parse_rewrite,
    render_facts,
    rewrite_schema,
    vet_rewrite,
)
from apps.prompt.rendering.data_fences import canonical_json
from tests.support.parameter_sampling import whole_or

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

BUDGET = 2_000
LINES = (
    SourceLine("l1", "Ada asked for a refund of $40 for a late parcel."),
    SourceLine("l2", "The warehouse in Bonn is closed until 9 May."),
)


def fact(text: str, *sources: str, is_permanent: bool = False) -> TierFact:
    return TierFact(fact_id(text), text, sources, is_permanent)


FORMER_FACTS = tuple(
    fact(text)
    for text in (
        "Parcels to Bonn are often late.",
        "Refunds take 5 days.",
        "Customers like short answers.",
        "The carrier changed in spring.",
    )
)


def vet(
    rewritten: list[TierFact], before: tuple[TierFact, ...] = FORMER_FACTS, budget: int = BUDGET
) -> AcceptedRewrite | RefusedRewrite:
    return vet_rewrite(before, rewritten, LINES, budget_tokens=budget)


def refusal(
    rewritten: list[TierFact], before: tuple[TierFact, ...] = FORMER_FACTS, budget: int = BUDGET
) -> RefusedRewrite:
    found = vet(rewritten, before, budget)
    assert isinstance(found, RefusedRewrite), found
    return found


def test_a_rewrite_that_keeps_and_adds_what_it_can_show_is_kept() -> None:
    new = fact("The Bonn warehouse is closed until 9 May.", "l2")
    assert vet([*FORMER_FACTS, new]) == AcceptedRewrite((*FORMER_FACTS, new))
    assert vet(list(FORMER_FACTS)) == AcceptedRewrite(FORMER_FACTS)


def test_a_quarter_may_go_and_more_is_refused_by_name() -> None:
    assert vet(list(FORMER_FACTS[1:])) == AcceptedRewrite(FORMER_FACTS[1:])
    found = refusal(list(FORMER_FACTS[2:]))
    assert found.dropped == FORMER_FACTS[:2]
    assert found.reasons == (
        "It would drop 2 of 4 facts; a quarter is allowed at once.",
        "“Parcels to Bonn are often late.” would be lost.",
        "“Refunds take 5 days.” would be lost.",
    )
    assert refusal([]).dropped == FORMER_FACTS


def test_a_fact_in_other_words_is_kept_and_one_without_its_amount_is_lost() -> None:
    merged = fact(
        "Parcels to Bonn are late; customers like short answers.", FORMER_FACTS[0].fact_id, FORMER_FACTS[2].fact_id
    )
    assert isinstance(vet([merged, *FORMER_FACTS[1:2], *FORMER_FACTS[3:]]), AcceptedRewrite)
    vague = [fact("Refunds take days.", FORMER_FACTS[1].fact_id), FORMER_FACTS[3], FORMER_FACTS[2]]
    assert refusal(vague).dropped == FORMER_FACTS[:2]


def test_a_fact_that_is_only_like_another_one_does_not_stand_for_it() -> None:
    before = tuple(fact(f"{level} members get a {share} % discount.") for level, share in (("Gold", 10), ("Silver", 5)))
    assert refusal([before[1]], before).dropped == before[:1]
    renamed = fact("Gold members get a discount of 10 percent.")
    assert isinstance(
        vet_rewrite(before, [renamed, before[1]], [SourceLine("l", renamed.text)], budget_tokens=99), RefusedRewrite
    )
    cited = replace(renamed, source_ids=(before[0].fact_id,))
    assert vet([cited, before[1]], before) == AcceptedRewrite((cited, before[1]))


@pytest.mark.parametrize(
    "made_up",
    [
        fact("Ada asked for a refund of $40."),
        fact("Ada asked for a refund of $40.", "l9"),
        fact("Ada asked for a refund of $40.", "l2"),
        fact("Ada asked for a refund of $400.", "l1"),
        fact("The warehouse in Bonn is open until 9 May.", "l2"),
        fact("The warehouse in Bonn is closed until 16 May.", "l2"),
        fact("The owner of the shop moved to Paris with Ada.", "l1"),
        fact("!!!", "l1"),
    ],
    ids=range(8),
)
def test_a_fact_that_rests_on_nothing_is_refused_by_name(made_up: TierFact) -> None:
    found = refusal([*FORMER_FACTS, made_up])
    assert found.unsupported == (made_up,)
    assert found.reasons == (f"“{made_up.text}” is supported by no line.",)


def test_an_amount_may_change_where_a_line_says_so() -> None:
    lines = [SourceLine("l1", "Refunds take 7 days now."), SourceLine("f", "Refunds take 5 days.")]
    assert is_supported(fact("Refunds take 7 days.", "l1", "f"), lines)
    assert not is_supported(fact("Refunds take 9 days.", "l1", "f"), lines)


def test_a_kept_fact_in_the_words_of_a_permanent_one_is_lost_only_if_the_permanent_one_repeats_it() -> None:
    permanent = fact("Refunds of gifts take 7 days.", is_permanent=True)
    other, repeated = fact("Refunds of gifts take 5 days."), fact("Refunds of gifts take 7 days")
    assert vet([other], (permanent, other)) == AcceptedRewrite((permanent, other))
    assert vet([repeated], (permanent, repeated)) == AcceptedRewrite((permanent,))
    changed = fact("Refunds of gifts take 9 days.", permanent.fact_id)
    assert vet([changed, *FORMER_FACTS], (permanent, *FORMER_FACTS)) == AcceptedRewrite((permanent, *FORMER_FACTS))


def test_permanent_facts_stay_word_for_word_whatever_a_rewrite_does() -> None:
    permanent = fact("We never ship to Guam.", is_permanent=True)
    before = (*FORMER_FACTS, permanent)
    assert vet(list(FORMER_FACTS), before) == AcceptedRewrite((permanent, *FORMER_FACTS))
    changed = [*FORMER_FACTS, replace(permanent, is_permanent=False), fact("we never ship to Guam", permanent.fact_id)]
    assert vet(changed, before) == AcceptedRewrite((permanent, *FORMER_FACTS))
    posing = fact("Refunds take 5 days.", is_permanent=True)
    kept = vet([posing, *FORMER_FACTS[2:], FORMER_FACTS[0]])
    assert isinstance(kept, AcceptedRewrite)
    assert not any(each.is_permanent for each in kept.facts)


def test_what_is_over_its_budget_is_refused_and_a_tier_that_is_over_it_comes_down_by_steps() -> None:
    # R173
    assert refusal(list(FORMER_FACTS), budget=20).reasons == ("It has 31 tokens; 29 are allowed.",)
    assert isinstance(vet(list(FORMER_FACTS[1:]), budget=20), AcceptedRewrite)
    long = fact("Ada asked for a refund of $40 for a late parcel. " * 20, "l1")
    assert "tokens; 100 are allowed" in refusal([*FORMER_FACTS, long], budget=100).reasons[0]


def test_an_answer_in_the_schema_is_read() -> None:
    answer = {"facts": [{"text": "Paid  at\nonce.", "source_ids": ["l1"]}]}
    jsonschema.validate(answer, json.loads(canonical_json(rewrite_schema)))
    assert parse_rewrite(json.dumps(answer)) == (fact("Paid at once.", "l1"),)
    fenced = f"Here it is:\n```json\n{json.dumps(answer)}\n```"
    assert parse_rewrite(fenced) == parse_rewrite(json.dumps(answer)), "as of every other answer"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 10_000,
        "[]",
        '{"facts": 1}',
        '{"facts": [1]}',
        '{"facts": [{"text": "", "source_ids": []}]}',
        '{"facts": [{"text": "a", "source_ids": [1]}]}',
        '{"facts": [{"text": "a\\u0000", "source_ids": []}]}',
        json.dumps({"facts": [{"text": "a" * 601, "source_ids": []}]}),
        json.dumps({"facts": [{"text": "a", "source_ids": []}] * 401}),
        "x" * 60_001,
    ],
    ids=range(11),
)
def test_anything_else_leaves_the_tier_as_it_is(text: str) -> None:
    assert isinstance(parse_rewrite(text), MalformedRewrite)


TOPICS = [
    f"{first}{second}"
    for first in ("bak", "lom", "rud", "tev", "nif", "gor")
    for second in ("ola", "ine", "ura", "eto")
]


def line_of(chance: random.Random, number: int) -> SourceLine:
    words = " ".join(chance.sample(TOPICS, 6))
    return SourceLine(f"l{number}", f"Customer case {words} ended after {chance.randint(1, 90)} days.")


def rewrite(chance: random.Random, before: tuple[TierFact, ...], lines: list[SourceLine]) -> list[TierFact]:
    """What a model might answer: mostly sound, sometimes it forgets, invents, or writes too much."""
    changing = [each for each in before if not each.is_permanent]
    drop_share = chance.choice([0.0, 0.1, 0.25, 0.5, 1.0])
    left = chance.sample(changing, len(changing) - int(drop_share * len(changing)))
    new = [fact(each.text, each.source_id) for each in chance.sample(lines, min(len(lines), chance.randint(0, 40)))]
    if chance.random() < 0.2:
        new.append(fact(f"Everybody loves {chance.choice(TOPICS)} since 1999.", lines[0].source_id))
    return [*left, *new]


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.whole
@settings(max_examples=whole_or(1, whole=3))
@given(st.integers(0, 2**32))
def test_a_year_keeps_its_budget_every_permanent_fact_and_invents_nothing(seed: int) -> None:
    # R171, R172, R173
    chance = random.Random(seed)
    tier: tuple[TierFact, ...] = ()
    permanent: dict[str, str] = {}
    source_texts: set[str] = set()
    stored = 0
    for week in range(52):
        lines = [line_of(chance, week * 100 + number) for number in range(40)]
        source_texts |= {each.text for each in lines}
        found = vet_rewrite(tier, rewrite(chance, tier, lines), lines, budget_tokens=BUDGET)
        if isinstance(found, AcceptedRewrite):
            tier, stored = found.facts, stored + 1
        if tier and chance.random() < 0.3:
            marked = chance.choice(tier)
            if count_fact_tokens([*(each for each in tier if each.is_permanent), marked]) <= BUDGET // 2:
                permanent[marked.fact_id] = marked.text
                tier = tuple(replace(each, is_permanent=True) if each == marked else each for each in tier)
        assert count_fact_tokens(tier) <= BUDGET
        assert permanent.items() <= {each.fact_id: each.text for each in tier}.items()
        assert {each.text for each in tier} <= source_texts
        assert len(render_facts(tier).splitlines()) == len(tier)
    assert stored > 0
