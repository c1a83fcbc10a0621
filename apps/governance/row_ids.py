"""The numbers of rows, as addresses and forms name them."""

from typing import Final

# What the database's column holds.
LARGEST_ROW_ID: Final = 2**63 - 1
# Every number of so many digits is among them; no row will ever have a longer one.
MOST_ROW_ID_DIGITS: Final = len(str(LARGEST_ROW_ID)) - 1


def parse_row_id(text: str) -> int | None:
    """The number that somebody names; None where it is none, or none that a row has."""
    return int(text) if text.isdecimal() and len(text) <= MOST_ROW_ID_DIGITS else None
