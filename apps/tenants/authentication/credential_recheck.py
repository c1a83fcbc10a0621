"""Checks whether the holders of open streams still have access, for many at once, with one statement per kind of credential."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from django.db import connection

# A token that this does not return is revoked or expired, or its agent no longer exists.
_TOKENS: Final = """
SELECT digest FROM unnest(%s::text[]) AS digest
 WHERE EXISTS (SELECT FROM resolve_agent_token(digest))
"""
# A session that this does not return has ended, or its person may no longer sign in.
_SESSIONS: Final = """
SELECT session.session_key, session.user_id FROM tenants_browsersession AS session
  JOIN tenants_user AS person ON person.id = session.user_id AND person.is_active
 WHERE session.session_key = ANY(%s) AND session.expire_date > now()
"""
_MEMBERS: Final = """
SELECT member.user_id, place.tenant_id, place.role
  FROM unnest(%s::bigint[]) AS member (user_id) CROSS JOIN LATERAL list_memberships(member.user_id) AS place
"""


@dataclass(frozen=True, slots=True)
class HeldCredential:
    """The credential of an open stream: the digest of an agent's token, or a member's browser session."""

    tenant_id: int
    role: str
    token_sha256: str = ""
    session_key: str = ""
    user_id: int | None = None


def still_valid(asked: Collection[HeldCredential]) -> frozenset[HeldCredential]:
    """Return the credentials that are still valid."""
    tokens = _first_column(_TOKENS, {each.token_sha256 for each in asked if each.token_sha256})
    sessions = _rows(_SESSIONS, {each.session_key for each in asked if each.session_key})
    members = _rows(_MEMBERS, {each.user_id for each in asked if each.session_key and each.user_id is not None})
    return frozenset(
        each
        for each in asked
        if (
            each.token_sha256 in tokens
            if each.token_sha256
            else (each.session_key, each.user_id) in sessions and (each.user_id, each.tenant_id, each.role) in members
        )
    )


def _first_column(statement: str, given: Collection[object]) -> set[object]:
    return {row[0] for row in _rows(statement, given)}


def _rows(statement: str, given: Collection[object]) -> set[tuple[object, ...]]:
    if not given:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(statement, [list(given)])
        return set(cursor.fetchall())
