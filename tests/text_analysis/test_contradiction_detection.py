"""Which lines cannot both be right: measured on labelled pairs, on real runbooks, and on texts that want to take long."""

import json
from time import process_time
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.launcher.data_folders import PROJECT
from apps.learning.guideline_import import Guideline, parse_guidelines
from apps.text_analysis.contradictions.detection import (
    ComparisonLimits,
    ContradictionCheck,
    ContradictionFinding,
    ContradictionKind,
    IndexedTexts,
    NamedText,
    TextKind,
    ToolNames,
    detect_contradictions,
)
from apps.text_analysis.contradictions.statements import MAX_STATEMENTS, parse_statements
from tests.support.parameter_sampling import share_of
from tests.text_analysis.contradiction_pairs import (
    COMPATIBLE_PAIRS,
    CONTRADICTING_PAIRS,
    HELD_OUT_PAIRS,
    TUNING_PAIRS,
    UNSEEN_PAIRS,
    Pair,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

GUIDELINES = PROJECT.parent / "shared" / "data" / "abcd_guidelines.json"
TOOLS = ToolNames(frozenset({"get_order"}), frozenset({"get_order", "escalate", "issue_refund"}))


def find_contradictions(
    one: str, two: str, part: TextKind = TextKind.MEMORY, other: TextKind = TextKind.RULE
) -> tuple[ContradictionFinding, ...]:
    return detect_contradictions([NamedText("memory", part, one)], [NamedText("rules", other, two)]).findings


class Rates(NamedTuple):
    """What share of findings is right, and what share of contradictions is found."""

    precision: float
    recall: float


def rates(pairs: tuple[Pair, ...]) -> Rates:
    results = [(pair.kind, find_contradictions(pair.one, pair.two, pair.part, pair.other)) for pair in pairs]
    right = sum(bool(kind and found) for kind, found in results)
    return Rates(right / sum(bool(found) for _, found in results), right / sum(kind is not None for kind, _ in results))


def test_labelled_pairs_are_classified(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(CONTRADICTING_PAIRS) >= 40
    assert len(COMPATIBLE_PAIRS) >= 40
    tuned, unseen, held_out = rates(TUNING_PAIRS), rates(UNSEEN_PAIRS), rates(HELD_OUT_PAIRS)
    with capsys.disabled():
        print(f"\ncontradictions: tuned on {tuned}, the other half {unseen}, written afterwards {held_out}")
    assert min(tuned) >= 0.95
    for each in (unseen, held_out):
        assert each.precision >= 0.95
        assert each.recall >= 0.9


@pytest.mark.parametrize("pair", [pair for pair in TUNING_PAIRS if pair.kind], ids=lambda pair: pair.one)
def test_the_kind_is_told_whichever_line_is_new(pair: Pair) -> None:
    for found in (
        find_contradictions(pair.one, pair.two, pair.part, pair.other),
        find_contradictions(pair.two, pair.one, pair.other, pair.part),
    ):
        assert [each.kind for each in found] == [pair.kind]


def test_a_finding_names_both_places_the_words_and_says_it_in_a_sentence() -> None:
    found = detect_contradictions(
        [NamedText("memory of sales", TextKind.MEMORY, "Be brief.\n- Refunds within two weeks of purchase.")],
        [NamedText("organisation rules", TextKind.RULE, "Refunds are possible within 30 days.", first_line=7)],
    ).findings
    assert len(found) == 1
    finding = found[0]
    assert finding.kind is ContradictionKind.AMOUNT
    assert (finding.place.record, finding.place.line, finding.place.words) == ("memory of sales", 2, "within two weeks")
    assert finding.place.text == "Refunds within two weeks of purchase"
    assert finding.other
    assert (finding.other.record, finding.other.line, finding.other.words) == (
        "organisation rules",
        7,
        "within 30 days",
    )
    assert finding.sentence == (
        "Line 2 of memory of sales and Line 7 of organisation rules give different amounts for the same thing: "
        "within two weeks and within 30 days."
    )


def test_what_stands_can_be_read_once() -> None:
    rules = [NamedText("rules", TextKind.RULE, "Never offer a discount.\nRefunds within 30 days.")]
    new = [NamedText("memory", TextKind.MEMORY, "Always offer a discount.\nRefunds within 14 days.")]
    assert detect_contradictions(new, IndexedTexts.of(rules)) == detect_contradictions(new, rules)
    assert len(detect_contradictions(new, IndexedTexts.of(rules)).findings) == 2


def test_lines_of_one_record_are_compared_too() -> None:
    text = "Never offer a discount.\nAlways offer a discount."
    assert [each.kind for each in detect_contradictions([NamedText("rules", TextKind.RULE, text)]).findings] == [
        ContradictionKind.OPPOSITE
    ]
    assert detect_contradictions([], [NamedText("rules", TextKind.RULE, text)]) == ContradictionCheck(
        (), 0, is_whole=True
    )


def runbook(record: str, used: str, *steps: str) -> NamedText:
    lines = (f"{number}. {step}" for number, step in enumerate(steps, start=1))
    return NamedText(record, TextKind.SKILL, "\n".join([f"## When to Use\n{used}\n## Procedure", *lines]))


def test_runbooks_for_other_situations_do_not_contradict_each_other() -> None:
    lost = runbook("lost", "A parcel is lost.", "Do not update the order.")
    late = runbook("late", "An address is wrong.", "Update the order.")
    same = runbook("also lost", "The parcel is lost.", "Update the order.")
    assert detect_contradictions([lost], [late]).findings == ()
    assert [each.kind for each in detect_contradictions([lost], [same]).findings] == [ContradictionKind.OPPOSITE]
    assert detect_contradictions([NamedText("a", TextKind.SKILL, "Update the order.")], [lost]).findings == ()


def test_what_two_runbooks_are_for_is_neither_a_step_nor_a_claim() -> None:
    about = "Storewide Query: {} FAQ (questions about pricing, timing, membership or features)."
    titled = [runbook(name, about.format(name.title()), "Ask what it is about.") for name in ("pricing", "timing")]
    assert detect_contradictions(titled).findings == ()
    there, gone = "The parcel has arrived.", "The parcel has not arrived."
    assert detect_contradictions([runbook("a", there, "Ask.")], [runbook("b", gone, "Ask.")]).findings == ()
    assert (
        len(detect_contradictions([runbook("a", "It.", there)], [NamedText("m", TextKind.MEMORY, gone)]).findings) == 1
    )


def test_amounts_contradict_each_other_in_runbooks_for_other_situations_but_not_counts() -> None:
    first = runbook("a", "A parcel is lost.", "The fee is $50.", "Pick one of 4 options.")
    second = runbook("b", "An address is wrong.", "The fee is $60.", "Pick one of 8 options.")
    assert [each.place.words for each in detect_contradictions([first], [second]).findings] == ["$50"]


def test_a_condition_holds_for_the_lines_set_in_below_it() -> None:
    text = "- If the item is damaged:\n  - Refund the order.\n\n- If the item is used:\n  - Do not refund the order.\n"
    assert detect_contradictions([NamedText("rules", TextKind.RULE, text)]).findings == ()
    text = "- If the item is damaged:\n  - Refund the order.\n- Do not refund the order.\n"
    assert [each.place.line for each in detect_contradictions([NamedText("rules", TextKind.RULE, text)]).findings] == [
        2
    ]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("1. Call `issue_refund` with the order.", ["issue_refund"]),
        ("Then escalate_case(order_id) at once.", ["escalate_case"]),
        ("Use the pay_out tool.", ["pay_out"]),
        ("The open_ticket tool helps.", ["open_ticket"]),
        ("Use get_order.", []),
        ("Fill in `order_id` and customer_name.", []),
        ("Never call issue_refund.", []),
        ("issue_refund", ["issue_refund"]),
        ("Call issue_refund, then issue_refund.", ["issue_refund"]),
    ],
)
def test_a_tool_that_is_not_allowed_is_found_where_it_is_to_be_used(text: str, named: list[str]) -> None:
    found = detect_contradictions([NamedText("skill", TextKind.SKILL, text)], tools=TOOLS).findings
    assert [each.place.words for each in found] == named
    assert all(
        each.kind is ContradictionKind.TOOL and each.other is None and "allow-list" in each.sentence for each in found
    )
    assert detect_contradictions([NamedText("skill", TextKind.SKILL, text)]).findings == ()
    assert detect_contradictions([NamedText("avoid", TextKind.AVOID, text)], tools=TOOLS).findings == ()


