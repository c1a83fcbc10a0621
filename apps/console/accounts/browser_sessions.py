"""Page of a person's own signed-in browsers; they can end each of these sessions."""

from django.contrib import messages
from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect

from apps.console.accounts.login import client_address
from apps.tenants.accounts.account_events import Kind, latest_events, note_event
from apps.tenants.models import User
from apps.tenants.session_store import end_other_sessions, end_session, signed_in_browsers


def browser_session_urls(site: AdminSite) -> list[URLPattern]:
    """Return the URL pattern of the page."""
    return [path("signed-in/", browser_sessions_page, {"site": site}, name="browser_sessions")]


@never_cache
@csrf_protect
def browser_sessions_page(request: HttpRequest, site: AdminSite) -> HttpResponse:
    """List the person's browser sessions (GET); end one of them, or all except the present one (POST)."""
    user = request.user
    if not isinstance(user, User):
        return HttpResponseRedirect(reverse("admin:login"))
    if request.method == "POST":
        messages.success(request, _end_sessions(request, user))
        return HttpResponseRedirect(reverse("admin:browser_sessions"), status=303)
    rows = signed_in_browsers(user.pk, request.session)
    others = sum(not row.is_this_one for row in rows)
    shown = {"title": "Where I am signed in", "rows": rows, "others": others, "events": latest_events(user.pk)}
    return render(request, "console/accounts/browser_sessions.html", {**site.each_context(request), **shown})


def _end_sessions(request: HttpRequest, user: User) -> str:
    if "others" in request.POST:
        ended = end_other_sessions(user.pk, request.session)
        if ended:
            note_event(user.pk, Kind.SIGNED_OUT, ip_address=client_address(request))
        return "You were not signed in anywhere else." if not ended else f"Other browsers signed out: {ended}."
    if end_session(user.pk, request.POST.get("end", "")):
        note_event(user.pk, Kind.SIGNED_OUT, ip_address=client_address(request))
        return "That browser is signed out."
    return "That session had already ended."
