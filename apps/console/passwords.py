"""A member's own password: changed by whoever knows the old one, set by whoever came in without one."""

from typing import Any

from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.views import PasswordChangeView
from django.db import transaction
from django.http import HttpResponse
from django.urls import reverse_lazy
from unfold.forms import AdminOwnPasswordChangeForm

from apps.console.signing_in import address_of, own_password_tried
from apps.tenants.accounts.account_events import Kind, note_event


class OwnPassword(AdminOwnPasswordChangeForm):
    """Whoever came in by a one-time link has no old password to be asked for."""

    def __init__(self, user: AbstractBaseUser, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **{"label_suffix": "", **kwargs})
        if not user.has_usable_password():
            del self.fields["old_password"]

    def clean_old_password(self) -> str:
        """As often as at the door: an unlocked desk is no place to guess in."""
        with own_password_tried(self.user):
            typed: str = super().clean_old_password()
        return typed


class PasswordPage(PasswordChangeView):
    """The form, in the console's own dress."""

    form_class = OwnPassword
    template_name = "console/password_change.html"
    success_url = reverse_lazy("admin:password_change_done")

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        """Its person sees that it was changed, and from where."""
        with transaction.atomic():
            note_event(form.user.pk, Kind.PASSWORD_SET, ip_address=address_of(self.request))
            return super().form_valid(form)
