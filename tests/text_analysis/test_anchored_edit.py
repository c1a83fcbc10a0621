"""A change of one place, named by the words that stand there (R101)."""

import pytest

from apps.text_analysis.anchored_edit import LINES_COMPARED, EditedText, EditRefusal, apply_anchored_edit

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

RUNBOOK = "## When to Use\nA refund.\n\n## Procedure\n1. Ask for the order.\n2. Call `issue_refund`.\n3. Tell them.\n"


def patch_refusal(text: str, anchor: str, replacement: str = "x") -> str:
    found = apply_anchored_edit(text, anchor, replacement)
    assert isinstance(found, EditRefusal)
    return found.reason


def test_the_one_place_is_replaced_and_its_line_named() -> None:
    # R101
    found = apply_anchored_edit(RUNBOOK, "2. Call `issue_refund`.", "2. Call `issue_refund` once.")
    assert found == EditedText(RUNBOOK.replace("refund`.", "refund` once."), 6)


def test_a_place_may_span_lines_and_be_taken_out() -> None:
    assert apply_anchored_edit(RUNBOOK, "\n3. Tell them.", "") == EditedText(RUNBOOK.replace("\n3. Tell them.", ""), 6)


def test_a_text_that_stands_nowhere_is_answered_with_the_lines_most_like_it() -> None:
    # R101
    refusal = patch_refusal(RUNBOOK, "Call issue_refund!")
    assert refusal.startswith(
        "This text occurs 0 times; copy it letter for letter. The lines most like it are:\nline 6: 2. Call"
    )
    assert patch_refusal(RUNBOOK, "qqqq").endswith("No line is like it; read the text again.")


def test_a_text_that_stands_in_several_places_is_answered_with_how_often_and_where() -> None:
    # R101
    assert patch_refusal("a\nb\na\n", "a") == (
        "This text occurs 2 times, in the lines 1, 3. Give more of what stands around the one you mean."
    )
    assert "occurs 2 times" in patch_refusal("aaa", "aa"), "places that overlap are not one"
    assert "in the lines 1, 2, 3, 4, 5, 6, 7, 8 and more." in patch_refusal("a\n" * 9, "a")


@pytest.mark.parametrize(("anchor", "replacement"), [("", "x"), (" \n", "x"), ("A refund.", "A refund.")])
def test_what_changes_nothing_or_stands_everywhere_is_refused(anchor: str, replacement: str) -> None:
    assert patch_refusal(RUNBOOK, anchor, replacement)


def test_a_long_text_is_compared_as_far_as_that_takes_no_time() -> None:
    text = "\n".join(["y" * 15] * LINES_COMPARED + ["needle"])
    assert "No line is like it" in patch_refusal(text, "needles")
    assert "line 2000" not in patch_refusal("y\n" * 40_000, "needles")
