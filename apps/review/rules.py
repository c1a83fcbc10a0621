"""Rules of comments and saved filters: allowed text, names, limits, and who may delete a filter. Pure functions."""

from collections.abc import Collection
from typing import Final

COMMENT_CHARACTERS: Final = 4_000
COMMENTS_KEPT: Final = 200
ONLY_AUTHOR_WITHDRAWS: Final = "Only whoever wrote a comment withdraws it. Answer it with one of your own."


def comment_flaw(text: str) -> str:
    """What is wrong with the words of a comment, and what to do; empty where nothing is."""
    if not text.strip():
        return "A comment says something. Write a line."
    if len(text) > COMMENT_CHARACTERS:
        return (
            f"It has {len(text):,} characters, and {COMMENT_CHARACTERS:,} are the most."
            " Shorten it, or write the rest as a second comment."
        )
    return ""


def too_many_comments(kept: int) -> str:
    """The refusal of one more, which says what to do; empty while there is room. Withdrawn ones count."""
    if kept < COMMENTS_KEPT:
        return ""
    return f"The proposal has {COMMENTS_KEPT} comments, which is as many as it may. Decide on it, or ask for another version."


NAME_CHARACTERS: Final = 60
QUERY_CHARACTERS: Final = 1_000
FILTERS_KEPT: Final = 20
TOO_MANY_FILTERS: Final = (
    f"You keep {FILTERS_KEPT} filters, which is as many as one person may. Delete one of yours first."
)
ONLY_MAKER_DELETES: Final = "Only whoever saved a shared filter deletes it, or an admin. Ask one of them."
# Emoji and some scripts join characters by them.
_REMOVE_JOINERS: Final = str.maketrans("", "", "\u200c\u200d")


def single_spaced(name: str) -> str:
    """The name with single spaces, whatever it was typed with."""
    return " ".join(name.split())


def name_flaw(name: str) -> str:
    """What is wrong with the name of a filter, and what to do; empty where nothing is."""
    seen = name.translate(_REMOVE_JOINERS)
    if not seen:
        return "A filter has a name. Write a few words."
    if len(name) > NAME_CHARACTERS:
        return f"The name has {len(name):,} characters, and {NAME_CHARACTERS} are the most. Shorten it."
    if not seen.isprintable():
        return "The name has characters that nobody can see. Write it as plain text."
    return ""


def free_quota_slot(taken: Collection[int]) -> int | None:
    """Where one more filter of a person stands; None once they keep as many as they may."""
    return next((place for place in range(1, FILTERS_KEPT + 1) if place not in taken), None)


def may_delete_filter(*, is_own: bool, is_shared: bool, is_admin: bool) -> bool:
    """One's own filters, and for an admin the shared ones."""
    return is_own or (is_shared and is_admin)
