"""Console login form and password change page, both with a limit on attempts.

A member who signed in by a one-time link has no old password, so the form does not ask for one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Final

from django import forms
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.views import PasswordChangeView
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse_lazy
from unfold.forms import AdminOwnPasswordChangeForm, AuthenticationForm

from apps.tenants.accounts.account_events import Kind, note_event
from apps.tenants.accounts.sign_in_throttle import clear_sign_in_attempts, throttle_seconds
from apps.tenants.accounts.staff_access import is_staff
from apps.tenants.authentication.actor_resolution import memberships_of, people_by_username
from apps.tenants.models import User

LOGIN_LINK_HINT: Final = ", or ask whoever runs the installation for a login link"


def too_many_attempts(seconds: int, otherwise: str = LOGIN_LINK_HINT) -> forms.ValidationError:
    """What somebody reads who has to wait."""
    minutes = -(-seconds // 60)
    wait = (
        "a second"
        if seconds == 1
        else f"{seconds} seconds"
        if seconds < 60
        else "a minute"
        if minutes == 1
        else f"{minutes} minutes"
    )
    return forms.ValidationError(f"That was tried too often. Wait {wait}, then try again{otherwise}.", code="too_many")


@contextmanager
def count_password_attempt(user: AbstractBaseUser) -> Iterator[None]:
    """Around a look at the password of somebody who is in already: as often as at the door."""
    name = user.get_username()
    if seconds := throttle_seconds(name):
        raise too_many_attempts(seconds)
    yield
    clear_sign_in_attempts(name)


def client_address(request: HttpRequest | None) -> str:
    """Where a request came from, as the server was told; behind a proxy that it was not told of, the proxy."""
    return str(request.META.get("REMOTE_ADDR") or "") if request else ""


class MemberLoginForm(AuthenticationForm):
    """A login for members of a tenant, and for platform staff, whom it opens nothing but the page to enter one."""

    error_messages: ClassVar = {
        **AuthenticationForm.error_messages,
        "invalid_login": "Please enter the correct username and password. Capitals matter in the password.",
    }

    def clean_username(self) -> str:
        """A person has one name, whatever the case it is typed in."""
        typed: str = self.cleaned_data["username"]
        person = people_by_username(typed).first()
        return person.username if person else typed

    def clean(self) -> dict[str, Any]:
        """Count the attempt first; a right password is not looked at either while one has to wait."""
        name, address = self.cleaned_data.get("username"), client_address(self.request)
        if not (name and self.cleaned_data.get("password")):
            return dict(self.cleaned_data)
        if seconds := throttle_seconds(name, address):
            raise too_many_attempts(seconds)
        super().clean()
        clear_sign_in_attempts(name, address)
        return dict(self.cleaned_data)

    def confirm_login_allowed(self, user: AbstractBaseUser) -> None:
        if not isinstance(user, User) or not user.is_active or user.is_service:
            raise self.get_invalid_login_error()
        if not (is_staff(user) or memberships_of(user.pk)):
            raise forms.ValidationError("You belong to no tenant yet. Ask an admin of yours to add you.")


class OwnPasswordForm(AdminOwnPasswordChangeForm):
    """Whoever came in by a one-time link has no old password to be asked for."""

    def __init__(self, user: AbstractBaseUser, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **{"label_suffix": "", **kwargs})
        if not user.has_usable_password():
            del self.fields["old_password"]

    def clean_old_password(self) -> str:
        """As often as at the door: an unlocked desk is no place to guess in."""
        with count_password_attempt(self.user):
            typed: str = super().clean_old_password()
        return typed


class PasswordPage(PasswordChangeView):
    """The form, in the console's own dress."""

    form_class = OwnPasswordForm
    template_name = "console/accounts/password_change.html"
    success_url = reverse_lazy("admin:password_change_done")

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        """Its person sees that it was changed, and from where."""
        with transaction.atomic():
            note_event(form.user.pk, Kind.PASSWORD_SET, ip_address=client_address(self.request))
            return super().form_valid(form)
