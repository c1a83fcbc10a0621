"""Platform staff: the people who run the installation. They see no tenant until they name one, say why, and enter."""

from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as, tenant_id_of_key
from apps.governance.errors import NotVisible
from apps.tenants.actions import enter_tenant
from apps.tenants.authentication.actor_resolution import staff_actor
from apps.tenants.models import User
from apps.tenants.models.tenant import StaffAccess


def is_staff(user: object) -> bool:
    """Whether somebody runs the installation; it opens the way to enter a tenant and nothing else."""
    return isinstance(user, User) and user.is_active and user.is_superuser and not user.is_service


def enter_as_staff(key: str, reason: str, user: User) -> StaffAccess:
    """Let one of the staff into the tenant of this key. An unknown key and somebody who may not read the same."""
    # The database cannot even be asked for a NUL; no key has one.
    tenant_id = tenant_id_of_key(key) if is_staff(user) and "\x00" not in key else None
    if tenant_id is None:
        raise NotVisible("There is no tenant of this key that you may enter.")
    return enter_tenant(reason, actor=staff_actor(user.pk, tenant_id))


def visit_of(user: object, tenant_id: int, visit_id: int) -> tuple[Actor, StaffAccess] | None:
    """Who the visitor acts as while the visit lasts; None once it ended, or once they are staff no more."""
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