def test_the_look_ends_at_its_limits_and_says_so() -> None:
    text = "\n".join(f"The fee is ${number}." for number in range(40))
    whole = detect_contradictions([NamedText("a", TextKind.MEMORY, text)])
    assert whole.is_whole is False
    assert len(whole.findings) == 200
    few = detect_contradictions([NamedText("a", TextKind.MEMORY, text)], limits=ComparisonLimits(pairs=10))
    assert (few.pairs, few.is_whole, len(few.findings)) == (10, False, 10)
    all_of_them = detect_contradictions(
        [NamedText("a", TextKind.MEMORY, text)], limits=ComparisonLimits(findings=1_000)
    )
    assert (len(all_of_them.findings), all_of_them.is_whole) == (780, True)


def test_of_a_long_text_no_more_statements_are_read_than_the_limit() -> None:
    text = "\n".join(["Ask them. Tell them. Pay them."] * MAX_STATEMENTS)
    assert len(parse_statements(text)) == MAX_STATEMENTS


HOSTILE = (
    "if " * 20_000,
    "1 " * 20_000,
    "12,34.56 " * 5_000,
    "never " * 10_000,
    "a-" * 20_000,
    "for the " * 8_000,
    "Never if unless before 5 days, and then " * 2_000,
    "never not avoid refuse " * 4_000,
    "\n".join(["If x: >"] * 3_000),
    "\n".join(["Refund the fee of $5 within 3 days, never later."] * 3_000),
    "\n".join(f"Refund fee {number} within {number} days" for number in range(3_000)),
    "[" * 30_000 + "_a" * 30_000 + "(" * 100,
    "\u0130" * 10_000,
    "# " * 10_000,
    "\n".join(["Ask them. Tell them. Pay them. Thank them."] * 3_000),
)


