"""Where I am signed in: a person's own browsers, each of which they can end."""

from django.contrib import messages
from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect

from apps.console.accounts.login import address_of
from apps.tenants.accounts.account_events import Kind, latest_events, note_event
from apps.tenants.models import User
from apps.tenants.session_store import end_others, end_session, signed_in


def signed_in_urls(site: AdminSite) -> list[URLPattern]:
    """Its path."""
    return [path("signed-in/", signed_in_page, {"site": site}, name="signed_in")]


@never_cache
@csrf_protect
def signed_in_page(request: HttpRequest, site: AdminSite) -> HttpResponse:
    """A GET lists them; a POST ends one, or all but this one."""
    user = request.user
    if not isinstance(user, User):
        return HttpResponseRedirect(reverse("admin:login"))
    if request.method == "POST":
        messages.success(request, _ended(request, user))
        return HttpResponseRedirect(reverse("admin:signed_in"), status=303)
    rows = signed_in(user.pk, request.session)
    others = sum(not row.is_this_one for row in rows)
    shown = {"title": "Where I am signed in", "rows": rows, "others": others, "events": latest_events(user.pk)}
    return render(request, "console/accounts/browser_sessions.html", {**site.each_context(request), **shown})


def _ended(request: HttpRequest, user: User) -> str:
    if "others" in request.POST:
        ended = end_others(user.pk, request.session)
        if ended:
            note_event(user.pk, Kind.SIGNED_OUT, ip_address=address_of(request))
        return "You were signed in nowhere else." if not ended else f"Signed out elsewhere: {ended}."
    if end_session(user.pk, request.POST.get("end", "")):
        note_event(user.pk, Kind.SIGNED_OUT, ip_address=address_of(request))
        return "Signed out there."
    return "That session was over already."
