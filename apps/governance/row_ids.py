"""The numbers of rows, as addresses and forms name them."""

from typing import Final

# What the database's column holds.
LARGEST_NUMBER: Final = 2**63 - 1
# Every number of so many digits is among them; no row will ever have a longer one.
LONGEST_NUMBER: Final = len(str(LARGEST_NUMBER)) - 1


def number_of_row(said: str) -> int | None:
    """The number that somebody names; None where it is none, or none that a row has."""
    return int(said) if said.isdecimal() and len(said) <= LONGEST_NUMBER else None
