"""One-time login links: for the first login of an installation, and for people who lost their password."""

from django.contrib import messages
from django.contrib.admin import AdminSite
from django.contrib.auth import login
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.encoding import force_str
from django.utils.http import base36_to_int, urlsafe_base64_decode, urlsafe_base64_encode
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.debug import sensitive_variables

from apps.console.framework.request_context import TENANT_KEY
from apps.tenants.accounts.invitations import INVITATION_SECONDS, accept_invitation, invitation_of_token
from apps.tenants.accounts.people import mark_address_proven, opens_other_tenants
from apps.tenants.models import User

LIFETIME_SECONDS = 15 * 60
BACKEND = "django.contrib.auth.backends.ModelBackend"


class LoginLinkTokens(PasswordResetTokenGenerator):
    """Tokens that end with the next login, with a new password, or after fifteen minutes."""

    key_salt = "apps.console.login_links"
    lifetime_seconds = LIFETIME_SECONDS

    def check_token(self, user: User | None, token: str | None) -> bool:
        return bool(super().check_token(user, token)) and self._age_seconds(token or "") <= self.lifetime_seconds

    def _age_seconds(self, token: str) -> int:
        return self._num_seconds(self._now()) - base36_to_int(token.partition("-")[0])

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        # Django's own value cuts the time of the last login to seconds, which lets two quick logins share a link.
        last_login = user.last_login.isoformat() if user.last_login else ""
        return f"{user.pk}{user.password}{last_login}{timestamp}{user.is_active}"


token_generator = LoginLinkTokens()


def login_link_path(user: User) -> str:
    """The path that signs this person in once."""
    coded = urlsafe_base64_encode(str(user.pk).encode())
    return reverse("admin:login_link", args=[coded, token_generator.make_token(user)])


@sensitive_variables("token")
@never_cache
@csrf_protect
def login_link_page(request: HttpRequest, coded_id: str, token: str, site: AdminSite) -> HttpResponse:
    """Opening the link shows a button, so that no mail scanner uses it up; the button signs in."""
    with transaction.atomic():
        user = _locked_person(coded_id)
        if user is None or not token_generator.check_token(user, token):
            return render(request, "console/accounts/login_link_used.html", site.each_context(request), status=410)
        if request.method != "POST":
            return render(request, "console/accounts/login_link.html", {**site.each_context(request), "person": user})
        mark_address_proven(user)
        login(request, user, backend=BACKEND)
    messages.success(request, "You are signed in. The link is used up.")
    return HttpResponseRedirect(reverse("admin:index"), status=303)


@sensitive_variables("token")
@never_cache
@csrf_protect
def invitation_page(request: HttpRequest, token: str, site: AdminSite) -> HttpResponse:
    """Accept an invitation by POST. A person whose account belongs to other tenants too has to sign in first."""
    with transaction.atomic():
        found = invitation_of_token(token)
        if found is None:
            spent = {**site.each_context(request), "days": INVITATION_SECONDS // 86_400}
            return render(request, "console/accounts/invitation_used.html", spent, status=410)
        has_other_tenants = opens_other_tenants(found.user, found.row.tenant_id)
        is_theirs = not has_other_tenants or request.user.pk == found.user.pk
        if request.method != "POST" or not is_theirs:
            shown = {"found": found, "is_theirs": is_theirs, "signs_in": not has_other_tenants}
            status = 403 if request.method == "POST" else 200
            return render(
                request, "console/accounts/invitation.html", {**site.each_context(request), **shown}, status=status
            )
        accept_invitation(found)
        if not has_other_tenants:
            login(request, found.user, backend=BACKEND)
    request.session[TENANT_KEY] = found.row.tenant_id
    messages.success(request, f"You are a member of {found.row.tenant.name} now. The link is used up.")
    return HttpResponseRedirect(reverse("admin:index"), status=303)


def _locked_person(coded_id: str) -> User | None:
    """The person a link names, locked so that two clicks at once sign in once."""
    try:
        user_id = int(force_str(urlsafe_base64_decode(coded_id)))
    except (ValueError, OverflowError):
        return None
    people = User.objects.select_for_update().filter(is_active=True, is_service=False)
    return people.filter(pk=user_id).first()
