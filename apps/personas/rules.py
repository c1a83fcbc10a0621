"""Rules for texts about an agent: limits, single lines, and the risk of a change. Pure functions."""

import unicodedata
from collections.abc import Iterable
from typing import Final

from apps.governance.policy.risk_tiers import RiskFactor

RULE_CHARACTERS: Final = 2_000
LINE_KEY_CHARACTERS: Final = 80
NAME_CHARACTERS: Final = 200
PARAGRAPH_CHARACTERS: Final = 300
# Kept short, because a member's overlay is in the frozen part of every talk's prompt.
MEMBER_OVERLAY_CHARACTERS: Final = 2_000

LOCALE_PATTERN: Final = r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*\Z"
LOCALE_RULE: Final = "Write a language, and a country if it matters, such as es or es-MX."

_LINE_BREAKING_CATEGORIES: Final = frozenset({"Cc", "Zl", "Zp"})


def is_one_line(text: str) -> bool:
    """Whether a text has no line ends or other control characters, which could start a new line in a prompt."""
    return not any(unicodedata.category(character) in _LINE_BREAKING_CATEGORIES for character in text)


def rule_risk_factors(agent_id: int | None) -> frozenset[RiskFactor]:
    """Return the risk factors of changing a rule of one agent, or of the whole organisation if `agent_id` is None."""
    return frozenset({RiskFactor.RULES} if agent_id else {RiskFactor.RULES, RiskFactor.ORGANISATION_RULES})


def section_risk_factors(sections: Iterable[str]) -> frozenset[RiskFactor]:
    """Return the risk factors of changing these sections. A change of `avoid` has the highest risk."""
    return frozenset(RiskFactor.AVOID if section == "avoid" else RiskFactor.PERSONA for section in sections)
