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

LOGIN_LINK_HINT: Final = ", or ask the administrator of the installation for a login link"


def too_many_attempts(seconds: int, otherwise: str = LOGIN_LINK_HINT) -> forms.ValidationError:
    """Return the form error for too many attempts; it says how long the person has to wait."""
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
    return forms.ValidationError(f"Too many attempts. Wait {wait}, then try again{otherwise}.", code="too_many")


@contextmanager
def count_password_attempt(user: AbstractBaseUser) -> Iterator[None]:
    """Limit checks of a signed-in person's password as the login form does; a check that succeeds clears the count."""
    name = user.get_username()
    if seconds := throttle_seconds(name):
        raise too_many_attempts(seconds)
    yield
    clear_sign_in_attempts(name)


def client_address(request: HttpRequest | None) -> str:
    """Return the client's address as the server reports it; behind a proxy that it is not configured for, the proxy's address."""
    return str(request.META.get("REMOTE_ADDR") or "") if request else ""


class MemberLoginForm(AuthenticationForm):
    """Login form for members of a tenant, and for platform staff, who then reach only the page to enter a tenant."""

    error_messages: ClassVar = {
        **AuthenticationForm.error_messages,
        "invalid_login": "Please enter the correct username and password. Capitals matter in the password.",
    }

    def clean_username(self) -> str:
        """Return the stored username, whatever the case in which it was typed."""
        typed: str = self.cleaned_data["username"]
        person = people_by_username(typed).first()
        return person.username if person else typed

    def clean(self) -> dict[str, Any]:
        """Count the attempt before the password is checked; while a wait is due, even a right password is not checked."""
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
    """Password change form; it does not ask for the old password of a person who has none (login by one-time link)."""

    def __init__(self, user: AbstractBaseUser, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **{"label_suffix": "", **kwargs})
        if not user.has_usable_password():
            del self.fields["old_password"]

    def clean_old_password(self) -> str:
        """Check the old password under the limit of the login form, so that nobody can guess it at an unattended screen."""
        with count_password_attempt(self.user):
            typed: str = super().clean_old_password()
        return typed


class PasswordPage(PasswordChangeView):
    """Password change page in the layout of the console."""

    form_class = OwnPasswordForm
    template_name = "console/accounts/password_change.html"
    success_url = reverse_lazy("admin:password_change_done")

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        """Record the change with the client's address, which the person sees on the page of their browsers."""
        with transaction.atomic():
            note_event(form.user.pk, Kind.PASSWORD_SET, ip_address=client_address(self.request))
            return super().form_valid(form)
