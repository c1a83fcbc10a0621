"""What texts about an agent must look like, sayable without a database."""

import unicodedata
from collections.abc import Iterable
from typing import Final

from apps.governance.policy.risk_tiers import RiskFactor

RULE_CHARACTERS: Final = 2_000
LINE_KEY_CHARACTERS: Final = 80
NAME_CHARACTERS: Final = 200
PARAGRAPH_CHARACTERS: Final = 300
# What a member asks of an assistant stands in the frozen part of every talk, so it is short.
MEMBER_OVERLAY_CHARACTERS: Final = 2_000

LOCALE_PATTERN: Final = r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*\Z"
LOCALE_RULE: Final = "Write a language, and a country if it matters, such as es or es-MX."

_LINE_BREAKING_CATEGORIES: Final = frozenset({"Cc", "Zl", "Zp"})


def is_one_line(text: str) -> bool:
    """A name or a title has no line ends and no control characters, which would start a line of their own in a prompt."""
    return not any(unicodedata.category(character) in _LINE_BREAKING_CATEGORIES for character in text)


def section_risk_factors(sections: Iterable[str]) -> frozenset[RiskFactor]:
    """What a change of these sections reaches: hard don'ts weigh more than voice."""
    return frozenset(RiskFactor.AVOID if section == "avoid" else RiskFactor.PERSONA for section in sections)
