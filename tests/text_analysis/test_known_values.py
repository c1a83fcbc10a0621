"""Values known to be somebody's are found again however they are written; what a tool returned tells them."""

# ruff: noqa: RUF001 - digits and signs of other scripts are meant.

import json
import re
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.launcher.data_folders import PROJECT
from apps.text_analysis.pii.known_values import KnownValues, codes_in
from apps.text_analysis.pii.masking import PiiMasker
from apps.text_analysis.pii.tool_result_values import (
    MAX_DEPTH,
    known_values_from,
    known_values_in_notes,
    known_values_of_sender,
)
from tests.text_analysis.labelled_pii_lines import PRIVATE_LINES

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

REAL = PROJECT.parent / "shared" / "data" / "tau_airline_transcripts.jsonl"

KNOWN_VALUES = KnownValues(
    names=frozenset({"Mia Li", "Will Mark-Stone", "José Ñandú", "山田太郎", "X"}),
    values=frozenset({"mia_li_3668", "IFOYYZ", "W4711-X", "1990-04-05", "abc", "a b c d e f g h i j k l m n o p q r"}),
)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("I am Mia Li.", "I am [name]."),
        ("Hi Mia, hello MIA; hi mia", "Hi [name], hello [name]; hi mia"),
        ("Li, Mia and mia  li", "[name] and [name]"),
        ("Mia's bag, Miami", "[name]'s bag, Miami"),
        ("Will you mark the stone? Mark will.", "[name] you mark the stone? [name] will."),
        ("jose\u0301 ñandú and JOSE NANDU", "[name] and [name]"),
        ("ñandú alone", "[name] alone"),
        ("山田太郎様です", "[name]様です"),
        ("user mia_li_3668 or Mia Li 3668", "user [id] or [id]"),
        ("IFOYYZ, ifoyyz; IF-OYYZ", "[id], [id]; IF-OYYZ"),
        ("w4711x, W4711-X, W4711 X, refund-w4711-x", "w4711x, [id], [id], refund-[id]"),
        ("born 1990-04-05, 1990/04/05, 1990-04-06", "born [id], [id], 1990-04-06"),
        ("ＩＦＯＹＹＺ and IF\u200bOYYZ", "[id] and [id]"),
        (
            "abc and X stay, as do a b c d e f g h i j k l m n o p q r",
            "abc and X stay, as do a b c d e f g h i j k l m n o p q r",
        ),
        ("Mia\nLi", "[name]\n[name]"),
        ("mia\nli", "mia\nli"),
    ],
)
def test_a_known_value_is_found_however_it_is_written(text: str, left: str) -> None:
    assert PiiMasker.against(KNOWN_VALUES).mask(text).text == left


@pytest.mark.parametrize(
    ("quoted", "text", "left"),
    [
        ("0049 171 3920000", "Ring 0049 171 3920000, please", "Ring [phone], please"),
        ("+49 (0)171 3920000", "+49 (0)171 3920000 or +49 171 3920000", "[phone] or [phone]"),
        ("030 23125 012", "Ruf mich an: 030 23125 012", "Ruf mich an: [phone]"),
        ("Musterweg 5, 80331 München", "An Musterweg 5, 80331 München bitte", "An [address] bitte"),
        ("Amex 3714 496353 98431", "Amex 3714 496353 98431", "Amex [card]"),
        # What was said is longer than what its form tells.
        ("It is BK-2125550199-7!", "Booking BK-2125550199-7, phone 2125550199", "Booking [id], phone [phone]"),
        ("order 10045678", "order 10045678 2 bags", "order [id] 2 bags"),
    ],
)
def test_one_number_is_masked_once_though_a_part_of_it_was_said_as_a_code(quoted: str, text: str, left: str) -> None:
    assert PiiMasker.against(KnownValues(values=codes_in([quoted]))).mask(text).text == left


@pytest.mark.parametrize("line", PRIVATE_LINES)
def test_what_was_said_before_hides_no_form(line: str) -> None:
    text = re.sub(r"\{[a-z-]+\|([^}]*)\}", r"\1", line)
    before = PiiMasker.against(KnownValues(values=codes_in([text]))).mask(text).findings
    alone = PiiMasker.against(KnownValues()).mask(text).findings
    assert [(each.start, each.end) for each in before] == [(each.start, each.end) for each in alone]


def test_codes_that_were_said_are_known() -> None:
    texts = ["It is W4711-X!", "2 of 3; order 10045, user kim_weber_77", "step_2 of get_order2_details"]
    assert codes_in(texts) == {"w4711-x", "10045", "kim_weber_77", "get_order2_details", "step_2"}


def test_what_everybody_may_say_is_no_code() -> None:
    texts = [
        "On 2026-11-22 at 15:18:39, 24-hour or 30-day, covid-19",
        "error E40321, ERR_5001, HTTP 40401, version 10.11.12, $12500, 30000 miles",
    ]
    assert codes_in(texts) == frozenset()


