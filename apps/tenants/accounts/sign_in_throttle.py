"""Attempts to sign in: counted before a password is looked at, so that many at once are no way around.

An attempt that succeeds is taken back, and what an address failed at drains within the hour. Nobody is kept out for longer than
`LONGEST_SECONDS` at a time, and a one-time login link works all the while, so that whoever types a colleague's name again and
again keeps them from their password, not from their work. A person's name need not exist to be counted: an answer tells nobody
which do.
"""

from ipaddress import IPv6Address, ip_address, ip_network
from math import ceil
from typing import Final

from django.db import connection
from django.utils.crypto import salted_hmac

from apps.governance.database.sql_files import load_query

# So many may fail before the next one has to wait; behind one address may sit a whole office.
ATTEMPTS_PER_NAME: Final = 5
ATTEMPTS_PER_ADDRESS: Final = 100
FIRST_SECONDS: Final = 30
LONGEST_SECONDS: Final = 900
# Of an address so many are forgiven an hour: an office mistypes every day.
ATTEMPTS_FORGIVEN_HOURLY: Final = ATTEMPTS_PER_ADDRESS
# A name or an address that was left alone for so long begins anew, and its row goes.
RETENTION_HOURS: Final = 24
# Whoever has one IPv6 address of a network has all of them.
_V6_NETWORK: Final = 64

_COUNT_ATTEMPT: Final = load_query("apps/tenants/accounts/queries/count_sign_in_attempt.sql")
_SECONDS_LEFT: Final = """
SELECT extract(epoch FROM refused_until - statement_timestamp()) FROM tenants_signinattempts WHERE subject = %s
"""
# Its own wait goes with it: while one waited for somebody else's, it would not have been looked at.
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
    """Count an attempt; how long to wait before the next one is looked at, 0 where this one is.

    An address that has to wait counts against nobody's name.
    """
    with connection.cursor() as cursor:
        cursor.execute(_DELETE_EXPIRED, [RETENTION_HOURS])
    if address and (
        seconds := _count_attempt(_address_subject(address), ATTEMPTS_PER_ADDRESS, ATTEMPTS_FORGIVEN_HOURLY)
    ):
        return seconds
    return _count_attempt(_name_subject(name), ATTEMPTS_PER_NAME)


def clear_sign_in_attempts(name: str, address: str = "") -> None:
    """Forget what was counted of the name, and this attempt of the address."""
    with connection.cursor() as cursor:
        if address:
            cursor.execute(_UNCOUNT_ATTEMPT, [_address_subject(address)])
        cursor.execute(_DELETE_ATTEMPTS, [_name_subject(name)])


def code_throttle_seconds(user_id: int) -> int:
    """The same of a person's codes, who has shown a password or a link by then: five, whatever their address."""
    return _count_attempt(_code_subject(user_id), ATTEMPTS_PER_NAME)


def clear_code_attempts(user_id: int) -> None:
    """Forget what was counted of this person's codes."""
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
