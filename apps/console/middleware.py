"""From a login to an actor: console pages run as the member who opened them, including the database role.

The tenant's time zone applies to moments on the pages, and to those typed into them.

One transaction spans view and rendering, since lazy templates still read rows. It is rolled back where the answer is an
error, so that a refused page leaves nothing behind.
"""

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import Resolver404, resolve, reverse
from django.utils import timezone
from django.utils.http import urlencode

from apps.console.accounts.login import client_address
from apps.console.framework.content_security_policy import content_policy, new_nonce
from apps.console.framework.form_errors import record_refused_request, status_of
from apps.console.framework.request_context import TENANT_KEY, VISIT_KEY, ConsoleRequest, settings_of
from apps.console.site import site
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError
from apps.telemetry.log_context import add_log_facts
from apps.tenants.accounts.second_factor import awaits_code
from apps.tenants.accounts.staff_access import is_staff, visit_of
from apps.tenants.authentication.actor_resolution import memberships_of, person_actor
from apps.tenants.models import User
from apps.tenants.session_store import note_seen

# These views wait for a store, a model or the workers, or read for long.
SLOW_TENANT_VIEWS = frozenset(
    {
        *("upload_file", "try_endpoint", "refresh_server", "health"),
        *("import_skills", "export_skills", "export_skill", "verify_audit_log", "export_audit_log"),
    }
)
# These views write people and sessions, which only the login role may do, or show nothing of a tenant.
VIEWS_WITHOUT_ACTOR = SLOW_TENANT_VIEWS | {
    *("login", "logout", "login_link", "invitation", "second_factor_code", "second_factor", "browser_sessions"),
    *("password_change", "password_change_done", "jsi18n", "switch_tenant", "leave_tenant"),
}
# The views for a person who signed in and has shown no code yet; they act as nobody there.
VIEWS_BEFORE_CODE = frozenset({"login", "logout", "login_link", "second_factor_code", "jsi18n"})
View = Callable[[HttpRequest], HttpResponse]


class OperatorMiddleware:
    """Finds the actor of a console request, and runs the request as that actor."""

    def __init__(self, get_response: View) -> None:
        self.get_response = get_response

    def __call__(self, request: ConsoleRequest) -> HttpResponse:
        if not request.path_info.startswith(reverse("admin:index")):
            return self.get_response(request)
        request.nonce = new_nonce()
        response = self._identify_and_respond(request)
        response.headers.setdefault("Content-Security-Policy", content_policy(request.nonce))
        return response

    def process_exception(self, request: ConsoleRequest, exception: Exception) -> HttpResponse | None:
        """Render the page of a refusal that no view caught."""
        if isinstance(exception, GovernanceError | PermissionDenied | Http404):
            record_refused_request(request, exception)
        if not isinstance(exception, GovernanceError):
            return None
        context = {**site.each_context(request), "refusal": exception}
        return render(request, "console/framework/refusal_page.html", context, status=status_of(exception))

    def _identify_and_respond(self, request: ConsoleRequest) -> HttpResponse:
        if isinstance(request.user, User) and awaits_code(request.user, request.session):
            request.actor, request.may_enter, request.tenant_ids, request.visit = None, False, (), None
            return (
                self.get_response(request) if _view_name(request) in VIEWS_BEFORE_CODE else _redirect_to_code(request)
            )
        if isinstance(request.user, User):
            note_seen(request.session, device=request.headers.get("User-Agent", ""), ip_address=client_address(request))
        request.actor = _staff_actor(request) or _member_actor(request)
        if request.actor is not None:
            add_log_facts(tenant_id=request.actor.tenant_id, actor=request.actor.role.value)
        request.may_enter = is_staff(request.user)
        if request.actor is None and request.may_enter and _view_name(request) not in VIEWS_WITHOUT_ACTOR:
            return HttpResponseRedirect(reverse("admin:switch_tenant"))
        return self._respond_as(request, request.actor)

    def _respond_as(self, request: ConsoleRequest, actor: Actor | None) -> HttpResponse:
        name = _view_name(request)
        if actor is None or name in VIEWS_WITHOUT_ACTOR:
            if actor and name in SLOW_TENANT_VIEWS and _actor_lacks_factor(request, actor):
                return _redirect_to_factor_setup()
            return self.get_response(request)
        with acting_as(actor), timezone.override(settings_of(request).timezone):
            if _lacks_factor(request):
                return _redirect_to_factor_setup()
            response = self.get_response(request)
            if response.status_code >= 400:
                transaction.set_rollback(True)
        return response


def _staff_actor(request: ConsoleRequest) -> Actor | None:
    """Return platform staff as an actor of the tenant that this browser session entered, while the visit lasts."""
    request.visit, request.tenant_ids = None, ()
    entered = request.session.get(VISIT_KEY)
    if entered is None:
        return None
    found = visit_of(request.user, *entered)
    if found is None:
        del request.session[VISIT_KEY]
        messages.info(request, "Your visit as platform staff is over.")
        return None
    actor, request.visit = found
    return actor


def _member_actor(request: ConsoleRequest) -> Actor | None:
    """Return the member behind a login: of the tenant chosen in this browser session, else of the oldest one."""
    user: User | AnonymousUser = request.user
    request.tenant_ids = ()
    if not isinstance(user, User) or not user.is_active or user.is_service:
        return None
    roles = dict(memberships_of(user.pk))
    request.tenant_ids = tuple(roles)
    chosen = request.session.get(TENANT_KEY)
    tenant_id = chosen if chosen in roles else next(iter(roles), None)
    return person_actor(user.pk, tenant_id, roles[tenant_id]) if tenant_id is not None else None


def _redirect_to_code(request: ConsoleRequest) -> HttpResponse:
    """Redirect to the code page. A GET continues with its page after the code; a POST is dropped."""
    query = f"?{urlencode({'next': request.get_full_path()})}" if request.method == "GET" else ""
    return HttpResponseRedirect(f"{reverse('admin:second_factor_code')}{query}", status=303)


def _actor_lacks_factor(request: ConsoleRequest, actor: Actor) -> bool:
    with acting_as(actor):
        return _lacks_factor(request)


def _redirect_to_factor_setup() -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('admin:second_factor')}?needed=1", status=303)


def _lacks_factor(request: ConsoleRequest) -> bool:
    """Return whether the tenant requires a second factor that this person lacks."""
    user: User | AnonymousUser = request.user
    return (
        isinstance(user, User)
        and user.second_factor_enabled_at is None
        and settings_of(request).is_second_factor_required
    )


def _view_name(request: HttpRequest) -> str:
    try:
        return resolve(request.path_info).url_name or ""
    except Resolver404:
        return ""
