"""Limits and keys of what is remembered; pure."""

import re

BODY_CHARACTERS = 20_000
BLOCK_CHARACTERS = 8_000
PROFILE_CHARACTERS = 8_000

END_USER_KEY_PATTERN = r"^[a-z][a-z0-9_-]*:\S{1,160}\Z"
END_USER_KEY_RULE = "An end user's key is the channel, a colon and the channel's id, such as slack:U12345."
LABEL_PATTERN = r"^[A-Za-z][A-Za-z0-9]*(?:[ _-][A-Za-z0-9]+)*\Z"
LABEL_RULE = "A label is one or more words of letters and digits, such as BusinessFacts or opening-hours."


def label_key(label: str) -> str:
    """What tells a label from others; case and what stands between words do not."""
    return re.sub("[ _-]", "", label).lower()


def add_fact(before: str, fact: str) -> str:
    """A profile text with one fact more; a fact that stands there already is not said twice."""
    known = [line.strip() for line in before.splitlines()]
    new = [line.strip() for line in fact.splitlines() if line.strip() and line.strip() not in known]
    return "\n".join([*(line for line in known if line), *new])
