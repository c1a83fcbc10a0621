"""The form to sign in with name and password, which refuses to be tried again and again."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Final

from django import forms
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest
from unfold.forms import AuthenticationForm

from apps.tenants.accounts.sign_in_throttle import refused_seconds, succeeded
from apps.tenants.accounts.staff_access import is_staff
from apps.tenants.authentication.actor_resolution import memberships_of, people_named
from apps.tenants.models import User

ASK_FOR_A_LINK: Final = ", or ask whoever runs the installation for a login link"


def too_many(seconds: int, otherwise: str = ASK_FOR_A_LINK) -> forms.ValidationError:
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
def own_password_tried(user: AbstractBaseUser) -> Iterator[None]:
    """Around a look at the password of somebody who is in already: as often as at the door."""
    name = user.get_username()
    if seconds := refused_seconds(name):
        raise too_many(seconds)
    yield
    succeeded(name)


def address_of(request: HttpRequest | None) -> str:
    """Where a request came from, as the server was told; behind a proxy that it was not told of, the proxy."""
    return str(request.META.get("REMOTE_ADDR") or "") if request else ""


class MemberLogin(AuthenticationForm):
    """A login for members of a tenant, and for platform staff, whom it opens nothing but the page to enter one."""

    error_messages: ClassVar = {
        **AuthenticationForm.error_messages,
        "invalid_login": "Please enter the correct username and password. Capitals matter in the password.",
    }

    def clean_username(self) -> str:
        """A person has one name, whatever the case it is typed in."""
        typed: str = self.cleaned_data["username"]
        person = people_named(typed).first()
        return person.username if person else typed

    def clean(self) -> dict[str, Any]:
        """Count the attempt first; a right password is not looked at either while one has to wait."""
        name, address = self.cleaned_data.get("username"), address_of(self.request)
        if not (name and self.cleaned_data.get("password")):
            return dict(self.cleaned_data)
        if seconds := refused_seconds(name, address):
            raise too_many(seconds)
        super().clean()
        succeeded(name, address)
        return dict(self.cleaned_data)

    def confirm_login_allowed(self, user: AbstractBaseUser) -> None:
        if not isinstance(user, User) or not user.is_active or user.is_service:
            raise self.get_invalid_login_error()
        if not (is_staff(user) or memberships_of(user.pk)):
            raise forms.ValidationError("You belong to no tenant yet. Ask an admin of yours to add you.")
