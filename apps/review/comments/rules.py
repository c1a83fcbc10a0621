"""What a comment may be, and how many there may be; pure."""

from typing import Final

COMMENT_CHARACTERS: Final = 4_000
COMMENTS_KEPT: Final = 200
ONLY_ITS_AUTHOR: Final = "Only whoever wrote a comment withdraws it. Answer it with one of your own."


def flaw(text: str) -> str:
    """What is wrong with the words of a comment, and what to do; empty where nothing is."""
    if not text.strip():
        return "A comment says something. Write a line."
    if len(text) > COMMENT_CHARACTERS:
        return (
            f"It has {len(text):,} characters, and {COMMENT_CHARACTERS:,} are the most."
            " Shorten it, or write the rest as a second comment."
        )
    return ""


def too_many(kept: int) -> str:
    """The refusal of one more, which says what to do; empty while there is room. Withdrawn ones count."""
    if kept < COMMENTS_KEPT:
        return ""
    return f"The proposal has {COMMENTS_KEPT} comments, which is as many as it may. Decide on it, or ask for another version."
