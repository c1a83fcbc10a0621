"""Notification preferences: what a person gets by e-mail and when, and the latest messages sent to them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from apps.console.framework.form_errors import add_refusal_to_form, status_of
from apps.console.framework.request_context import actor_of, settings_of
from apps.governance.actors import Actor
from apps.governance.errors import GovernanceError
from apps.notifications.models import HOURS, TIMING_CHOICES, EmailNotification, NotificationPreferences
from apps.notifications.notification_store import MEMBER_ROLES, own_preferences, set_preferences
from apps.notifications.rules import DeliveryTiming, NotificationKind, quiet_hours_flaw
from apps.tenants.models import validate_timezone

KIND_LABELS: Final[Mapping[NotificationKind, tuple[str, str]]] = {
    NotificationKind.ESCALATIONS: ("Escalations", "A question an agent put to people."),
    NotificationKind.TOOL_APPROVALS: ("Calls to approve", "A tool call that waits for a yes."),
    NotificationKind.DRAFTS: ("Reply drafts", "A reply that waits for a person before a customer gets it."),
    NotificationKind.REVIEWS: ("Reviews", "Proposals: skills, personas, rules, memory."),
    NotificationKind.STUCK_TURNS: (
        "Stuck turns",
        "Turns that are tried again for long, lost their worker, or wait for people.",
    ),
    NotificationKind.DELIVERIES: (
        "Webhook deliveries given up",
        "What one of the tenant's webhooks did not take in a day and a half.",
    ),
}
NOTICES_SHOWN: Final = 10
_HOUR_CHOICES: Final = [("", "None"), *HOURS]


def _hour_field(label: str, help_text: str = "") -> forms.TypedChoiceField:
    return forms.TypedChoiceField(
        label=label,
        choices=_HOUR_CHOICES,
        coerce=int,
        empty_value=None,
        required=False,
        help_text=help_text,
        widget=UnfoldAdminSelectWidget,
    )


class NotificationPreferencesForm(forms.Form):
    """How soon each kind of notification is sent, the hour of the digest, and the quiet hours."""

    digest_hour = forms.TypedChoiceField(
        label="Hour of the digest",
        choices=HOURS,
        coerce=int,
        help_text="One message a day about all that waits, and none where nothing new does.",
        widget=UnfoldAdminSelectWidget,
    )
    quiet_start_hour = _hour_field(
        "Quiet from", "Nothing is sent in these hours. What comes meanwhile is told when they end."
    )
    quiet_end_hour = _hour_field("Quiet until")
    timezone = forms.CharField(
        label="Time zone",
        required=False,
        max_length=60,
        validators=[validate_timezone],
        help_text="Such as Europe/Madrid. Empty: the tenant's.",
        widget=UnfoldAdminTextInputWidget,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", "auto_id": "told_%s", **kwargs})
        kinds = {kind.value: _timing_field(*KIND_LABELS[kind]) for kind in NotificationKind}
        self.fields = {**kinds, **self.fields}

    def clean(self) -> dict[str, Any]:
        """Refuse hours that do not fit each other."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors and (
            flaw := quiet_hours_flaw(values["quiet_start_hour"], values["quiet_end_hour"], values["digest_hour"])
        ):
            self.add_error("quiet_start_hour", flaw)
        return values


def _timing_field(label: str, help_text: str) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=TIMING_CHOICES, help_text=help_text, widget=UnfoldAdminSelectWidget)


@dataclass(frozen=True, slots=True)
class RecentNotices:
    """The latest messages to a person, and whether e-mail can reach them at all."""

    notices: list[EmailNotification]
    address: str
    is_set_up: bool
    is_member: bool
    is_told: bool


def notification_preferences_page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Show the preferences (GET) or save them (POST). A link in a message leads here and changes nothing by itself."""
    actor, status = actor_of(request), 200
    terms = own_preferences(actor)
    form = NotificationPreferencesForm(request.POST if request.method == "POST" else None, initial=_form_values(terms))
    if form.is_bound:
        status = 422
        try:
            if form.is_valid():
                set_preferences(actor=actor, values=form.cleaned_data)
                messages.success(request, _saved_message(form.cleaned_data))
                return HttpResponseRedirect(reverse("admin:notification_preferences"), status=303)
        except GovernanceError as refusal:
            add_refusal_to_form(form, refusal)
            status = status_of(refusal)
    shown = {
        "title": "What I am told",
        "form": form,
        "lately": _recent_notices(request, terms, actor),
        "zone": terms.timezone or settings_of(request).timezone,
    }
    return TemplateResponse(
        request,
        "console/accounts/notification_preferences.html",
        {**site.each_context(request), **shown},
        status=status,
    )


def _form_values(terms: NotificationPreferences) -> dict[str, Any]:
    names = (
        *(kind.value for kind in NotificationKind),
        "digest_hour",
        "quiet_start_hour",
        "quiet_end_hour",
        "timezone",
    )
    return {name: getattr(terms, name) for name in names}


def _saved_message(values: Mapping[str, Any]) -> str:
    if all(values[kind.value] == DeliveryTiming.NEVER for kind in NotificationKind):
        return "Saved. You get no e-mail about pending work."
    return "Saved. This also applies to pending work that you have not been notified of yet."


def _recent_notices(request: HttpRequest, terms: NotificationPreferences, actor: Actor) -> RecentNotices:
    rows = EmailNotification.objects.filter(tenant_id=actor.tenant_id, preferences_id=terms.pk).order_by("-pk")[
        :NOTICES_SHOWN
    ]
    return RecentNotices(
        notices=list(rows) if terms.pk else [],
        address=getattr(request.user, "email", ""),
        is_set_up=settings.MAIL_SERVER is not None,
        is_member=actor.role in MEMBER_ROLES,
        is_told=any(getattr(terms, kind.value) != DeliveryTiming.NEVER for kind in NotificationKind),
    )
