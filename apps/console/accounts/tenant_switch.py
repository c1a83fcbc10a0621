"""Tenant switch: a member's own tenants, and for platform staff a form to enter one with its key and a reason."""

from django import forms
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_POST
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from apps.console.framework.form_errors import add_refusal_to_form, status_of
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import column, moment_column
from apps.console.framework.request_context import TENANT_KEY, VISIT_KEY
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError
from apps.tenants import actions
from apps.tenants.accounts.staff_access import enter_as_staff
from apps.tenants.authentication.actor_resolution import memberships_of, person_actor
from apps.tenants.models import Tenant, User
from apps.tenants.models.tenant import VISIT_MINUTES


class EnterTenantForm(forms.Form):
    """The key of a tenant, and the reason to enter it."""

    key = forms.CharField(label="The tenant's key", max_length=40, widget=UnfoldAdminTextInputWidget)
    reason = forms.CharField(label="Why", max_length=500, widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}))


def switch_tenant(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Show the person's tenants; a POST switches to one of them or, for staff, enters one by its key."""
    mine = _tenants_of(request)
    entering = EnterTenantForm(request.POST if "key" in request.POST else None, auto_id="enter_%s", label_suffix="")
    status = 200
    if entering.is_bound:
        status = _enter(request, entering)
    elif request.method == "POST":
        _switch_to_chosen(request, mine)
    if request.method == "POST" and status < 400:
        return HttpResponseRedirect(reverse("admin:index"), status=303)
    context = {
        **site.each_context(request),
        "title": "Tenants",
        "tenants": mine,
        "actor": getattr(request, "actor", None),
        "may_enter": getattr(request, "may_enter", False),
        "entering": entering,
        "minutes": VISIT_MINUTES,
    }
    return TemplateResponse(request, "console/accounts/tenant_switch.html", context, status=status)


@require_POST
def leave_tenant(request: HttpRequest) -> HttpResponse:
    """End the visit, if there is one."""
    _leave(request)
    return HttpResponseRedirect(reverse("admin:switch_tenant"), status=303)


def _enter(request: HttpRequest, entering: EnterTenantForm) -> int:
    """Enter a tenant as staff; return the HTTP status of the page."""
    if not entering.is_valid() or not isinstance(request.user, User):
        return 422
    values = entering.cleaned_data
    try:
        visit = enter_as_staff(values["key"], values["reason"], request.user)
    except GovernanceError as refusal:
        add_refusal_to_form(entering, refusal)
        return status_of(refusal)
    _leave(request)
    request.session[VISIT_KEY] = [visit.tenant_id, visit.pk]
    return 200


def _switch_to_chosen(request: HttpRequest, mine: list[Tenant]) -> None:
    chosen = next((tenant for tenant in mine if str(tenant.pk) == request.POST.get("tenant")), None)
    if chosen is not None:
        _leave(request)
        request.session[TENANT_KEY] = chosen.pk
        messages.success(request, f"You now work for {chosen.name}.")


def _leave(request: HttpRequest) -> None:
    visit, actor = getattr(request, "visit", None), getattr(request, "actor", None)
    if visit is not None and actor is not None:
        actions.leave_tenant(visit, actor=actor)
        del request.session[VISIT_KEY]


def _tenants_of(request: HttpRequest) -> list[Tenant]:
    """Return the person's tenants. Each is read with their role there, because no actor sees two tenants at once."""
    user_id = int(request.user.pk or 0)
    found = []
    for tenant_id, role in memberships_of(user_id):
        with acting_as(person_actor(user_id, tenant_id, role)):
            found.append(Tenant.objects.get(pk=tenant_id))
    return found


class VisitAdmin(GovernedAdmin):
    """Read-only list of staff visits for members of the tenant; the rows are written when staff enter and leave."""

    list_display = ("visitor", "reason", "entered", "ends", "left")
    empty = "Nobody of the platform's staff looked into these books."
    fields = ("reason", "expires_at", "ended_at")

    visitor = column("Who", lambda row: row.people[f"staff:{row.user_id}"], ordering="user__username")
    entered = moment_column("Entered", "created_at")
    ends = moment_column("Until at most", "expires_at")
    left = moment_column("Left", "ended_at", missing="by itself")
