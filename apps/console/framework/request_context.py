"""Who acts in a console request, and what is looked up once for the whole page."""

from django.http import HttpRequest

from apps.console.framework.actor_names import ActorNames, people_of_tenant
from apps.governance.actors import Actor
from apps.governance.errors import MissingActor
from apps.tenants.models import TenantSettings
from apps.tenants.models.tenant import StaffAccess

# Where the session keeps which of several tenants was chosen.
TENANT_KEY = "tenant_id"
# And which visit of platform staff is open: the tenant's id and the visit's.
VISIT_KEY = "staff_access"


class ConsoleRequest(HttpRequest):
    """A request the middleware has looked at: `actor` says who acts, None that nobody may."""

    actor: Actor | None
    nonce: str
    tenant_ids: tuple[int, ...]
    people: ActorNames
    tenant_settings: TenantSettings
    visit: StaffAccess | None
    may_enter: bool
    refused: bool


def actor_of(request: HttpRequest) -> Actor:
    """The member who acts; a page without one is a programming error."""
    actor = getattr(request, "actor", None)
    if not isinstance(actor, Actor):
        raise MissingActor("This page needs a signed-in member of a tenant.")
    return actor


def settings_of(request: HttpRequest) -> TenantSettings:
    """What the tenant decided, with the tenant, read once per request."""
    if not hasattr(request, "tenant_settings"):
        rows = TenantSettings.objects.visible_to(actor_of(request)).select_related("tenant")
        request.tenant_settings = rows.get()  # type: ignore[attr-defined]  # set by us, see ConsoleRequest
    known: TenantSettings = request.tenant_settings  # type: ignore[attr-defined]  # set above
    return known


def people_of(request: HttpRequest) -> ActorNames:
    """Names for the labels on this page, read once per request."""
    if not hasattr(request, "people"):
        request.people = people_of_tenant(actor_of(request))  # type: ignore[attr-defined]  # set by us, see ConsoleRequest
    known: ActorNames = request.people  # type: ignore[attr-defined]  # set above
    return known
