"""Changes of a remembered text by single lines: all of them or none, by what a line says."""

import pytest

from apps.prompt.memory_lines.line_edits import (
    LineEdit,
    LineEditResult,
    LineOperation,
    apply_line_edits,
    cut_off_advice,
    too_long_advice,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

TEXT = "# Hours\nOpen from nine.\n\nNo Sundays.\n"


def add(text: str) -> LineEdit:
    return LineEdit(LineOperation.ADD, "", text=text)


def update(line: str, text: str) -> LineEdit:
    return LineEdit(LineOperation.UPDATE, "", line, text)


def delete(line: str) -> LineEdit:
    return LineEdit(LineOperation.DELETE, "", line)


@pytest.mark.parametrize(
    ("edits", "text"),
    [
        ((), "# Hours\nOpen from nine.\n\nNo Sundays."),
        ((add("Parking is free."),), "# Hours\nOpen from nine.\n\nNo Sundays.\nParking is free."),
        ((add("  No Sundays. "),), "# Hours\nOpen from nine.\n\nNo Sundays."),
        ((update("Open from nine.", "Open from ten."),), "# Hours\nOpen from ten.\n\nNo Sundays."),
        ((update(" Open from nine.", "No Sundays."),), "# Hours\n\nNo Sundays."),
        ((delete("No Sundays."), add("Open daily.")), "# Hours\nOpen from nine.\nOpen daily."),
        ((add("A."), update("A.", "B."), delete("B.")), "# Hours\nOpen from nine.\n\nNo Sundays."),
    ],
)
def test_lines_are_added_replaced_and_taken_out(edits: tuple[LineEdit, ...], text: str) -> None:
    # R160
    assert apply_line_edits(TEXT, edits).text.rstrip("\n") == text


def test_what_was_updated_leads_to_its_last_words() -> None:
    first = [update("Open from nine.", "Open from ten."), update("Open from ten.", " Open from noon. "), add("New.")]
    assert apply_line_edits(TEXT, first).instead == {
        "Open from nine.": "Open from noon.",
        "Open from ten.": "Open from noon.",
    }
    assert apply_line_edits(TEXT, [delete("No Sundays."), add("Open daily.")]).instead == {}
    assert apply_line_edits(TEXT, [*first, delete("Closed.")]).instead == {}


def test_a_line_that_stands_twice_goes_as_one() -> None:
    assert apply_line_edits("A.\nB.\n A.", [delete("A.")]).text == "B."
    assert apply_line_edits("A.\nB.\n A.", [update("A.", "C.")]).text == "C.\nB."
    assert apply_line_edits("", [add("First.")]).text == "First."


def test_a_line_is_told_as_its_reader_was_shown_it() -> None:
    assert apply_line_edits("Ship\u200b early.", [delete("Ship early.")]).text == ""


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (add(" "), "Give `text` with add"),
        (update("No Sundays.", ""), "Give `text` with update"),
        (add("A.\nB."), "is several lines"),
        (delete(""), "No line there reads “”"),
        (delete("Open from ten."), "No line there reads “Open from ten.”"),
        (update("Open from ten.", "Open."), "No line there reads “Open from ten.”"),
    ],
)
def test_one_flaw_keeps_the_whole_text_as_it_was(edit: LineEdit, message: str) -> None:
    # R160
    found = apply_line_edits(TEXT, [delete("No Sundays."), edit])
    assert found.text == TEXT
    [flaw] = found.flaws
    assert message in flaw


def test_changes_are_read_from_what_a_model_sent() -> None:
    edit_fields = {"op": "update", "block": " Hours ", "line": "A.\n", "text": "B."}
    assert LineEdit.of(edit_fields, "block") == LineEdit(LineOperation.UPDATE, "Hours", "A.", "B.")
    assert LineEdit.of({"op": "add", "text": "B."}, "block") == add("B.")
    assert apply_line_edits("", []) == LineEditResult("")


def test_what_does_not_fit_says_what_to_shorten_and_what_to_drop() -> None:
    # R160
    assert too_long_advice("Short.", 6) == ""
    text = "We ship on Mondays.\nOn Mondays, we SHIP\n---\n***\n" + "x" * 100
    advice = too_long_advice(text, 60)
    assert f"It would have {len(text)} characters, and 60 are the most, so nothing was saved." in advice
    assert f"The longest lines are “{'x' * 80}” (100); “We ship on Mondays.” (19)" in advice
    assert "These say the same: “We ship on Mondays.” (19); “On Mondays, we SHIP” (19)." in advice
    assert "oldest" not in advice
    assert "The oldest are “A.” (2); “B.” (2); “C.” (2)." in too_long_advice("Long.", 1, ["A.", "B.", "C.", "D."])


def test_text_beyond_the_prompt_limit_is_reported_to_its_author() -> None:
    assert cut_off_advice("One.\n\nTwo.\n", 10) == ""
    advice = cut_off_advice("One.\n\nTwo.\nThree.", 10)
    assert advice == (
        "It is saved, but prompts carry its first 10 characters: 1 line does not reach you whole, beginning with"
        " “Three.” (6). Merge, shorten or delete lines."
    )
    assert "2 lines do not reach you whole, beginning with “Two.” (4)." in cut_off_advice("One.\n\nTwo.\nThree.", 9)
