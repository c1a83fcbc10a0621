"""How a token or a login becomes an Actor. Before a tenant is known, only the definer functions cross the wall."""

import hashlib

from django.db import connection
from django.db.models import Value

from apps.governance.acting import acting, tenant_id_named
from apps.governance.actors import Actor, Role
from apps.governance.policy import default_grants
from apps.tenants.models import RoleTemplateGroupObjectPermission, TenantGroupObjectPermission, User


def token_digest(token: str) -> str:
    """What is stored of a token. 256 random bits need no slow hash."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def agent_of_token(token: str) -> Actor | None:
    """The agent behind a bearer token, or None if it is unknown, revoked or expired."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tenant_id, agent_id, user_id, agent_key FROM resolve_token(%s)", [token_digest(token)])
        row = cursor.fetchone()
    return agent_actor(*row) if row else None


def agent_actor(tenant_id: int, agent_id: int, user_id: int, agent_key: str) -> Actor:
    """The actor of an agent, with its grants."""
    bare = Actor(tenant_id, Role.AGENT, frozenset(), f"agent:{agent_key}", user_id=user_id, agent_id=agent_id)
    return _with_grants(bare)


def memberships_of(user_id: int) -> list[tuple[int, Role]]:
    """The tenants a person belongs to, with the role in each, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tenant_id, role FROM memberships_of(%s)", [user_id])
        return [(tenant_id, Role(role)) for tenant_id, role in cursor.fetchall()]


def person_actor(user_id: int, tenant_id: int, role: Role) -> Actor:
    """The actor of a signed-in member."""
    bare = Actor(tenant_id, role, frozenset(), f"operator:{user_id}", user_id=user_id)
    return _with_grants(bare)


def system_actor(tenant_id: int, label: str = "system") -> Actor:
    """A worker or command acting for a tenant. It approves nothing: the policy gives it no such act."""
    return Actor(tenant_id, Role.SYSTEM, default_grants(Role.SYSTEM), label)


def new_tenant_actor() -> Actor:
    """The system, acting for a tenant that `create_tenant` is about to make: its id is drawn, its row not yet there."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval(pg_get_serial_sequence('tenants_tenant', 'id'))")
        return system_actor(int(cursor.fetchone()[0]))


def tenant_named(key: str) -> Actor | None:
    """The system, acting for the tenant of this key; None if there is none."""
    tenant_id = tenant_id_named(key)
    return system_actor(tenant_id) if tenant_id else None


def member_named(username: str, tenant_id: int) -> Actor | None:
    """A person by user name, acting for a tenant they are an active member of."""
    user = User.objects.filter(username=username, is_active=True, is_service=False).first()
    if user is None:
        return None
    roles = dict(memberships_of(user.pk))
    return person_actor(user.pk, tenant_id, roles[tenant_id]) if tenant_id in roles else None


def _with_grants(bare: Actor) -> Actor:
    with acting(bare):
        own = TenantGroupObjectPermission.objects.filter(group__name=bare.role.value, content_object_id=bare.tenant_id)
        template = RoleTemplateGroupObjectPermission.objects.filter(
            group__name=bare.role.value, content_object__role=bare.role.value
        )
        rows = list(
            own.values_list("permission__codename", Value(value=True)).union(
                template.values_list("permission__codename", Value(value=False)), all=True
            )
        )
    differs = any(is_own for _, is_own in rows)
    grants = frozenset(name for name, is_own in rows if is_own == differs)
    return Actor(bare.tenant_id, bare.role, grants, bare.label, bare.user_id, bare.agent_id, bare.customer_key)
