"""Second factor: the page that asks for a code after sign-in, and the page where a person enables, renews or removes it."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import segno
from django import forms
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.debug import sensitive_post_parameters
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextInputWidget

from apps.console.accounts.login import client_address, count_password_attempt, too_many_attempts
from apps.console.framework.form_errors import add_refusal_to_form
from apps.governance.errors import GovernanceError
from apps.tenants.accounts.second_factor import (
    AcceptedCode,
    awaits_code,
    begin_enrolment,
    enrol,
    enrolment_secret,
    mark_session_verified,
    recovery_codes_left,
    remove_second_factor,
    renew_recovery_codes,
    use_code,
)
from apps.tenants.accounts.sign_in_throttle import clear_code_attempts, code_throttle_seconds
from apps.tenants.accounts.totp import provisioning_uri
from apps.tenants.models import User

ISSUER: Final = "Preceptor"
Result = TypeVar("Result")
_CODE_ATTRS: Final = {
    "autocomplete": "one-time-code",
    "autocapitalize": "none",
    "spellcheck": "false",
    "maxlength": "40",
}


class CodeForm(forms.Form):
    """A code of the authenticator app, or a recovery code."""

    code = forms.CharField(max_length=40, widget=UnfoldAdminTextInputWidget(attrs=_CODE_ATTRS))

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        self.user = user

    def clean_code(self) -> str:
        """Count the attempt before the code is checked; while a wait is due, even a right code is not checked."""
        if seconds := code_throttle_seconds(self.user.pk):
            raise too_many_attempts(seconds, otherwise="")
        return str(self.cleaned_data["code"])


class EnrolForm(CodeForm):
    """The first code of a new device, and the password: an unattended screen must not be enough to lock its owner out."""

    password = forms.CharField(
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "current-password"}), label="Your password"
    )
    field_order = ("password", "code")

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        if not user.has_usable_password():
            del self.fields["password"]

    def clean_password(self) -> str:
        """Check the password under the limit of the login form."""
        typed = str(self.cleaned_data["password"])
        with count_password_attempt(self.user):
            if not self.user.check_password(typed):
                raise forms.ValidationError("This is not your password. Capitals matter.")
        return typed


def factor_urls(site: AdminSite) -> list[URLPattern]:
    """Return the URL patterns of both pages."""
    return [
        path("code/", code_page, {"site": site}, name="second_factor_code"),
        path("factor/", factor_page, {"site": site}, name="second_factor"),
    ]


@sensitive_post_parameters("code")
@never_cache
@csrf_protect
def code_page(request: HttpRequest, site: AdminSite) -> HttpResponse:
    """Ask for a code after the password: no page of a tenant is shown before the code is accepted."""
    user = request.user
    if not isinstance(user, User) or not awaits_code(user, request.session):
        return HttpResponseRedirect(_next_url(request), status=303)
    form, status = CodeForm(user, request.POST if request.method == "POST" else None), 200
    if form.is_bound:
        status = 422
        if form.is_valid() and (shown := _accept_code(form, request)):
            _finish_sign_in(request, user, shown)
            return HttpResponseRedirect(_next_url(request), status=303)
    context = {"form": form, "next": request.POST.get("next") or request.GET.get("next", "")}
    return render(
        request, "console/accounts/second_factor_code.html", {**site.each_context(request), **context}, status=status
    )


@sensitive_post_parameters("code", "password")
@never_cache
@csrf_protect
def factor_page(request: HttpRequest, site: AdminSite) -> HttpResponse:
    """Set up a person's second factor with a first code; with a current code, renew the recovery codes or remove it."""
    user = request.user
    if not isinstance(user, User):
        return HttpResponseRedirect(reverse("admin:login"))
    return (_enrolment_page if user.second_factor_enabled_at is None else _manage_factor)(site, request, user)


def _enrolment_page(site: AdminSite, request: HttpRequest, user: User) -> HttpResponse:
    try:
        secret = enrolment_secret(user, request.session) or begin_enrolment(user, request.session)
    except GovernanceError as refusal:
        return _render_factor_page(site, request, {"refusal": refusal}, status=409)
    form, status = EnrolForm(user, request.POST if request.method == "POST" else None), 200
    if form.is_bound:
        status = 422
        address = client_address(request)
        if form.is_valid() and (codes := _try_code(form, lambda typed: enrol(user, secret, typed, address=address))):
            mark_session_verified(user, request.session)
            return _render_recovery_codes(site, request, codes)
    uri = provisioning_uri(secret, account=user.get_username(), issuer=ISSUER)
    picture = _qr_code(uri)
    shown = {"form": form, "picture": picture, "groups": [secret[at : at + 4] for at in range(0, len(secret), 4)]}
    return _render_factor_page(site, request, shown, status=status)


def _qr_code(uri: str) -> SafeString:
    """Return the QR code as inline SVG: a picture with its own address would need a wider content policy on all pages."""
    made = segno.make(uri, error="m", micro=False)
    return SafeString(made.svg_inline(border=4, light="#fff", svgclass=None, lineclass=None, omitsize=True))


def _manage_factor(site: AdminSite, request: HttpRequest, user: User) -> HttpResponse:
    form, status = CodeForm(user, request.POST if request.method == "POST" else None), 200
    if form.is_bound:
        status = 422
        if form.is_valid() and _accept_code(form, request):
            if "renew" in request.POST:
                return _render_recovery_codes(
                    site, request, renew_recovery_codes(user, address=client_address(request))
                )
            remove_second_factor(user, address=client_address(request))
            messages.success(request, "Second factor removed. From now on your password or a login link is enough.")
            return HttpResponseRedirect(reverse("admin:second_factor"), status=303)
    return _render_factor_page(site, request, {"form": form, "left": recovery_codes_left(user)}, status=status)


def _accept_code(form: CodeForm, request: HttpRequest) -> AcceptedCode | None:
    return _try_code(form, lambda typed: use_code(form.user, typed, address=client_address(request)))


def _try_code(form: CodeForm, use: Callable[[str], Result]) -> Result | None:
    """Return the result of `use`; None if the code was refused, and the form then shows the refusal."""
    try:
        result = use(form.cleaned_data["code"])
    except GovernanceError as refusal:
        add_refusal_to_form(form, refusal)
        return None
    clear_code_attempts(form.user.pk)
    return result


def _finish_sign_in(request: HttpRequest, user: User, shown: AcceptedCode) -> None:
    request.session.cycle_key()
    mark_session_verified(user, request.session)
    if shown is AcceptedCode.RECOVERY:
        left = recovery_codes_left(user)
        messages.warning(request, f"That recovery code is used up; {left} are left. Make new ones under Second factor.")


def _render_recovery_codes(site: AdminSite, request: HttpRequest, codes: list[str]) -> HttpResponse:
    shown = {"title": "Recovery codes", "codes": codes}
    return render(request, "console/accounts/recovery_codes.html", {**site.each_context(request), **shown})


def _render_factor_page(site: AdminSite, request: HttpRequest, shown: dict[str, Any], *, status: int) -> HttpResponse:
    context = {**site.each_context(request), "title": "Second factor", **shown}
    return render(request, "console/accounts/second_factor.html", context, status=status)


def _next_url(request: HttpRequest) -> str:
    asked = str(request.POST.get("next") or request.GET.get("next", ""))
    is_ours = url_has_allowed_host_and_scheme(asked, {request.get_host()}, require_https=request.is_secure())
    return asked if asked and is_ours else reverse("admin:index")
