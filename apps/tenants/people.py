"""People before they are anybody's members, and what happens to a person when a membership does.

A person belongs to no tenant, so what is written of them is written outside every tenant, in the act's own transaction.
"""

from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.db.models import F

from apps.governance.acting import acting, outside
from apps.governance.actors import Actor, Role
from apps.governance.door import invalid
from apps.governance.errors import Conflicting
from apps.tenants.actions import deactivate_member, invite_member, reset_member
from apps.tenants.identity import memberships_of
from apps.tenants.models import Membership, User


@dataclass(frozen=True, slots=True)
class Invited:
    """A new member. `is_new` says that nobody knew the person before, so that a link to sign in may be shown."""

    row: Membership
    is_new: bool


def person_named(username: str) -> User:
    """The person of this user name, made if there is none; they sign in by a one-time link until they set a password.

    Raises ValidationError for a name that cannot be one.
    """
    known = User.objects.filter(username=username, is_service=False).first()
    if known is not None:
        return known
    user = User(username=username, email=username if "@" in username else "", is_staff=True)
    user.set_unusable_password()
    user.full_clean(exclude=["password"])
    user.save()
    return user


def person_signed_in(email: str) -> User | None:
    """The person an identity provider vouches for: known here under this address and active. Membership decides the rest."""
    people = User.objects.filter(username__iexact=email, is_active=True, is_service=False)
    found = list(people[:2])
    return found[0] if len(found) == 1 else None


def invite(email: str, role: Role, *, actor: Actor) -> Invited:
    """Let a person into the tenant, made if nobody knows them yet."""
    with acting(actor):
        with outside():
            is_new = not User.objects.filter(username=email).exists()
            try:
                user = person_named(email)
            except ValidationError as refusal:
                raise invalid(refusal) from refusal
        return Invited(invite_member(user, actor=actor, role=role), is_new)


def dismiss(membership: Membership, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Membership:
    """Deactivate a member and end the sessions of somebody who belongs nowhere else."""
    with acting(actor):
        deactivate_member(membership, actor=actor, read_at=read_at, reason=reason)
        with outside():
            if not memberships_of(membership.user_id):
                _end_sessions(membership.user_id)
    return membership


def reset(membership: Membership, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Membership:
    """Make the old password worthless and end every session; a new link lets the person in.

    Refused for whoever belongs to another tenant too or runs the installation: a link of theirs would open more than this one.
    """
    with acting(actor):
        with outside():
            _refuse_wider(membership, actor.tenant_id)
        reset_member(membership, actor=actor, read_at=read_at, reason=reason)
        with outside():
            user = User.objects.select_for_update().get(pk=membership.user_id)
            user.set_unusable_password()
            user.save(update_fields=["password"])
            _end_sessions(user.pk)
    return membership


def _refuse_wider(membership: Membership, tenant_id: int) -> None:
    elsewhere = [each for each, _ in memberships_of(membership.user_id) if each != tenant_id]
    if elsewhere or User.objects.filter(pk=membership.user_id, is_superuser=True).exists():
        raise Conflicting(
            "This person's account opens more than this tenant, so no admin of it may reset it."
            " They change the password themselves, or the installation's owner runs: manage.py login_link."
        )


def _end_sessions(user_id: int) -> None:
    User.objects.filter(pk=user_id).update(session_generation=F("session_generation") + 1)
