"""Limits and keys of memory. Pure functions."""

import re

BODY_CHARACTERS = 20_000
BLOCK_CHARACTERS = 8_000
PROFILE_CHARACTERS = 8_000

END_USER_KEY_PATTERN = r"^[a-z][a-z0-9_-]*:\S{1,160}\Z"
END_USER_KEY_RULE = "An end user's key is the channel, a colon and the channel's id, such as slack:U12345."
LABEL_PATTERN = r"^[A-Za-z][A-Za-z0-9]*(?:[ _-][A-Za-z0-9]+)*\Z"
LABEL_RULE = "A label is one or more words of letters and digits, such as BusinessFacts or opening-hours."


def label_key(label: str) -> str:
    """Return the key for comparing labels, which ignores case and separators."""
    return re.sub("[ _-]", "", label).lower()


def add_fact(before: str, fact: str) -> str:
    """Return a profile text with one more fact, or unchanged if it already contains the fact."""
    known = [line.strip() for line in before.splitlines()]
    new = [line.strip() for line in fact.splitlines() if line.strip() and line.strip() not in known]
    return "\n".join([*(line for line in known if line), *new])
