"""What texts about an agent must look like."""

import re
from string import printable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.governance.policy.risk_tiers import RiskFactor
from apps.personas.rules import LOCALE_PATTERN, is_one_line, section_risk_factors

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


@pytest.mark.parametrize("name", ["Grace Hopper", "", "Müller & Söhne GmbH", "9 h 30", "日本語"])
def test_names_stand_on_one_line(name: str) -> None:
    # R189
    assert is_one_line(name)


@pytest.mark.parametrize("broken", ["Grace\nHopper", "a\tb", "a\rb", "a\x85b", "a\u2028b", "a\u2029b", "\x1b[0m"])
def test_what_would_start_a_line_of_its_own_is_no_name(broken: str) -> None:
    # R189
    assert not is_one_line(broken)


@pytest.mark.unmeasured
@given(st.text())
def test_a_text_of_one_line_is_not_split_by_python_either(text: str) -> None:
    if is_one_line(text):
        assert len(text.splitlines()) <= 1


@pytest.mark.parametrize("locale", ["es", "es-MX", "zh-Hant-TW", "gsw-CH"])
def test_a_locale_is_a_language_and_what_narrows_it(locale: str) -> None:
    # R186
    assert re.match(LOCALE_PATTERN, locale)


@pytest.mark.parametrize("locale", ["", "español", "e", "es_MX", "es-", "es-MX\n", "es MX", printable])
def test_nothing_else_is_a_locale(locale: str) -> None:
    assert not re.match(LOCALE_PATTERN, locale)


def test_hard_donts_weigh_more_than_voice() -> None:
    # R017
    assert section_risk_factors(["style", "goals"]) == {RiskFactor.PERSONA}
    assert section_risk_factors(["style", "avoid"]) == {RiskFactor.PERSONA, RiskFactor.AVOID}
    assert section_risk_factors([]) == frozenset()
