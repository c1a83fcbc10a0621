"""By which name somebody introduces themselves or signs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.text_analysis.pii.introduced_names import find_introduced_names

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Hi, my name is Mia Li and I want a refund.", "Mia Li"),
        ("My full name is Mia Li-Weber.", "Mia Li-Weber"),
        ("I am Jonas Weber, jonas.weber@example.org", "Jonas Weber"),
        ("I\u2019m Dr. Jonas Weber. Call me.", "Jonas Weber"),
        ("This is Ana Ruiz. Where is my parcel?", "Ana Ruiz"),
        ("Good morning team, this is Ana Ruiz calling.", "Ana Ruiz"),
        ("Guten Tag, ich heiße Eva Brandt. Wo ist es?", "Eva Brandt"),
        ("Hallo, hier ist Eva Brandt", "Eva Brandt"),
        ("Hola, me llamo Ana.", "Ana"),
        ("Bonjour, je m'appelle Léa Petit.", "Léa Petit"),
        ("Where is it?\nThanks,\nJonas", "Jonas"),
        ("It is late.\n\nBest regards,\nDr. Eva Brandt\n", "Eva Brandt"),
        ("Es ist zu spät.\nViele Grüße\nEva", "Eva"),
    ],
)
def test_who_introduces_themselves_is_known(text: str, name: str) -> None:
    # R115
    assert find_introduced_names(text).names == {name}


@pytest.mark.parametrize(
    "text",
    [
        "My name is wrong on the invoice.",
        "I am German and it is late.",
        "I am Gold Member.",
        "I'm Not Happy.",
        "I am Having A Problem.",
        "It is late. This is Black Friday, after all.",
        "This is Black Friday.",
        "This is not right.",
        "Thanks, bye",
        "Thanks,\nBye",
        "MY NAME IS MIA LI",
        "my name is mia",
        "Tell me what my name is.",
        "",
    ],
)
def test_what_is_no_introduction_names_nobody(text: str) -> None:
    assert find_introduced_names(text).names == frozenset()


@given(st.text(max_size=300))
def test_every_name_stands_in_the_text_and_begins_with_a_capital(text: str) -> None:
    for name in find_introduced_names(f"My name is {text}").names:
        assert name[0].isupper()
        assert all(word in text for word in name.split())
