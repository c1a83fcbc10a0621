"""What a tenant's values must be, sayable without a database."""

import hmac
from functools import cache
from hashlib import sha256
from typing import Final
from zoneinfo import available_timezones

# How often a turn may ask the model, whoever says so: an agent's own number, or a message's.
MOST_STEPS: Final = 40
TIME_ZONE_RULE: Final = "Write it as region and city, such as Europe/Madrid, or UTC."


def is_time_zone(name: str) -> bool:
    """A name of the time zone database, spelled as it is there."""
    return name in time_zones()


@cache
def time_zones() -> frozenset[str]:
    """All their names, read once: they are a folder of six hundred files."""
    return frozenset(available_timezones())


PROOF_KEY_CHARACTERS: Final = (32, 500)


def key_flaw(key: str) -> str:
    """Why this cannot be a key for signatures; empty if it can."""
    shortest, longest = PROOF_KEY_CHARACTERS
    if not shortest <= len(key) <= longest or not key.isascii() or not key.isprintable() or " " in key:
        return (
            f"This is no key: it is {shortest} to {longest} visible ASCII characters without spaces, drawn at random."
        )
    return ""


def signature_of(key: str, end_user_key: str) -> str:
    """What the tenant's server sends beside the name of its customer."""
    return hmac.new(key.encode(), end_user_key.encode(), sha256).hexdigest()


def is_signature_of(key: str, end_user_key: str, user_hash: str) -> bool:
    """Whether the signature is of this customer by this key; the comparison takes as long whatever differs."""
    return hmac.compare_digest(signature_of(key, end_user_key).encode(), user_hash.encode())
