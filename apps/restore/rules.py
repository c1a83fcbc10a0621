"""The name of a restored skill; pure."""

from collections.abc import Collection
from itertools import chain, count
from typing import Final

SUFFIX: Final = "-restored"


def fresh_name(name: str, taken: Collection[str], characters: int) -> str:
    """Return the name if it is free, else the name with a suffix and a number, truncated to the maximum length."""
    suffixes = chain(("", SUFFIX), (f"{SUFFIX}-{number}" for number in count(2)))
    return next(fresh for suffix in suffixes if (fresh := _truncate_with_suffix(name, suffix, characters)) not in taken)


def _truncate_with_suffix(name: str, suffix: str, characters: int) -> str:
    return name[: characters - len(suffix)].rstrip("-") + suffix