def _seconds(text: str, times: int) -> float:
    taken = []
    for _ in range(times):
        begun = process_time()
        detect_contradictions(
            [NamedText("a", TextKind.MEMORY, text)], [NamedText("b", TextKind.RULE, text)], tools=TOOLS
        )
        taken.append(process_time() - begun)
    return min(taken)


@pytest.mark.unmeasured
@pytest.mark.whole
@pytest.mark.parametrize("text", share_of(0, HOSTILE, rows=4), ids=lambda text: ascii(text[:12]))
def test_four_times_a_hostile_text_takes_no_square_of_it(text: str) -> None:
    assert _seconds(text, 1) < 12 * _seconds(text[: len(text) // 4], 3)


WORDS = st.sampled_from(
    [
        *(
            "never",
            "always",
            "refund",
            "the",
            "within",
            "30",
            "14",
            "days",
            "if",
            "customer",
            "asks",
            ",",
            ".",
            ":",
            ";",
        ),
        *("do", "not", "unless", "$", "5", "%", "\n", "-", "#", "for", "gold", "May", "9", "at", ">"),
    ]
)


@given(st.lists(WORDS, max_size=40).map(" ".join), st.lists(WORDS, max_size=40).map(" ".join))
def test_every_text_is_read_and_no_line_contradicts_itself(one: str, two: str) -> None:
    found = find_contradictions(one, two)
    assert found == find_contradictions(one, two)
    for each in found:
        assert each.other
        assert each.place.text != each.other.text
    assert all(each.kind is not ContradictionKind.TOOL for each in found)


@given(st.text(max_size=300))
def test_the_same_text_beside_itself_adds_nothing(text: str) -> None:
    alone = {each.place.text for each in detect_contradictions([NamedText("a", TextKind.RULE, text)]).findings}
    assert {each.place.text for each in find_contradictions(text, text, TextKind.RULE)} >= alone


# Lines against the runbooks, and whether each contradicts one of them.
PLANTED_SENTENCES = (
    ("The standard subscription is $89 a year.", True),
    ("Standard shipping is $12.00.", True),
    ("Promotions only last 14 days.", True),
    ("Gold members never get an extension.", True),
    ("If the customer does not know, the default amount is $75.", True),
    ("Silver members: return possible within the last 30 days.", True),
    ("Silver members get an extension if they are only 3 days late.", True),
    ("Never ask for the customer's credit card number.", True),
    ("Do not offer to remove the fee.", True),
    ("Gold members get no unlimited returns.", True),
    ("Bronze members: return possible within the last 60 days.", True),
    ("Never escalate to the manager.", True),
    ("Do not ask the customer for the membership level.", True),
    ("Do not copy and paste the answer.", False),
    ("The list has 9 options.", False),
    ("Promotions last a week.", False),
    ("The subscription is $99 per year.", False),
    ("Guest members: return possible within 30 days.", False),
)


def guidelines() -> list[NamedText]:
    """The runbooks of a retailer's desk as they are imported, one record each."""
    found = parse_guidelines(json.loads(GUIDELINES.read_text(encoding="utf-8")))
    return [NamedText(each.name, TextKind.SKILL, each.body) for each in found if isinstance(each, Guideline)]


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.skipif(not GUIDELINES.exists(), reason="the runbooks lie beside the repository")
def test_real_runbooks_give_no_false_alarm_and_show_what_contradicts_them(capsys: pytest.CaptureFixture[str]) -> None:
    runbooks = guidelines()
    assert len(runbooks) == 55
    began = process_time()
    checked = detect_contradictions(runbooks)
    seconds = process_time() - began
    # They were read by a person: nothing in them contradicts anything else.
    assert [each.sentence for each in checked.findings] == []
    assert checked.is_whole
    results = [
        (bool(detect_contradictions([NamedText("m", TextKind.MEMORY, line)], runbooks).findings), is_so)
        for line, is_so in PLANTED_SENTENCES
    ]
    right = sum(found and is_so for found, is_so in results)
    with capsys.disabled():
        print(
            f"\n{len(runbooks)} runbooks, {checked.pairs} pairs in {seconds:.1f} s; of 13 planted lines {right} found"
        )
    assert not any(found and not is_so for found, is_so in results)
    assert right >= 9
