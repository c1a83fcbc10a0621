"""By what words are compared: their stems, with synonyms and opposites folded into one."""

import pytest

from apps.text_analysis.word_stems import is_opposite, stem, word_key, word_keys

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


@pytest.mark.parametrize(
    "words",
    [
        "refund refunds refunded refunding",
        "cancel cancels cancelled cancelling",
        "apply applies applied applying",
        "policy policies",
        "verify verifies verified",
        "shipment shipments",
        "customer's customer",
        "check-in checkin",
        "gutschein gutscheine gutscheinen gutscheins",
        "lieferung lieferungen",
        "kündigung kündigungen",
    ],
)
def test_a_word_is_the_same_in_every_ending(words: str) -> None:
    assert len({stem(word) for word in words.split()}) == 1


def test_different_words_stay_different() -> None:
    words = ["order", "offer", "price", "policy", "police", "parcel", "partial", "amount", "general", "generous"]
    assert len({stem(word) for word in words}) == len(words)


# Keys of edits and lessons are stored: a release of the library with other stems has to be noticed here, before it is installed.
@pytest.mark.parametrize(
    ("word", "stemmed"),
    [
        ("delivery", "deliveri"),
        ("escalation", "escal"),
        ("reservation", "reserv"),
        ("refunded", "refund"),
        ("generously", "generous"),
        ("passengers", "passeng"),
        ("gutscheine", "gutschein"),
        ("bestellungen", "bestell"),
    ],
)
def test_stems_are_those_that_stored_keys_were_made_of(word: str, stemmed: str) -> None:
    assert stem(word) == stemmed


def test_synonyms_and_opposites_are_compared_as_one_word() -> None:
    assert word_keys("Please reimburse the parcel") == word_keys("refund packages")
    assert word_key("closed") == word_key("open")
    assert (is_opposite("closed"), is_opposite("open")) == (True, False)
