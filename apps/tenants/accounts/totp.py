"""Time-based codes (RFC 6238) of authenticator apps: six digits, with a new code every thirty seconds."""

import base64
import secrets
from typing import Final

from cryptography.hazmat.primitives import constant_time
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

STEP_SECONDS: Final = 30
DIGITS: Final = 6
# The number of steps by which a device's clock may differ, in either direction.
DRIFT_STEPS: Final = 1
_SECRET_BYTES: Final = 20


def new_secret() -> str:
    """Create a secret of 160 random bits, as 32 letters and digits that people can type."""
    return base64.b32encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def step_of(secret: str, code: str, at_seconds: float) -> int | None:
    """Return the time step of this code if it is the current step or an adjacent one, otherwise None."""
    here = int(at_seconds // STEP_SECONDS)
    matching = None
    for step in range(here - DRIFT_STEPS, here + DRIFT_STEPS + 1):
        # Compare every step, so that the response time reveals nothing.
        if constant_time.bytes_eq(code_at(secret, step).encode(), code.encode()):
            matching = step
    return matching


def code_at(secret: str, step: int) -> str:
    """Return the code of a time step."""
    return _totp(secret).generate(step * STEP_SECONDS).decode()


def provisioning_uri(secret: str, *, account: str, issuer: str) -> str:
    """Return the URI that an authenticator app reads from a QR code."""
    return _totp(secret).get_provisioning_uri(account, issuer)


def _totp(secret: str) -> TOTP:
    # SHA-1, because authenticator apps support no other hash. Its weaknesses do not matter in an HMAC.
    return TOTP(base64.b32decode(secret), DIGITS, SHA1(), STEP_SECONDS)  # noqa: S303 - see above
