"""Resolves a token or a login to an Actor. Until the tenant is known, only SECURITY DEFINER functions read across tenants."""

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from django.db import connection
from django.db.models import QuerySet

from apps.governance.actors import Actor, RateLimits, Role
from apps.governance.database.actor_transaction import acting_as, outside_tenant, tenant_id_of_key
from apps.governance.database.sql_files import load_query
from apps.governance.policy.policy_table import Act, codename, default_grants
from apps.tenants.models import User

# The levels of grants. Each level replaces the previous one; a limit narrows the result.
TEMPLATE: Final = "template"
TENANT: Final = "tenant"
AGENT: Final = "agent"
LIMIT: Final = "limit"
# The tenant's rate limits, which are read together with the grants but are not a grant.
RATE_LIMITS: Final = "pace"
GRANT_ORIGINS: Final = {
    "at_template": TEMPLATE,
    "at_tenant": TENANT,
    "at_agent": AGENT,
    "at_limit": LIMIT,
    "at_pace": RATE_LIMITS,
}
# An id that no agent has.
ALL_AGENTS: Final = 0
# The number of grant sets that are shared between actors. A tenant rarely has more than one per role.
GRANT_SETS_CACHED: Final = 512

# A row of the statements below: the level, the agent, and the names. A row of rate limits has two numbers (or
# nulls) instead of names.
GrantRow = tuple[str, int | None, Collection[Any]]  # Any: names, or numbers for rate limits

_READ_AGENT_GRANTS: Final = load_query("apps/tenants/authentication/queries/read_agent_grants.sql")
_READ_MEMBER_GRANTS: Final = load_query("apps/tenants/authentication/queries/read_member_grants.sql")
# The grants of the agent that a token belongs to, read before any tenant is known.
AGENT_BY_DIGEST: Final = (
    "SELECT tenant_id, agent_id, user_id, agent_key, permissions, requests_per_minute, requests_per_minute_of_tenant"
    " FROM resolve_agent_token(%s)"
)


def token_digest(token: str) -> str:
    """Return the digest under which a token is stored. A token has 256 random bits, so no slow hash is needed."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def agent_of_token(token: str) -> Actor | None:
    """Return the actor of a bearer token; None if the token is unknown, revoked or expired."""
    with connection.cursor() as cursor:
        cursor.execute(AGENT_BY_DIGEST, [token_digest(token)])
        row = cursor.fetchone()
    if row is None:
        return None
    return replace(
        _agent_without_grants(*row[:4]), grants=interned_grants(frozenset(row[4])), pace=RateLimits(*row[5:])
    )


def agent_actor(tenant_id: int, agent_id: int, user_id: int, agent_key: str) -> Actor:
    """Return the actor of an agent, with its grants."""
    return _read_grants(_agent_without_grants(tenant_id, agent_id, user_id, agent_key))


def agent_with_grants(
    tenant_id: int, agent_id: int, user_id: int, agent_key: str, grant_rows: Iterable[GrantRow]
) -> Actor:
    """Return the actor of an agent, with grants that `role_grants.sql` has already read."""
    return _apply_grants(_agent_without_grants(tenant_id, agent_id, user_id, agent_key), grant_rows)


def _agent_without_grants(tenant_id: int, agent_id: int, user_id: int, agent_key: str) -> Actor:
    return Actor(tenant_id, Role.AGENT, frozenset(), f"agent:{agent_key}", user_id=user_id, agent_id=agent_id)


def memberships_of(user_id: int) -> list[tuple[int, Role]]:
    """Return the person's tenants and the role in each, oldest membership first."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tenant_id, role FROM list_memberships(%s)", [user_id])
        return [(tenant_id, Role(role)) for tenant_id, role in cursor.fetchall()]


def member_via_assistant(user_id: int, tenant_id: int, *, agent_id: int, agent_label: str) -> Actor | None:
    """Return the actor of a member whose assistant looks things up for them; None if they are no longer a member (R129)."""
    with outside_tenant():
        roles = dict(memberships_of(user_id))
    if tenant_id not in roles:
        return None
    return person_actor(user_id, tenant_id, roles[tenant_id]).via(agent_id, agent_label)


