"""What a comment may be, and how many there may be."""

import pytest

from apps.review.rules import COMMENT_CHARACTERS, COMMENTS_KEPT, comment_flaw, too_many_comments

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


@pytest.mark.parametrize("text", ["x", "x" * COMMENT_CHARACTERS, "# So\n\n- this"])
def test_a_comment_says_something_within_its_length(text: str) -> None:
    assert not comment_flaw(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Write some text."),
        (" \n\t", "Write some text."),
        ("x" * (COMMENT_CHARACTERS + 1), "The comment has 4,001 characters; at most 4,000 are allowed."),
    ],
)
def test_a_flaw_says_what_to_do(text: str, message: str) -> None:
    assert message in comment_flaw(text)


def test_a_proposal_has_room_for_so_many_comments() -> None:
    assert not too_many_comments(COMMENTS_KEPT - 1)
    assert "200 comments" in too_many_comments(COMMENTS_KEPT)
