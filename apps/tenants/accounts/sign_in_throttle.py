"""Limits of sign-in attempts. An attempt is counted before the password is checked, so that many parallel attempts gain nothing.

A successful attempt is uncounted, and an address is forgiven a number of failures per hour. A wait is at most `LONGEST_SECONDS`,
and a one-time login link works meanwhile: somebody who keeps typing a colleague's name blocks the colleague's password but not
their work. Unknown names are counted too, so that a response does not reveal which names exist.
"""

from ipaddress import IPv6Address, ip_address, ip_network
from math import ceil
from typing import Final

from django.db import connection
from django.utils.crypto import salted_hmac

from apps.governance.database.sql_files import load_query

# The number of failures before the next attempt has to wait. A whole office may share one address.
ATTEMPTS_PER_NAME: Final = 5
ATTEMPTS_PER_ADDRESS: Final = 100
FIRST_SECONDS: Final = 30
LONGEST_SECONDS: Final = 900
# The number of failures per hour that an address is forgiven, since people in an office mistype every day.
ATTEMPTS_FORGIVEN_HOURLY: Final = ATTEMPTS_PER_ADDRESS
# After this time without attempts, the count restarts and the row is deleted.
RETENTION_HOURS: Final = 24
# A client with one IPv6 address of a network can use all of them, so the network is counted as one address.
_V6_NETWORK: Final = 64

_COUNT_ATTEMPT: Final = load_query("apps/tenants/accounts/queries/count_sign_in_attempt.sql")
_SECONDS_LEFT: Final = """
SELECT extract(epoch FROM refused_until - statement_timestamp()) FROM tenants_signinattempts WHERE subject = %s
"""
# Clears the wait of the address too. This attempt was checked, so the address did not have to wait before it.
_UNCOUNT_ATTEMPT: Final = """
UPDATE tenants_signinattempts SET attempts = greatest(attempts - 1, 0), refused_until = statement_timestamp() WHERE subject = %s
"""
_DELETE_ATTEMPTS: Final = "DELETE FROM tenants_signinattempts WHERE subject = %s"
_DELETE_EXPIRED: Final = """
DELETE FROM tenants_signinattempts WHERE subject IN (
    SELECT subject FROM tenants_signinattempts WHERE last_attempt_at < statement_timestamp() - interval '1 hour' * %s
       FOR UPDATE SKIP LOCKED)
"""


def throttle_seconds(name: str, address: str = "") -> int:
    """Count an attempt, and return the seconds to wait; 0 if the attempt may be checked now.

    An attempt from an address that must wait does not count against the name.
    """
    with connection.cursor() as cursor:
        cursor.execute(_DELETE_EXPIRED, [RETENTION_HOURS])
    if address and (
        seconds := _count_attempt(_address_subject(address), ATTEMPTS_PER_ADDRESS, ATTEMPTS_FORGIVEN_HOURLY)
    ):
        return seconds
    return _count_attempt(_name_subject(name), ATTEMPTS_PER_NAME)


def clear_sign_in_attempts(name: str, address: str = "") -> None:
    """Clear the count of the name, and uncount this attempt for the address."""
    with connection.cursor() as cursor:
        if address:
            cursor.execute(_UNCOUNT_ATTEMPT, [_address_subject(address)])
        cursor.execute(_DELETE_ATTEMPTS, [_name_subject(name)])


def code_throttle_seconds(user_id: int) -> int:
    """Count an attempt to enter a second factor's code, per person and not per address, and return the seconds to wait."""
    return _count_attempt(_code_subject(user_id), ATTEMPTS_PER_NAME)


def clear_code_attempts(user_id: int) -> None:
    """Clear the count of this person's code attempts."""
    with connection.cursor() as cursor:
        cursor.execute(_DELETE_ATTEMPTS, [_code_subject(user_id)])


def _count_attempt(subject: str, allowed: int, forgiven_an_hour: int = 0) -> int:
    bounds = {"allowed": allowed, "first": FIRST_SECONDS, "longest": LONGEST_SECONDS, "forgotten": RETENTION_HOURS}
    bounds["forgiven"] = forgiven_an_hour
    with connection.cursor() as cursor:
        cursor.execute(_COUNT_ATTEMPT, {"subject": subject, **bounds})
        if cursor.fetchone() is not None:
            return 0
        cursor.execute(_SECONDS_LEFT, [subject])
        row = cursor.fetchone()
    return max(ceil(row[0]), 1) if row else 0


def _name_subject(name: str) -> str:
    return _hash_subject(f"name:{name.strip().casefold()}")


def _code_subject(user_id: int) -> str:
    return _hash_subject(f"code:{user_id}")


def _address_subject(address: str) -> str:
    try:
        found = ip_address(address)
    except ValueError:
        return _hash_subject(f"address:{address}")
    if isinstance(found, IPv6Address):
        return _hash_subject(f"address:{found.ipv4_mapped or ip_network((found, _V6_NETWORK), strict=False)}")
    return _hash_subject(f"address:{found}")


def _hash_subject(subject: str) -> str:
    return salted_hmac("apps.tenants.accounts.sign_in_throttle", subject, algorithm="sha256").hexdigest()
