"""A simulated authenticator app of a person."""

import time
from dataclasses import dataclass

from apps.tenants.accounts.second_factor import enrol
from apps.tenants.accounts.totp import STEP_SECONDS, code_at, new_secret
from apps.tenants.models import User


@dataclass(frozen=True)
class Device:
    """The secret in the device, and the recovery codes that were printed once."""

    secret: str
    recovery: list[str]

    def code(self, later: int = 0) -> str:
        """Return the present code, or the one so many steps later."""
        return code_at(self.secret, int(time.time()) // STEP_SECONDS + later)


def with_device(user: User) -> Device:
    """Return the device of a person who set up a second factor long ago."""
    secret = new_secret()
    return Device(secret, enrol(user, secret, code_at(secret, 1), address="192.0.2.1", clock=lambda: STEP_SECONDS))
