"""The actor of a console request, and values that are read once per request."""

from django.http import HttpRequest

from apps.console.framework.actor_names import ActorNames, people_of_tenant
from apps.governance.actors import Actor
from apps.governance.errors import MissingActor
from apps.tenants.models import TenantSettings
from apps.tenants.models.tenant import StaffAccess

# The key in the browser session for the chosen tenant.
TENANT_KEY = "tenant_id"
# The key for the open visit of platform staff: the tenant's id and the visit's.
VISIT_KEY = "staff_access"


class ConsoleRequest(HttpRequest):
    """A request after the middleware: `actor` is the acting member, or None if nobody may act."""

    actor: Actor | None
    nonce: str
    tenant_ids: tuple[int, ...]
    people: ActorNames
    tenant_settings: TenantSettings
    visit: StaffAccess | None
    may_enter: bool
    refused: bool


def actor_of(request: HttpRequest) -> Actor:
    """Return the acting member; a page without one is a programming error."""
    actor = getattr(request, "actor", None)
    if not isinstance(actor, Actor):
        raise MissingActor("This page needs a signed-in member of a tenant.")
    return actor


def settings_of(request: HttpRequest) -> TenantSettings:
    """Return the tenant's settings, with the tenant, read once per request."""
    if not hasattr(request, "tenant_settings"):
        rows = TenantSettings.objects.visible_to(actor_of(request)).select_related("tenant")
        request.tenant_settings = rows.get()  # type: ignore[attr-defined]  # set by us, see ConsoleRequest
    known: TenantSettings = request.tenant_settings  # type: ignore[attr-defined]  # set above
    return known


def people_of(request: HttpRequest) -> ActorNames:
    """Return names for the labels on this page, read once per request."""
    if not hasattr(request, "people"):
        request.people = people_of_tenant(actor_of(request))  # type: ignore[attr-defined]  # set by us, see ConsoleRequest
    known: ActorNames = request.people  # type: ignore[attr-defined]  # set above
    return known
