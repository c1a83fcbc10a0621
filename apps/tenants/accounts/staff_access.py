"""Platform staff: the people who run the installation. They see a tenant only after they enter it, with a reason."""

from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as, tenant_id_of_key
from apps.governance.errors import NotVisible
from apps.tenants.actions import enter_tenant
from apps.tenants.authentication.actor_resolution import staff_actor
from apps.tenants.models import User
from apps.tenants.models.tenant import StaffAccess


def is_staff(user: object) -> bool:
    """Whether the user runs the installation. This alone only allows them to enter a tenant."""
    return isinstance(user, User) and user.is_active and user.is_superuser and not user.is_service


def enter_as_staff(key: str, reason: str, user: User) -> StaffAccess:
    """Let a staff member enter the tenant with this key. An unknown key and missing permission give the same refusal."""
    # PostgreSQL refuses a NUL character in a parameter, and no key contains one.
    tenant_id = tenant_id_of_key(key) if is_staff(user) and "\x00" not in key else None
    if tenant_id is None:
        raise NotVisible("There is no tenant with this key, or you may not enter it.")
    return enter_tenant(reason, actor=staff_actor(user.pk, tenant_id))


def visit_of(user: object, tenant_id: int, visit_id: int) -> tuple[Actor, StaffAccess] | None:
    """Return the visitor's actor and the visit, or None if the visit has ended or the user is no longer staff."""
    if not (isinstance(user, User) and is_staff(user)):
        return None
    actor = staff_actor(user.pk, tenant_id)
    with acting_as(actor):
        visits = (
            StaffAccess.objects.visible_to(actor)
            .select_related("tenant")
            .filter(user=user, ended_at=None, expires_at__gt=timezone.now())
        )
        visit = visits.filter(pk=visit_id).first()
    return (actor, visit) if visit else None
