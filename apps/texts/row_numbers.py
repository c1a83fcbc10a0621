"""The numbers of rows, as addresses and forms name them."""

from typing import Final

# Every number of so many digits fits the database's column; no row will ever have a longer one.
LONGEST_NUMBER: Final = 18


def number_of_row(said: str) -> int | None:
    """The number that somebody names; None where it is none, or none that a row has."""
    return int(said) if said.isdecimal() and len(said) <= LONGEST_NUMBER else None
