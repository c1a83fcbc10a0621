"""Rules for values of tenants. Pure functions."""

import hmac
from functools import cache
from hashlib import sha256
from typing import Final
from zoneinfo import available_timezones

# The highest limit of model calls in a turn that an agent's setting or a single message can set.
MOST_STEPS: Final = 40
TIME_ZONE_RULE: Final = "Write it as region and city, such as Europe/Madrid, or UTC."


def is_time_zone(name: str) -> bool:
    """Whether the time zone database has exactly this name."""
    return name in time_zones()


@cache
def time_zones() -> frozenset[str]:
    """Return all time zone names. They are read only once, because they are in six hundred files."""
    return frozenset(available_timezones())


PROOF_KEY_CHARACTERS: Final = (32, 500)


def key_flaw(key: str) -> str:
    """Return why a text cannot be a signing key; empty if it can."""
    shortest, longest = PROOF_KEY_CHARACTERS
    if not shortest <= len(key) <= longest or not key.isascii() or not key.isprintable() or " " in key:
        return f"This is not a valid key. A key has {shortest} to {longest} random visible ASCII characters without spaces."
    return ""


def signature_of(key: str, end_user_key: str) -> str:
    """Return the signature for a customer's key, which the tenant's server sends with it."""
    return hmac.new(key.encode(), end_user_key.encode(), sha256).hexdigest()


def is_signature_of(key: str, end_user_key: str, user_hash: str) -> bool:
    """Whether this is the signature of the customer's key under the signing key. The comparison takes constant time."""
    return hmac.compare_digest(signature_of(key, end_user_key).encode(), user_hash.encode())
