"""Transactions as an actor: PostgreSQL runs with the actor's role, and row security reads its tenant, agent and customer.

Settings are LOCAL to the transaction, so a pooled connection cannot carry them to the next client. They outlive a released
savepoint, so the code that sets them also restores the previous values.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from django.conf import settings
from django.db import connection, transaction

from apps.governance.actors import Actor, Role
from apps.governance.database import prepared_statements

# The database role of each kind of actor.
DATABASE_ROLES = {
    Role.OPERATOR: "operator",
    Role.ADMIN: "operator",
    Role.AGENT: "agent",
    Role.SYSTEM: "worker",
    Role.STAFF: "staff",
}

_current_actor: ContextVar[Actor | None] = ContextVar("acting", default=None)
_after_callbacks: ContextVar[list[Callable[[], None]] | None] = ContextVar("afterwards", default=None)


def current_actor() -> Actor | None:
    """Return the actor that the current transaction runs as, if any."""
    return _current_actor.get()


def after_transaction(call: Callable[[], None]) -> None:
    """Run `call` after the actor's outermost transaction ends, by commit or rollback; immediately if no actor is set."""
    waiting = _after_callbacks.get()
    if waiting is None:
        call()
    else:
        waiting.append(call)


@contextmanager
def acting_as(actor: Actor) -> Iterator[None]:
    """Open a transaction, or a savepoint, that can read and write only the rows that the actor may access."""
    if _current_actor.get() is not None:
        with _enter_actor(actor):
            yield
        return
    waiting: list[Callable[[], None]] = []
    token = _after_callbacks.set(waiting)
    try:
        with _enter_actor(actor):
            yield
    finally:
        _after_callbacks.reset(token)
        for call in waiting:
            call()


@contextmanager
def _enter_actor(actor: Actor) -> Iterator[None]:
    before = _current_actor.get()
    if before == actor and connection.in_atomic_block:
        with transaction.atomic():
            yield
        return
    nested = connection.in_atomic_block
    with transaction.atomic():
        _set_actor_settings(actor)
        if actor.via_agent_id is not None:
            _set_read_only()
        token = _current_actor.set(actor)
        try:
            yield
        finally:
            _current_actor.reset(token)
        # After an exception, the rollback to the savepoint has already restored the settings.
        if nested and not connection.needs_rollback:
            _set_actor_settings(before)


@contextmanager
def outside_tenant() -> Iterator[None]:
    """Clear the actor, to reach rows that belong to no tenant (users, passwords, login sessions), and restore it afterwards."""
    before = _current_actor.get()
    with transaction.atomic():
        _set_actor_settings(None)
        token = _current_actor.set(None)
        try:
            yield
        finally:
            _current_actor.reset(token)
        if not connection.needs_rollback:
            _set_actor_settings(before)


def execute_as(
    actor: Actor, sql: str, params: Mapping[str, Any], *, alone: str = ""
) -> list[tuple[Any, ...]]:  # Any: columns of a row
    """Run one statement as this actor and return its rows, in the open transaction, or in a new one with a single round trip.

    Several statements in one message are one transaction, and PostgreSQL plans each of them after the previous one has run. The
    SQL statement therefore runs with the role and settings that the first statement of the message sets, which end with the
    transaction. Calls with the same name in `alone` run one after the other, and each sees the rows that the previous call wrote.
    """
    with connection.cursor() as cursor:
        if connection.in_atomic_block:
            with acting_as(actor):
                if alone:
                    lock_name(alone)
                cursor.execute(sql, params)
                return list(cursor.fetchall())
        before = ", ".join((_SET_ACTOR_SETTINGS, _FORCE_GENERIC_PLAN, *((_LOCK_NAME,) if alone else ())))
        prepared_statements.call_prepared(cursor, before, sql, {**params, **_actor_settings(actor), "held_name": alone})
        return list(cursor.fetchall())


def lock_name(name: str) -> None:
    """Take the advisory lock with this name until the transaction ends, waiting for any other transaction that holds it."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {_LOCK_NAME}", {"held_name": name})


_LOCK_NAME: Final = "pg_advisory_xact_lock(hashtextextended(%(held_name)s, 0))"
# Keeps one plan of a prepared statement for all arguments, so that it is not planned again at each call.
_FORCE_GENERIC_PLAN: Final = "set_config('plan_cache_mode', 'force_generic_plan', true)"
_SET_ACTOR_SETTINGS: Final = (
    "SELECT set_config('role', %(as_role)s, true), set_config('app.tenant', %(as_tenant)s, true),"
    " set_config('app.agent', %(as_agent)s, true), set_config('app.customer', %(as_customer)s, true),"
    " set_config('app.member', %(as_member)s, true)"
)


def _set_actor_settings(actor: Actor | None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_SET_ACTOR_SETTINGS, _actor_settings(actor))


def _set_read_only() -> None:
    """Make the transaction read-only until it or the savepoint ends. PostgreSQL does not allow lifting this earlier."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL transaction_read_only = on")


def _actor_settings(actor: Actor | None) -> dict[str, str]:
    if actor is None:
        return {"as_role": "none", "as_tenant": "", "as_agent": "", "as_customer": "", "as_member": ""}
    return {
        "as_role": f"{settings.DATABASE_ROLE_PREFIX}_{DATABASE_ROLES[actor.role]}",
        "as_tenant": str(actor.tenant_id),
        "as_agent": str(actor.agent_id or ""),
        "as_customer": _customer_setting(actor),
        "as_member": str(actor.talks_as or ""),
    }


def _customer_setting(actor: Actor) -> str:
    # A turn without a named customer differs from no turn at all. A sign in front of the key distinguishes them, and tells
    # whether the customer's identity is proven (see app_customer() and app_customer_is_proven()).
    if actor.customer_key is None:
        return ""
    return f"{'=' if actor.customer_is_proven else '~'}{actor.customer_key}"


def tenant_id_of_key(key: str) -> int | None:
    """Return the id of the tenant with this key, or None.

    Row security shows only the row with that key, so nobody can list tenants.
    """
    before = _current_actor.get()
    with transaction.atomic(), connection.cursor() as cursor:
        worker = f"{settings.DATABASE_ROLE_PREFIX}_worker"
        cursor.execute("SELECT set_config('role', %s, true), set_config('app.tenant_key', %s, true)", [worker, key])
        cursor.execute("SELECT id FROM tenants_tenant WHERE key = %s", [key])
        row = cursor.fetchone()
        cursor.execute("SELECT set_config('app.tenant_key', '', true)")
        _set_actor_settings(before)
    return int(row[0]) if row else None
