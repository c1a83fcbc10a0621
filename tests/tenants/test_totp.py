"""Codes by the clock: those of the standard's own examples, and how far a clock may be off."""

import base64
from urllib.parse import parse_qs, urlsplit

import pytest

from apps.tenants.accounts.totp import STEP_SECONDS, code_at, new_secret, provisioning_uri, step_of

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

# RFC 6238, appendix B, the last six of its eight digits.
RFC_SECRET = base64.b32encode(b"12345678901234567890").decode()
RFC_CODES = [
    (59, "287082"),
    (1_111_111_109, "081804"),
    (1_111_111_111, "050471"),
    (1_234_567_890, "005924"),
    (2_000_000_000, "279037"),
    (20_000_000_000, "353130"),
]


@pytest.mark.parametrize(("at", "code"), RFC_CODES)
def test_codes_are_those_of_the_standard(at: int, code: str) -> None:
    assert step_of(RFC_SECRET, code, at) == at // STEP_SECONDS


def test_a_clock_may_be_one_step_off_and_no_more() -> None:
    taken = [
        off for off in range(-4, 5) if step_of(RFC_SECRET, code_at(RFC_SECRET, 1000 + off), 1000 * STEP_SECONDS + 7)
    ]
    assert taken == [-1, 0, 1]


@pytest.mark.parametrize(
    "typed", ["", "28708", "2870820", "287083", "ünlich", "".join(chr(0xFF10 + int(digit)) for digit in "287082")]
)
def test_nothing_else_is_a_code(typed: str) -> None:
    assert step_of(RFC_SECRET, typed, 59) is None


def test_an_app_reads_what_it_needs() -> None:
    secret = new_secret()
    assert len(secret) == 32
    assert secret != new_secret()
    address = urlsplit(provisioning_uri(secret, account="mia@example.org", issuer="Preceptor"))
    assert (address.scheme, address.netloc, address.path) == ("otpauth", "totp", "/Preceptor:mia%40example.org")
    parameters = {name: value for name, [value] in parse_qs(address.query).items()}
    assert parameters == {"secret": secret, "issuer": "Preceptor", "digits": "6", "algorithm": "SHA1", "period": "30"}
