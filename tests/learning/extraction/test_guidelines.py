"""What a desk's written guidelines become, and what is said of those that are none."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.learning.extraction.draft_validation import RUNBOOK_SECTIONS
from apps.learning.guideline_import import Guideline, MalformedGuideline, NotGuidelines, parse_guidelines
from apps.skills.skill_validation import DESCRIPTION_CHARACTERS

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

ASK_STEP = {
    "type": "interaction",
    "button": "Look Up",
    "text": "Ask for the order's number.",
    "subtext": ["Or the e-mail."],
}
TELL_STEP = {"type": "communication", "button": "N/A", "text": "Tell   the customer.", "subtext": []}
SUBFLOW: dict[str, Any] = {"actions": [ASK_STEP, TELL_STEP], "instructions": ["A parcel is late.", "Wish a good day."]}


def file_of(subflow: object, title: str = "Late Parcel") -> dict[str, Any]:
    return {"Shipping": {"description": "parcels", "subflows": {title: subflow}}}


def only_guideline(found: Any) -> Guideline | MalformedGuideline:
    [each] = parse_guidelines(found)
    return each


def test_a_guideline_becomes_a_runbook_with_the_four_sections() -> None:
    # R104
    found = only_guideline(file_of(SUBFLOW))
    assert isinstance(found, Guideline)
    assert (found.name, found.title, found.category) == ("shipping-late-parcel", "Shipping: Late Parcel", "shipping")
    assert found.description == "Shipping: Late Parcel (parcels). A parcel is late."
    sections = dict(part.split("\n", 1) for part in found.body.removeprefix("## ").split("\n\n## "))
    assert tuple(sections) == RUNBOOK_SECTIONS
    assert sections["Procedure"].splitlines() == [
        "1. [Look Up] Ask for the order's number.",
        "   - Or the e-mail.",
        "2. Tell the customer.",
        "3. Wish a good day.",
    ]
    assert sections["Pitfalls"] == "The guideline says nothing of this."


def test_a_button_that_the_words_name_is_not_named_twice() -> None:
    action = {"button": "Look Up", "text": "Ask for the number.", "subtext": ["Then click [Look Up]."]}
    found = only_guideline(file_of({"actions": [action]}))
    assert isinstance(found, Guideline)
    assert found.body.count("[Look Up]") == 1


@pytest.mark.parametrize(
    ("subflow", "reason"),
    [
        (7, "a list `actions`"),
        ({}, "a list `actions`"),
        ({"actions": []}, "a list `actions`"),
        ({"actions": "Ask."}, "a list `actions`"),
        ({"actions": [ASK_STEP, {"text": " "}]}, "Action 2 has no `text`."),
        ({"actions": [None]}, "Action 1 has no `text`."),
    ],
)
def test_what_is_no_guideline_is_named_with_what_to_mend(subflow: object, reason: str) -> None:
    found = only_guideline(file_of(subflow))
    assert isinstance(found, MalformedGuideline)
    assert found.where == "Shipping: Late Parcel"
    assert reason in found.reason


@pytest.mark.parametrize("flow", [None, [], {}, {"subflows": []}])
def test_a_flow_without_subflows_is_named_and_the_others_are_read(flow: object) -> None:
    found = list(parse_guidelines({"Broken": flow, **file_of(SUBFLOW)}))  # type: ignore[dict-item]  # what a file may hold
    assert [type(each) for each in found] == [MalformedGuideline, Guideline]
    assert isinstance(found[0], MalformedGuideline)
    assert found[0].where == "Broken"


@pytest.mark.parametrize("found", [None, 7, [], {}, "text"])
def test_a_file_of_another_form_is_refused(found: Any) -> None:
    with pytest.raises(NotGuidelines):
        list(parse_guidelines(found))


@pytest.mark.parametrize("separator", [" ", ". "])
@pytest.mark.parametrize("words", [40, 200])
def test_a_long_description_ends_with_a_whole_word(separator: str, words: int) -> None:
    found = only_guideline(file_of({"actions": [ASK_STEP], "instructions": [separator.join(["parcel"] * words)]}))
    assert isinstance(found, Guideline)
    assert len(found.description) <= DESCRIPTION_CHARACTERS
    assert found.description.endswith(("parcel", "parcel.", "parcel…"))


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


@given(JSONS)
def test_whatever_a_file_holds_is_read_or_refused(found: Any) -> None:
    for whole in (found, file_of(found), file_of({"actions": found, "instructions": found})):
        try:
            read = list(parse_guidelines(whole))
        except NotGuidelines:
            continue
        assert all(isinstance(each, MalformedGuideline) or json.dumps(each.body) for each in read)
