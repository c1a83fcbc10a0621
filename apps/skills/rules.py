"""What a skill may be called and hold; pure."""

import re
import unicodedata
from dataclasses import dataclass

NAME_CHARACTERS = 64
TITLE_CHARACTERS = 120
DESCRIPTION_CHARACTERS = 300
BODY_CHARACTERS = 40_000

NAME_PATTERN = r"^[a-z0-9]+(?:-[a-z0-9]+)*\Z"
NAME_RULE = f"A skill's name is 1 to {NAME_CHARACTERS} of a-z, 0-9 and single hyphens, such as issue-a-refund."
_NOT_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Naming:
    """A skill's name and title, either of which may have been derived from the other (Z-4)."""

    name: str
    title: str


def named(name: str, title: str) -> Naming:
    """Complete a name by its title and the other way round. Both empty stay empty, for the field rules to refuse."""
    return Naming(name or slug(title), title or name.replace("-", " ").capitalize())


def slug(title: str) -> str:
    """The name a title gives: ASCII letters and digits, joined by hyphens, cut at a whole word where one ends in time."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = _NOT_NAME.sub("-", plain).strip("-")
    if len(words) <= NAME_CHARACTERS:
        return words
    cut = words[: NAME_CHARACTERS + 1].rpartition("-")[0]
    return cut or words[:NAME_CHARACTERS]
