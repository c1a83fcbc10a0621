"""Invitations: a membership opens nothing until the person it names used its link, or is known to own the address.

No link is sent by mail, so it passes through the hands of whoever invites. Its use therefore says who somebody is to that one
tenant. To every tenant say it only what no admin of one can forge: the link of the installation's owner, and an identity provider.
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
# As it always was: links that are out go on working.
_SALT: Final = "apps.console.accounts.login_links.invitations"


@dataclass(frozen=True, slots=True)
class InvitedMember:
    """A new member. `is_open` says that they own their address beyond doubt, so that no link is needed."""

    row: Membership
    is_open: bool


@dataclass(frozen=True, slots=True)
class Invitation:
    """A membership that waits for its person, and the account it names."""

    row: Membership
    user: User

    @property
    def state(self) -> list[str]:
        """What a link was made for; once one of them changed, it opens nothing."""
        return [str(self.row.accepted_at), str(self.row.reset_at)]


def invite(email: str, role: Role, *, actor: Actor) -> InvitedMember:
    """Name a person who may come in, made if nobody knows them yet."""
    with acting_as(actor):
        with outside_tenant():
            try:
                user = get_or_create_person(email)
            except ValidationError as refusal:
                raise invalid_from_validation(refusal) from refusal
        return InvitedMember(invite_member(user, actor=actor, role=role), user.email_verified_at is not None)


def invitation_of(user_id: int, tenant_id: int) -> Invitation | None:
    """What waits for this person in the tenant, if anything does. Their account stays locked, so that two clicks accept once."""
    people = User.objects.select_for_update().filter(is_active=True, is_service=False, email_verified_at=None)
    user = people.filter(pk=user_id).first()
    actor = system_actor(tenant_id)
    with acting_as(actor):
        members = Membership.objects.visible_to(actor).select_related("tenant").filter(user_id=user_id, is_active=True)
        row = members.first()
    return Invitation(row, user) if user and row and row.awaits_its_person else None


def invitation_url(membership: Membership) -> str:
    """The whole address that lets the person of this membership into its tenant once; empty where nothing waits for them."""
    with outside_tenant():
        waiting = invitation_of(membership.user_id, membership.tenant_id)
    if waiting is None:
        return ""
    payload = [membership.user_id, membership.tenant_id, *waiting.state]
    path = reverse("admin:invitation", args=[signing.dumps(payload, salt=_SALT)])
    return f"{settings.ENV.console_url.rstrip('/')}{path}"


def invitation_of_token(token: str) -> Invitation | None:
    """What a link was made for, as long as it still waits."""
    try:
        user_id, tenant_id, *state = signing.loads(token, salt=_SALT, max_age=INVITATION_SECONDS)
    except signing.BadSignature:
        return None
    waiting = invitation_of(user_id, tenant_id)
    return waiting if waiting and waiting.state == state else None


def accept_invitation(invitation: Invitation) -> Membership:
    """Let the holder of the link in.

    An account that opens nothing else begins anew, because whoever had its password until now may be another person. For one
    that opens more, the caller has made sure that its own person is signed in: a link of this tenant opens no other.
    """
    row, user = invitation.row, invitation.user
    if not opens_other_tenants(user, row.tenant_id):
        invalidate_credentials(user, account_claimed_at=timezone.now())
    return accept_membership(row, actor=person_actor(user.pk, row.tenant_id, Role(row.role)))
