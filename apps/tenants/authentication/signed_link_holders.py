"""Holders of signed links, and their current actors. A link stops working when its holder loses access."""

from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Q
from django.utils import timezone

from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import NotPermitted
from apps.tenants.authentication.actor_resolution import (
    agent_actor,
    memberships_of,
    person_actor,
    system_actor,
    token_digest,
)
from apps.tenants.models import AgentToken, User


class HolderKind(StrEnum):
    """The kind of credential that a link was issued to."""

    PERSON = "person"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class SignedLinkHolder:
    """A person in a tenant, or one token of an agent. The id identifies the holder; it is not secret."""

    tenant_id: int
    kind: HolderKind
    row_id: int


def holder_of(actor: Actor, token: str) -> SignedLinkHolder:
    """Return the person or the token that the actor stands for."""
    if actor.role is Role.STAFF:
        raise NotPermitted("Platform staff cannot download files. Ask a member of the tenant.")
    if actor.is_person:
        return SignedLinkHolder(actor.tenant_id, HolderKind.PERSON, actor.user_id or 0)
    system = system_actor(actor.tenant_id)
    with acting_as(system):
        row = AgentToken.objects.visible_to(system).get(digest=token_digest(token))
    return SignedLinkHolder(actor.tenant_id, HolderKind.AGENT, row.pk)


def actor_of(holder: SignedLinkHolder) -> Actor | None:
    """Return the holder's current actor, or None if the person left or was deactivated, or the token was revoked or expired."""
    return _person_actor(holder) if holder.kind is HolderKind.PERSON else _token_actor(holder)


def _person_actor(holder: SignedLinkHolder) -> Actor | None:
    if not User.objects.filter(pk=holder.row_id, is_active=True, is_service=False).exists():
        return None
    role = dict(memberships_of(holder.row_id)).get(holder.tenant_id)
    return person_actor(holder.row_id, holder.tenant_id, role) if role else None


def _token_actor(holder: SignedLinkHolder) -> Actor | None:
    system = system_actor(holder.tenant_id)
    with acting_as(system):
        live = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
        tokens = AgentToken.objects.visible_to(system).filter(live, revoked_at__isnull=True)
        token = tokens.select_related("agent").filter(pk=holder.row_id).first()
    if token is None:
        return None
    agent = token.agent
    return agent_actor(holder.tenant_id, agent.pk, agent.service_user_id, agent.key)
