"""A check for combinations of roles that the database should make impossible (R016)."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error
from django.db import Error as DatabaseRefusal
from django.db import close_old_connections, connections

logger = logging.getLogger(__name__)

_VIOLATION_MESSAGES: Final[Mapping[str, tuple[str, str, str]]] = {
    "powerful-service-user": (
        "preceptor.E001",
        "Agent user {} is staff or superuser.",
        "Remove both flags; an agent needs neither.",
    ),
    "token-of-a-person": (
        "preceptor.E002",
        "An agent acts as the person {}, so its tokens are that person's.",
        "Revoke the agent's tokens, and make another agent: it gets a service user of its own.",
    ),
    "service-user-as-member": (
        "preceptor.E003",
        "Agent user {} is a member of a tenant.",
        "Remove the membership; agents authenticate with tokens.",
    ),
    "mixed-groups": (
        "preceptor.E004",
        "User {} is in groups whose roles exclude each other.",
        "Keep an agent's user only in the group agent, and a person in at most one of operator, admin or staff.",
    ),
}


def check_role_separation(  # Django calls this function with this signature.
    app_configs: Sequence[AppConfig] | None,  # noqa: ARG001
    databases: Sequence[str] | None = None,
    **kwargs: Any,  # noqa: ARG001
) -> list[CheckMessage]:
    """Report every user with a forbidden combination of roles. Runs with `check --database default`."""
    if "default" not in (databases or ()):
        return []
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT to_regprocedure('list_role_violations()') IS NOT NULL")
        if not cursor.fetchone()[0]:
            return []
        cursor.execute("SELECT username, violation FROM list_role_violations() ORDER BY username, violation")
        return [_check_message(str(username), str(breach)) for username, breach in cursor.fetchall()]


def log_role_violations() -> None:
    """Log forbidden combinations of roles when a process starts, one line each. They do not prevent the start."""
    try:
        for found in check_role_separation(None, databases=["default"]):
            logger.warning("%s: %s %s", found.id, found.msg, found.hint)
    except DatabaseRefusal as refusal:
        reason = " ".join(str(refusal).split())
        logger.warning("Role separation was not checked: the database did not answer. %s", reason)
    finally:
        close_old_connections()


def _check_message(username: str, breach: str) -> CheckMessage:
    number, message, advice = _VIOLATION_MESSAGES[breach]
    return Error(message.format(username), hint=advice, id=number)