RESULT = {
    "user": {"name": {"first_name": "Mia", "last_name": "Li"}, "userId": "mia_li_3668", "email": "mia@example.org"},
    "address": {"address1": "975 Sunset Drive", "city": "Austin", "zip": "78750"},
    "payment_methods": {"card_1": {"last_four": "7447", "amount": 100, "isDefault": True}, "x": None},
    "reservations": ["IFOYYZ"],
    "passengers": [{"givenName": "Anya", "dob": "1992-11-19"}],
    "flights": [{"flight_number": "HAT045", "price": 1859, "product_id": "P-1"}],
    "customer_name": "Mia Li",
    "account": {"number": 10045},
    "items": [{"name": "Water Bottle", "item_id": "WB-100", "colour": {"name": "Blue"}}],
    "contact": {"name": "Sam Ray"},
    "recipients": [{"name": {"first": "Ana", "last": "Paz"}}],
    "card": "visa",
    "code": "ECONOMY",
    "reference": "none",
    "order_no": "QWERTZ",
}


def test_a_tools_answer_tells_names_and_values_by_its_keys() -> None:
    known = known_values_from(RESULT)
    assert known.names == {"Mia", "Li", "Anya", "Mia Li", "Sam Ray", "Ana", "Paz"}
    assert known.values == {
        "mia_li_3668",
        "mia@example.org",
        "975 Sunset Drive",
        "78750",
        "card_1",
        "IFOYYZ",
        "1992-11-19",
        "10045",
        "QWERTZ",
    }


def test_known_values_of_several_answers_are_joined() -> None:
    first, second = known_values_from({"email": "a@b.org"}), known_values_from({"last_name": "Li"})
    assert first | second == KnownValues(frozenset({"Li"}), frozenset({"a@b.org"}))


def test_deep_answers_are_read_to_a_depth() -> None:
    deep: object = {"email": "deep@example.org"}
    for _ in range(MAX_DEPTH):
        deep = [deep]
    assert known_values_from(deep) == KnownValues()
    assert known_values_from([1.5, None, "alone", True]) == KnownValues()


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "name", "x"]), inner, max_size=3)
        ),
        max_leaves=12,
    )
)
def test_any_answer_can_be_read_and_looked_for(result: object) -> None:
    assert PiiMasker.against(known_values_from(result)).mask(json.dumps(result)).text


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.skipif(not REAL.exists(), reason="the shared transcripts are not here")
def test_nothing_of_the_customers_is_left_in_real_transcripts() -> None:
    lines = left = 0
    for transcript in map(json.loads, REAL.read_text("utf-8").splitlines()):
        results = list(_results(transcript["messages"]))
        firewall = PiiMasker.against(_known_values(results))
        private = re.compile(
            "|".join(rf"(?<![^\W_]){re.escape(value)}(?![^\W_])" for value in _customer_texts(results)) or "$^",
            re.IGNORECASE,
        )
        for message in transcript["messages"]:
            if message["role"] in ("user", "assistant") and message["content"]:
                lines += 1
                left += bool(private.search(firewall.mask(message["content"]).text))
    print(f"{lines} lines, a customer's own value left in {left}")
    assert lines > 1000
    assert left == 0


def _results(messages: list[dict[str, str]]) -> Iterator[object]:
    for message in messages:
        if message["role"] == "tool":
            try:
                yield json.loads(message["content"])
            except ValueError:
                continue


def _known_values(results: list[object]) -> KnownValues:
    known = KnownValues()
    for result in results:
        known |= known_values_from(result)
    return known


def _customer_texts(results: list[object]) -> Iterator[str]:
    """Written for these transcripts alone, so that it shares nothing with what is tried."""
    for result in results:
        if isinstance(result, Mapping) and "membership" in result:
            yield from (result["email"], *result["payment_methods"], *result["reservations"])
            yield f"{result['name']['first_name']} {result['name']['last_name']}"
            yield from (result["name"]["last_name"], result["address"]["address1"])
            yield from (f"{each['first_name']} {each['last_name']}" for each in result["saved_passengers"])
        if isinstance(result, Mapping) and "reservation_id" in result:
            yield from (result["reservation_id"], result["user_id"])
            yield from (f"{each['first_name']} {each['last_name']}" for each in result["passengers"])


def test_notes_about_a_customer_tell_their_name_in_json_and_in_lines() -> None:
    # R084
    noted = known_values_in_notes(
        "- **Name**: Mia Li\n- E-mail: mia@example.com\nPrefers: letters\nWrites at night.\nPhone:"
    )
    assert noted.names == {"Mia Li"}
    assert "mia@example.com" in noted.values
    assert known_values_in_notes('{"name": "Mia Li", "tone": "kind"}').names == {"Mia Li"}
    assert known_values_in_notes("Likes tea.") == known_values_in_notes("") == KnownValues()


@pytest.mark.parametrize(
    ("name", "names"),
    [("Mia Li", {"Mia Li"}), ("Mrs. Mia Li (customer)", {"Mia Li"}), ("First customer", set()), ("", set())],
)
def test_a_sender_is_known_by_name_and_not_by_common_words(name: str, names: set[str]) -> None:
    assert known_values_of_sender(name).names == names