def person_actor(user_id: int, tenant_id: int, role: Role) -> Actor:
    """Return the actor of a signed-in member."""
    bare = Actor(tenant_id, role, frozenset(), f"operator:{user_id}", user_id=user_id)
    return _read_grants(bare)


def staff_actor(user_id: int, tenant_id: int) -> Actor:
    """Return the actor of platform staff in a tenant; `tenants.accounts.staff_access` decides whether they may enter."""
    bare = Actor(tenant_id, Role.STAFF, frozenset(), f"staff:{user_id}", user_id=user_id)
    return _read_grants(bare)


def system_actor(tenant_id: int, label: str = "system") -> Actor:
    """Return the actor of a worker or command in a tenant. It cannot approve anything, because the policy does not permit it."""
    return Actor(tenant_id, Role.SYSTEM, default_grants(Role.SYSTEM), label)


def new_tenant_actor() -> Actor:
    """Return the system's actor for a tenant that does not exist yet, with a reserved id. `create_tenant` creates its row."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval(pg_get_serial_sequence('tenants_tenant', 'id'))")
        return system_actor(int(cursor.fetchone()[0]))


def system_actor_of_tenant(key: str) -> Actor | None:
    """Return the system's actor in the tenant with this key; None if there is no such tenant."""
    tenant_id = tenant_id_of_key(key)
    return system_actor(tenant_id) if tenant_id else None


def people_by_username(username: str) -> QuerySet[User]:
    """Return the person with this user name, ignoring case, as a queryset. Service users of agents are left out."""
    return User.objects.filter(username__iexact=username, is_service=False)


def member_by_username(username: str, tenant_id: int) -> Actor | None:
    """Return the actor of an active person in this tenant; None if they are not a member."""
    user = people_by_username(username).filter(is_active=True).first()
    if user is None:
        return None
    roles = dict(memberships_of(user.pk))
    return person_actor(user.pk, tenant_id, roles[tenant_id]) if tenant_id in roles else None


def _read_grants(bare: Actor) -> Actor:
    """Return the actor with all its grants, which one statement reads."""
    # Only people have limits, and only people's roles may read them. An agent's rate limits are read with its token.
    statement = _READ_AGENT_GRANTS if bare.agent_id is not None else _READ_MEMBER_GRANTS
    with acting_as(bare), connection.cursor() as cursor:
        who = {"role": bare.role.value, "tenant": bare.tenant_id, "user": bare.user_id}
        cursor.execute(statement, {**GRANT_ORIGINS, **who})
        rows = cursor.fetchall()
    return _apply_grants(bare, rows)


@lru_cache(GRANT_SETS_CACHED)
def interned_grants(granted: frozenset[str]) -> frozenset[str]:
    """Return one shared set for equal grants, because thousands of waiting turns each hold a hundred names."""
    return granted


def _apply_grants(bare: Actor, grant_rows: Iterable[GrantRow]) -> Actor:
    names: dict[str, dict[int, frozenset[str]]] = {origin: {} for origin in (TEMPLATE, TENANT, AGENT)}
    limits: dict[str, set[int]] = {}
    pace = RateLimits()
    for origin, agent_id, granted in grant_rows:
        if origin == RATE_LIMITS:
            pace = RateLimits(*(None if each is None else int(each) for each in granted))
        elif origin == LIMIT:
            limits.setdefault(next(iter(granted)), set()).update(() if agent_id is None else (agent_id,))
        else:
            names[origin][agent_id or ALL_AGENTS] = interned_grants(frozenset(granted))
    general = names[TENANT] or names[TEMPLATE]
    if bare.agent_id in names[AGENT]:
        # An agent writes with its own grants everywhere, even customer profiles, which belong to the whole tenant.
        return replace(bare, grants=names[AGENT][bare.agent_id])
    return replace(
        bare,
        grants=general.get(ALL_AGENTS, frozenset()),
        by_agent=tuple(sorted(names[AGENT].items())),
        pace=pace,
        limits=tuple((codename(Act(act)), frozenset(agent_ids)) for act, agent_ids in sorted(limits.items())),
    )
