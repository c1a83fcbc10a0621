"""What of a corrected draft may be shown with any customer, and by which words it is found again (Z-12)."""

import pytest

from apps.learning.lessons.example_rules import EXAMPLES_KEPT, WORDS_KEPT, Unfit, Vetted, Words, keywords, too_many, vet
from apps.learning.lessons.lesson_cases import SAID_CHARACTERS, SITUATION_CHARACTERS
from apps.text_analysis.pii.known_values import Known
from apps.text_analysis.pii.masking import Firewall
from apps.text_analysis.pii.tenant_patterns import Template, read_template

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

GOOD = Words("Where is my parcel?", "It is on its way.", "It is on its way. Track it in your account.")
FIREWALL = Firewall.against(Known(names=frozenset({"Mia Li"})))


def test_words_of_nobody_are_kept_as_they_are() -> None:
    kept = vet(GOOD, FIREWALL)
    assert kept == Vetted(GOOD, {}, ("parcel",))


def test_whatever_identifies_somebody_is_masked_and_counted() -> None:
    template = read_template("policy-number", "POL-######")
    assert isinstance(template, Template)
    firewall = Firewall.against(Known(names=frozenset({"Mia Li"})), templates=[template])
    said = Words("Mia Li asks for POL-482113.", "Dear Mia,\n\nit is on  its way.", "Write to mia@example.com, Mia Li.")
    kept = vet(said, firewall)
    assert isinstance(kept, Vetted)
    assert kept.words == Words(
        "[name] asks for [policy-number].", "Dear [name], it is on its way.", "Write to [e-mail], [name]."
    )
    assert kept.masked_counts == {"e-mail": 1, "name": 3, "policy-number": 1}
    assert vet(kept.words, firewall) == Vetted(kept.words, {}, kept.keywords), "masking again changes nothing"


@pytest.mark.parametrize(
    ("words", "field", "reason"),
    [
        (Words(" ", "No.", "Yes."), "situation", "may not be blank"),
        (Words("Mia Li", "No.", "Yes."), "situation", "Nothing is left"),
        (Words("Why?", "", "Yes."), "draft", "may not be blank"),
        (Words("Why?", "No.", "x" * (SAID_CHARACTERS + 1)), "correction", "Shorten it"),
        (Words("y" * (SITUATION_CHARACTERS + 1), "No.", "Yes."), "situation", "Shorten it"),
        (Words("Why?", "Yes,  of course.", "yes, of\ncourse."), "correction", "corrects nothing"),
    ],
)
def test_words_that_teach_nothing_are_refused_with_the_reason(words: Words, field: str, reason: str) -> None:
    refused = vet(words, FIREWALL)
    assert isinstance(refused, Unfit)
    assert list(refused.reasons) == [field]
    assert reason in refused.reasons[field][0]


def test_words_that_say_something_are_told_by_their_beginnings() -> None:
    assert keywords("Where are the parcels, the PARCEL of [name] and my vouchers?") == ("parcel", "vouche")
    assert keywords("Who is that with you?") == ()
    assert len(keywords(" ".join(f"{chr(97 + n % 26)}{chr(97 + n // 26)}quux" for n in range(100)))) == WORDS_KEPT


def test_a_bank_is_bounded_and_says_what_to_do() -> None:
    assert too_many(EXAMPLES_KEPT - 1) == ""
    assert "Retire one" in too_many(EXAMPLES_KEPT)
