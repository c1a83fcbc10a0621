"""What of a corrected draft may be shown with any customer, and by which words it is found again (Z-12)."""

import pytest

from apps.learning.lessons.example_rules import (
    MAX_EXAMPLES,
    MAX_KEYWORDS,
    ExampleTexts,
    UnfitExample,
    VettedExample,
    example_limit_refusal,
    extract_keywords,
    vet_example,
)
from apps.learning.lessons.lesson_cases import LESSON_TEXT_CHARACTERS, SITUATION_CHARACTERS
from apps.text_analysis.pii.known_values import KnownValues
from apps.text_analysis.pii.masking import PiiMasker
from apps.text_analysis.pii.tenant_patterns import PiiTemplate, read_template

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

GOOD_EXAMPLE = ExampleTexts("Where is my parcel?", "It is on its way.", "It is on its way. Track it in your account.")
FIREWALL = PiiMasker.against(KnownValues(names=frozenset({"Mia Li"})))


def test_words_of_nobody_are_kept_as_they_are() -> None:
    kept = vet_example(GOOD_EXAMPLE, FIREWALL)
    assert kept == VettedExample(GOOD_EXAMPLE, {}, ("parcel",))


def test_whatever_identifies_somebody_is_masked_and_counted() -> None:
    template = read_template("policy-number", "POL-######")
    assert isinstance(template, PiiTemplate)
    firewall = PiiMasker.against(KnownValues(names=frozenset({"Mia Li"})), templates=[template])
    example_texts = ExampleTexts(
        "Mia Li asks for POL-482113.", "Dear Mia,\n\nit is on  its way.", "Write to mia@example.com, Mia Li."
    )
    kept = vet_example(example_texts, firewall)
    assert isinstance(kept, VettedExample)
    assert kept.words == ExampleTexts(
        "[name] asks for [policy-number].", "Dear [name], it is on its way.", "Write to [e-mail], [name]."
    )
    assert kept.masked_counts == {"e-mail": 1, "name": 3, "policy-number": 1}
    assert vet_example(kept.words, firewall) == VettedExample(kept.words, {}, kept.keywords), (
        "masking again changes nothing"
    )


@pytest.mark.parametrize(
    ("words", "field", "reason"),
    [
        (ExampleTexts(" ", "No.", "Yes."), "situation", "may not be blank"),
        (ExampleTexts("Mia Li", "No.", "Yes."), "situation", "nothing but personal data"),
        (ExampleTexts("Why?", "", "Yes."), "draft", "may not be blank"),
        (ExampleTexts("Why?", "No.", "x" * (LESSON_TEXT_CHARACTERS + 1)), "correction", "Shorten it"),
        (ExampleTexts("y" * (SITUATION_CHARACTERS + 1), "No.", "Yes."), "situation", "Shorten it"),
        (ExampleTexts("Why?", "Yes,  of course.", "yes, of\ncourse."), "correction", "corrects nothing"),
    ],
)
def test_words_that_teach_nothing_are_refused_with_the_reason(words: ExampleTexts, field: str, reason: str) -> None:
    refused = vet_example(words, FIREWALL)
    assert isinstance(refused, UnfitExample)
    assert list(refused.reasons) == [field]
    assert reason in refused.reasons[field][0]


def test_words_that_say_something_are_told_by_their_beginnings() -> None:
    assert extract_keywords("Where are the parcels, the PARCEL of [name] and my vouchers?") == ("parcel", "vouche")
    assert extract_keywords("Who is that with you?") == ()
    assert (
        len(extract_keywords(" ".join(f"{chr(97 + n % 26)}{chr(97 + n // 26)}quux" for n in range(100))))
        == MAX_KEYWORDS
    )


def test_a_bank_is_bounded_and_says_what_to_do() -> None:
    assert example_limit_refusal(MAX_EXAMPLES - 1) == ""
    assert "Retire one" in example_limit_refusal(MAX_EXAMPLES)
