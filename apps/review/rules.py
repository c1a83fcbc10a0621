"""Rules of comments and saved filters: valid texts and names, limits, and who may delete a filter. Pure functions."""

from collections.abc import Collection
from typing import Final

COMMENT_CHARACTERS: Final = 4_000
COMMENTS_KEPT: Final = 200
ONLY_AUTHOR_WITHDRAWS: Final = "Only the author of a comment can withdraw it. Add a comment of your own instead."


def comment_flaw(text: str) -> str:
    """Return what is wrong with a comment's text and how to correct it; empty if the text is valid."""
    if not text.strip():
        return "The comment is blank. Write some text."
    if len(text) > COMMENT_CHARACTERS:
        return (
            f"The comment has {len(text):,} characters; at most {COMMENT_CHARACTERS:,} are allowed."
            " Shorten it, or write the rest as a second comment."
        )
    return ""


def too_many_comments(kept: int) -> str:
    """Return the refusal of another comment; empty below the limit. Withdrawn comments count."""
    if kept < COMMENTS_KEPT:
        return ""
    return f"The proposal has {COMMENTS_KEPT} comments, which is the limit. Decide on it, or request changes."


NAME_CHARACTERS: Final = 60
QUERY_CHARACTERS: Final = 1_000
FILTERS_KEPT: Final = 20
TOO_MANY_FILTERS: Final = f"You have {FILTERS_KEPT} saved filters, which is the limit. Delete one of yours first."
ONLY_MAKER_DELETES: Final = "Only the person who saved a shared filter, or an admin, can delete it. Ask one of them."
# The zero-width joiners, which emoji and some scripts use to join characters.
_REMOVE_JOINERS: Final = str.maketrans("", "", "\u200c\u200d")


def single_spaced(name: str) -> str:
    """Return the name with runs of white space collapsed to single spaces, and trimmed."""
    return " ".join(name.split())


def name_flaw(name: str) -> str:
    """Return what is wrong with a filter's name and how to correct it; empty if the name is valid."""
    seen = name.translate(_REMOVE_JOINERS)
    if not seen:
        return "The filter has no name. Write a few words."
    if len(name) > NAME_CHARACTERS:
        return f"The name has {len(name):,} characters; at most {NAME_CHARACTERS} are allowed. Shorten it."
    if not seen.isprintable():
        return "The name has invisible characters. Write it as plain text."
    return ""


def free_quota_slot(taken: Collection[int]) -> int | None:
    """Return the first free slot for another filter of a person, or None if all slots are taken."""
    return next((place for place in range(1, FILTERS_KEPT + 1) if place not in taken), None)


def may_delete_filter(*, is_own: bool, is_shared: bool, is_admin: bool) -> bool:
    """Whether a person may delete a filter: their own, or a shared one if they are an admin."""
    return is_own or (is_shared and is_admin)
