"""Codes by the clock (RFC 6238), as authenticator apps make them: six digits, a new one every thirty seconds."""

import base64
import secrets
from typing import Final

from cryptography.hazmat.primitives import constant_time
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

STEP_SECONDS: Final = 30
DIGITS: Final = 6
# A phone's clock may be one step off, either way.
DRIFT_STEPS: Final = 1
_SECRET_BYTES: Final = 20


def new_secret() -> str:
    """160 random bits as people can type them: 32 letters and digits."""
    return base64.b32encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def step_of(secret: str, code: str, at_seconds: float) -> int | None:
    """The step of the clock to which this code belongs, now or next to now; None where it is none of them."""
    here = int(at_seconds // STEP_SECONDS)
    matching = None
    for step in range(here - DRIFT_STEPS, here + DRIFT_STEPS + 1):
        # Every step is compared, so that the time an answer takes tells nothing.
        if constant_time.bytes_eq(code_at(secret, step).encode(), code.encode()):
            matching = step
    return matching


def code_at(secret: str, step: int) -> str:
    """The code of a step of the clock."""
    return _totp(secret).generate(step * STEP_SECONDS).decode()


def provisioning_uri(secret: str, *, account: str, issuer: str) -> str:
    """What an authenticator app reads from a picture."""
    return _totp(secret).get_provisioning_uri(account, issuer)


def _totp(secret: str) -> TOTP:
    # The apps know no other hash; its flaws are none where it is keyed.
    return TOTP(base64.b32decode(secret), DIGITS, SHA1(), STEP_SECONDS)  # noqa: S303 - see above
