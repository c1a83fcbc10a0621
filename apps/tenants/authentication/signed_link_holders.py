"""To whom something signed was given, and who that is by now: a right that was taken back takes it along."""

from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Q
from django.utils import timezone

from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting
from apps.governance.errors import NotPermitted
from apps.tenants.authentication.actor_resolution import (
    agent_actor,
    memberships_of,
    person_actor,
    system_actor,
    token_digest,
)
from apps.tenants.models import AgentToken, User


class Kind(StrEnum):
    """By what somebody came in."""

    PERSON = "person"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class Holder:
    """A person of a tenant, or one token of an agent; by id, which is no secret."""

    tenant_id: int
    kind: Kind
    row_id: int


def holder_of(actor: Actor, token: str) -> Holder:
    """The person, or the very token, behind an actor."""
    if actor.role is Role.STAFF:
        raise NotPermitted("Platform staff fetch no files. Ask a member of the tenant.")
    if actor.is_person:
        return Holder(actor.tenant_id, Kind.PERSON, actor.user_id or 0)
    system = system_actor(actor.tenant_id)
    with acting(system):
        row = AgentToken.objects.visible_to(system).get(digest=token_digest(token))
    return Holder(actor.tenant_id, Kind.AGENT, row.pk)


def actor_of(holder: Holder) -> Actor | None:
    """Who the holder is now; None for who left, was deactivated, or whose token was revoked or ran out."""
    return _person(holder) if holder.kind is Kind.PERSON else _agent(holder)


def _person(holder: Holder) -> Actor | None:
    if not User.objects.filter(pk=holder.row_id, is_active=True, is_service=False).exists():
        return None
    role = dict(memberships_of(holder.row_id)).get(holder.tenant_id)
    return person_actor(holder.row_id, holder.tenant_id, role) if role else None


def _agent(holder: Holder) -> Actor | None:
    system = system_actor(holder.tenant_id)
    with acting(system):
        live = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
        tokens = AgentToken.objects.visible_to(system).filter(live, revoked_at__isnull=True)
        token = tokens.select_related("agent").filter(pk=holder.row_id).first()
    if token is None:
        return None
    agent = token.agent
    return agent_actor(holder.tenant_id, agent.pk, agent.service_user_id, agent.key)
