"""The second wall: while an actor acts, PostgreSQL itself runs as that actor's role, tenant, agent and customer.

Settings are LOCAL to the transaction, so a pooled connection cannot carry them to the next client. They outlive the release
of a savepoint, therefore whoever sets them restores what stood before.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from django.conf import settings
from django.db import connection, transaction

from apps.governance.actors import Actor, Role
from apps.governance.database import prepared_statements

# Which of the database's roles each kind of actor runs as.
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
    """The actor whose role the present transaction runs as, if any."""
    return _current_actor.get()


def after_transaction(call: Callable[[], None]) -> None:
    """Have something done once the transaction of whoever acts has ended, whether it stands or not; at once if nobody acts."""
    waiting = _after_callbacks.get()
    if waiting is None:
        call()
    else:
        waiting.append(call)


@contextmanager
def acting_as(actor: Actor) -> Iterator[None]:
    """Open a transaction, or a savepoint, that sees and may write what this actor may and nothing else."""
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
        # After an exception the rolled back savepoint has already taken the settings with it.
        if nested and not connection.needs_rollback:
            _set_actor_settings(before)


@contextmanager
def outside_tenant() -> Iterator[None]:
    """Step out of the tenant for what belongs to none: people, their passwords and sessions. Then act again as before."""
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
    """Run one statement as this actor in a transaction of its own and one round trip; in a transaction, as a part of it.

    Statements sent as one message are one transaction, each planned after the one before it, so the second runs under the
    role and the settings of the first, which end with it. Those that are `alone` under the same name come one after the
    other, and each sees what the one before it left.
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
    """Take the advisory lock of this name until the transaction ends; wait while another transaction has it."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {_LOCK_NAME}", {"held_name": name})


_LOCK_NAME: Final = "pg_advisory_xact_lock(hashtextextended(%(held_name)s, 0))"
# Whatever the arguments: a statement that is called by name is not planned for each of them.
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
    """Until the transaction or savepoint ends. PostgreSQL refuses every write, and refuses to take this back."""
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
    # A turn with nobody named is not the same as no turn: the sign before the key tells them apart, and whether somebody has
    # proven to be who is named (see app_customer() and app_customer_is_proven()).
    if actor.customer_key is None:
        return ""
    return f"{'=' if actor.customer_is_proven else '~'}{actor.customer_key}"


def tenant_id_of_key(key: str) -> int | None:
    """The id of the tenant a command names. Whoever knows the key sees that one row; nobody can list the others."""
    before = _current_actor.get()
    with transaction.atomic(), connection.cursor() as cursor:
        worker = f"{settings.DATABASE_ROLE_PREFIX}_worker"
        cursor.execute("SELECT set_config('role', %s, true), set_config('app.tenant_key', %s, true)", [worker, key])
        cursor.execute("SELECT id FROM tenants_tenant WHERE key = %s", [key])
        row = cursor.fetchone()
        cursor.execute("SELECT set_config('app.tenant_key', '', true)")
        _set_actor_settings(before)
    return int(row[0]) if row else None
