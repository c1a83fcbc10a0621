"""An operator's template finds the tenant's own numbers, and cannot be written so that it takes long or finds words."""

# ruff: noqa: RUF001 - digits and signs of other scripts are meant.

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.text_analysis.pii.known_values import KnownValues
from apps.text_analysis.pii.masking import PiiMasker
from apps.text_analysis.pii.tenant_patterns import (
    MAX_TEMPLATES,
    TEMPLATE_CHARACTERS,
    PiiTemplate,
    UnusableTemplate,
    read_template,
    read_templates,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


def template(label: str, written: str) -> PiiTemplate:
    read = read_template(label, written)
    assert isinstance(read, PiiTemplate), read
    return read


@pytest.mark.parametrize(
    ("written", "text", "left"),
    [
        ("POL-######", "pol-482113, POL-4821134, XPOL-482113", "[policy], POL-4821134, XPOL-482113"),
        ("K#{6,8}", "K123456 K12345678 K12345", "[policy] [policy] K12345"),
        ("@@## ***", "AB12 c3d and ab1 c3d", "[policy] and ab1 c3d"),
        ("Nr. #{4}/@{1,2}", "Nr. 1234/ab. Nr. 12345/ab", "[policy]. Nr. 12345/ab"),
        ("(#{3})", "(123) and 123", "[policy] and 123"),
        ("MÜ–####", "mu-1234, MÜ‑１２３４", "[policy], [policy]"),
        ("a#{2,3}b{2,3}", "a12b{2,3} a12bb", "[policy] a12bb"),
    ],
)
def test_a_template_finds_what_it_says(written: str, text: str, left: str) -> None:
    assert PiiMasker.against(KnownValues(), templates=[template("policy", written)]).mask(text).text == left


@pytest.mark.parametrize(
    ("label", "written", "reason"),
    [
        ("Policy", "POL-####", "lower-case letters"),
        ("p", "POL-####", "lower-case letters"),
        ("po--l", "POL-####", "lower-case letters"),
        ("policy-", "POL-####", "lower-case letters"),
        ("policy", "", "at least 3 digits"),
        ("policy", "@{2,20}", "at least 3 digits"),
        ("policy", "##", "at least 3 digits"),
        ("policy", "*" * 20, "at least 3 digits"),
        ("policy", " POL-####", "without spaces at its ends"),
        ("policy", "POL\n####", "single line"),
        ("policy", "A" * (TEMPLATE_CHARACTERS + 1), "at most 80 characters"),
        ("policy", "#{40}#{40}", "finds at most 64"),
        ("policy", "POL#{8,2}", "the first number is at most the second"),
        ("policy", "POL#{0}", "the second is not 0"),
        ("policy", "#{2,8}#", "write #{3,9}"),
        ("policy", "#{2,8}*{3}", "must differ"),
        ("policy", "*{2,8}###", "must differ"),
        ("policy", "*{2,8}@###", "must differ"),
        ("policy", "###@{2,8}X", "must differ"),
        ("policy", "#{2,8}7ABC", "must differ"),
    ],
)
def test_an_unusable_template_is_refused_with_its_reason(label: str, written: str, reason: str) -> None:
    read = read_template(label, written)
    assert isinstance(read, UnusableTemplate)
    assert any(reason in each for each in read.reasons)


@pytest.mark.parametrize("written", ["#{2,8}@###", "@{2,8}#7X", "#{2,8}X-#", "*{3}###", "@{2,8}-###"])
def test_what_cannot_be_taken_by_the_place_before_may_follow(written: str) -> None:
    assert template("policy", written).token == "[policy]"


@given(st.text(alphabet="#@*{},0123456789ABx-. ", max_size=40), st.text(alphabet="0123456789ABx-. ", max_size=60))
def test_whatever_is_written_it_is_read_or_refused(written: str, text: str) -> None:
    read = read_template("policy", written)
    if isinstance(read, PiiTemplate):
        PiiMasker.against(KnownValues(), templates=[read]).mask(text)


@pytest.mark.unmeasured
@pytest.mark.parametrize("hostile", ["12345678901234567890", "ab1", "A", "1 "])
def test_no_template_is_slow_on_any_text(hostile: str) -> None:
    hardest = [template("policy", "#{1,30}@{1,30}-###"), template("number", "@{1,20}#{3,20}@{1,20}")]
    seconds = []
    for characters in (32 * 1024, 64 * 1024):
        text, begun = (hostile * characters)[:characters], process_time()
        for each in hardest:
            list(each.pattern.finditer(text))
        seconds.append(process_time() - begun)
    assert seconds[1] < 3.2 * seconds[0] + 0.02


def test_a_tenants_templates_stand_each_on_a_line() -> None:
    read = read_templates("policy-number: POL-######\n\n order : K#{6,8}\n")
    assert isinstance(read, tuple)
    assert [each.label for each in read] == ["policy-number", "order"]
    assert read_templates(" \n") == ()
    masked = PiiMasker.against(KnownValues(), templates=read).mask("POL-482113 and K123456").text
    assert masked == "[policy-number] and [order]"


def test_a_line_that_is_no_template_is_refused_with_its_reasons() -> None:
    read = read_templates("policy: POL-######\nno colon\nwords: @{1,9}")
    assert isinstance(read, UnusableTemplate)
    assert any(reason.startswith("no colon: A label") for reason in read.reasons)
    assert any(reason.startswith("words: @{1,9}: A template needs at least") for reason in read.reasons)
    many = read_templates("\n".join(f"policy: P{number:02}-####" for number in range(MAX_TEMPLATES + 1)))
    assert many == UnusableTemplate((f"There are {MAX_TEMPLATES + 1} templates; {MAX_TEMPLATES} are allowed.",))
