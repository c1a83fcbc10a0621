"""People's accounts, and the effects that acts on a membership have on them.

A person belongs to no tenant, so account data is written outside every tenant, in the transaction of the act.
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
    """Return the person with this user name, ignoring case; create the account if it is missing.

    The person first signs in with a one-time link. Raises ValidationError for an invalid user name.
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
    """Return the active person with this address, after an identity provider has authenticated them; None if unknown.

    The first time, this proves that the person owns the address, and ends the password and sessions of any former user of the
    account. Memberships decide what the person may access.
    """
    with transaction.atomic():
        user = people_by_username(email).select_for_update().filter(is_active=True).first()
        if user is not None:
            mark_address_proven(user)
    return user


def deactivate_and_sign_out(
    membership: Membership, *, actor: Actor, read_at: int | None = None, reason: str = ""
) -> Membership:
    """Deactivate a member. If the person belongs to no other tenant, end their sessions."""
    with acting_as(actor):
        deactivate_member(membership, actor=actor, read_at=read_at, reason=reason)
        with outside_tenant():
            if not memberships_of(membership.user_id):
                _end_sessions(membership.user_id)
    return membership


def reset_sign_in(membership: Membership, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Membership:
    """Invalidate a member's password, remove the second factor and end every session; a new link lets the person sign in.

    Refused for a person who belongs to another tenant or runs the installation, because the link would give access to more than
    this tenant. A person who has not joined yet only gets a new link; the account is not changed.
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
    """Whether the account has access to another tenant, or to the whole installation."""
    return user.is_superuser or any(each != tenant_id for each, _ in memberships_of(user.pk))


def mark_address_proven(user: User) -> None:
    """Record that the person who signs in owns the address. The first time, all other users of the account lose access."""
    if user.email_verified_at is None:
        invalidate_credentials(user, email_verified_at=timezone.now())


def invalidate_credentials(user: User, **noted: object) -> None:
    """Invalidate the password, end every session, and clear the proof of the address unless `noted` sets it."""
    values = {"email_verified_at": None, **noted, "password": make_password(None)}
    with transaction.atomic():
        User.objects.filter(pk=user.pk).update(session_generation=F("session_generation") + 1, **values)
        note_event(user.pk, Kind.CREDENTIALS_RESET)
    user.refresh_from_db()


def _end_sessions(user_id: int) -> None:
    User.objects.filter(pk=user_id).update(session_generation=F("session_generation") + 1)
