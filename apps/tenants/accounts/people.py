"""People apart from their memberships, and what happens to a person when a membership does.

A person belongs to no tenant, so what is written of them is written outside every tenant, in the act's own transaction.
"""

from typing import Final

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as, outside_tenant
from apps.governance.errors import Conflict
from apps.tenants.accounts.account_events import Kind, note_event
from apps.tenants.accounts.second_factor import remove_second_factor
from apps.tenants.actions import deactivate_member, reset_member
from apps.tenants.authentication.actor_resolution import memberships_of, people_by_username
from apps.tenants.models import Membership, User

OPENS_OTHER_TENANTS: Final = (
    "This person's account opens more than this tenant, so no admin of it may reset it."
    " They change the password themselves, or the installation's owner runs: manage.py login_link."
)


def get_or_create_person(username: str) -> User:
    """The person of this user name, whatever its case, made if there is none; they sign in by a one-time link first.

    Raises ValidationError for a name that cannot be one.
    """
    known = people_by_username(username).first()
    if known is not None:
        return known
    user = User(username=username, email=username if "@" in username else "", is_staff=True)
    user.set_unusable_password()
    user.full_clean(exclude=["password"])
    user.save()
    return user


def person_signed_in(email: str) -> User | None:
    """The person an identity provider vouches for: known here under this address and active. Membership decides the rest.

    The first time it proves the address, and ends the password and the sessions of whoever used the account until then.
    """
    with transaction.atomic():
        user = people_by_username(email).select_for_update().filter(is_active=True).first()
        if user is not None:
            mark_address_proven(user)
    return user


def deactivate_and_sign_out(
    membership: Membership, *, actor: Actor, read_at: int | None = None, reason: str = ""
) -> Membership:
    """Deactivate a member and end the sessions of somebody who belongs nowhere else."""
    with acting_as(actor):
        deactivate_member(membership, actor=actor, read_at=read_at, reason=reason)
        with outside_tenant():
            if not memberships_of(membership.user_id):
                _end_sessions(membership.user_id)
    return membership


def reset_sign_in(membership: Membership, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Membership:
    """Make the old password worthless, drop the second factor, and end every session; a new link lets the person in.

    Refused for whoever belongs to another tenant too or runs the installation: a link of theirs would open more than this one.
    The account of somebody who has not come in yet is not the tenant's to touch; they only get another link.
    """
    with acting_as(actor):
        with outside_tenant():
            user = User.objects.select_for_update().get(pk=membership.user_id)
            came_in = actor.tenant_id in dict(memberships_of(user.pk))
            if came_in and opens_other_tenants(user, actor.tenant_id):
                raise Conflict(OPENS_OTHER_TENANTS)
        reset_member(membership, actor=actor, read_at=read_at, reason=reason)
        if came_in:
            with outside_tenant():
                invalidate_credentials(user)
                remove_second_factor(user)
    return membership


def opens_other_tenants(user: User, tenant_id: int) -> bool:
    """Whether the account opens another tenant than this one, or the installation."""
    return user.is_superuser or any(each != tenant_id for each, _ in memberships_of(user.pk))


def mark_address_proven(user: User) -> None:
    """Note that whoever signs in now owns the address. The first time, whoever else used the account is out."""
    if user.email_verified_at is None:
        invalidate_credentials(user, email_verified_at=timezone.now())


def invalidate_credentials(user: User, **noted: object) -> None:
    """Make the password worthless, end every session, and forget whose address it was, unless that is what was noted."""
    values = {"email_verified_at": None, **noted, "password": make_password(None)}
    with transaction.atomic():
        User.objects.filter(pk=user.pk).update(session_generation=F("session_generation") + 1, **values)
        note_event(user.pk, Kind.CREDENTIALS_RESET)
    user.refresh_from_db()


def _end_sessions(user_id: int) -> None:
    User.objects.filter(pk=user_id).update(session_generation=F("session_generation") + 1)
