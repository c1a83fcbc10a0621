"""Invitations: a membership grants nothing until its person has used a link, or is known to own the address.

Links are not sent by e-mail, so the inviting admin sees them. Using a link therefore proves the person's identity to that one
tenant only. An identity that every tenant accepts is proved by means that no tenant's admin can forge: a link from the
installation's owner, or an identity provider.
"""

from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.core import signing
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils import timezone

from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as, outside_tenant
from apps.governance.governed_write import invalid_from_validation
from apps.tenants.accounts.people import get_or_create_person, invalidate_credentials, opens_other_tenants
from apps.tenants.actions import accept_membership, invite_member
from apps.tenants.authentication.actor_resolution import person_actor, system_actor
from apps.tenants.models import Membership, User

INVITATION_SECONDS: Final = 3 * 24 * 3600
# The salt must not change, or links that were issued earlier would stop working.
_SALT: Final = "apps.console.accounts.login_links.invitations"


@dataclass(frozen=True, slots=True)
class InvitedMember:
    """A new member. `is_open` is true if the person is known to own the address, so that no link is needed."""

    row: Membership
    is_open: bool


@dataclass(frozen=True, slots=True)
class Invitation:
    """An unaccepted membership, and the account that it names."""

    row: Membership
    user: User

    @property
    def state(self) -> list[str]:
        """The values that a link is bound to. Once one of them changes, the link is invalid."""
        return [str(self.row.accepted_at), str(self.row.reset_at)]


def invite(email: str, role: Role, *, actor: Actor) -> InvitedMember:
    """Invite a person to the actor's tenant. Creates the account if it does not exist."""
    with acting_as(actor):
        with outside_tenant():
            try:
                user = get_or_create_person(email)
            except ValidationError as refusal:
                raise invalid_from_validation(refusal) from refusal
        return InvitedMember(invite_member(user, actor=actor, role=role), user.email_verified_at is not None)


def invitation_of(user_id: int, tenant_id: int) -> Invitation | None:
    """Return the person's open invitation to the tenant, if there is one.

    The account stays locked, so that two concurrent clicks accept only once.
    """
    people = User.objects.select_for_update().filter(is_active=True, is_service=False, email_verified_at=None)
    user = people.filter(pk=user_id).first()
    actor = system_actor(tenant_id)
    with acting_as(actor):
        members = Membership.objects.visible_to(actor).select_related("tenant").filter(user_id=user_id, is_active=True)
        row = members.first()
    return Invitation(row, user) if user and row and row.awaits_its_person else None


def invitation_url(membership: Membership) -> str:
    """Return the single-use URL that accepts the invitation of this membership, or an empty text if no invitation is open."""
    with outside_tenant():
        waiting = invitation_of(membership.user_id, membership.tenant_id)
    if waiting is None:
        return ""
    payload = [membership.user_id, membership.tenant_id, *waiting.state]
    path = reverse("admin:invitation", args=[signing.dumps(payload, salt=_SALT)])
    return f"{settings.ENV.console_url.rstrip('/')}{path}"


def invitation_of_token(token: str) -> Invitation | None:
    """Return the invitation that a link's token names, or None if it is no longer open."""
    try:
        user_id, tenant_id, *state = signing.loads(token, salt=_SALT, max_age=INVITATION_SECONDS)
    except signing.BadSignature:
        return None
    waiting = invitation_of(user_id, tenant_id)
    return waiting if waiting and waiting.state == state else None


def accept_invitation(invitation: Invitation) -> Membership:
    """Accept the invitation on behalf of the link's holder.

    An account without access to other tenants is reset first, because another person may know its password. For an account with
    access to other tenants, the caller must ensure that its own person is signed in: a link of this tenant must not open any
    other tenant.
    """
    row, user = invitation.row, invitation.user
    if not opens_other_tenants(user, row.tenant_id):
        invalidate_credentials(user, account_claimed_at=timezone.now())
    return accept_membership(row, actor=person_actor(user.pk, row.tenant_id, Role(row.role)))
