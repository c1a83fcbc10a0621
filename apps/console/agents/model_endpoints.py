"""Model endpoints, their keys (which are never shown again), and the prices of models."""

from collections.abc import Callable
from datetime import datetime
from operator import attrgetter
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextInputWidget

from apps.console.framework.form_errors import add_refusal_to_form, rerender_row_page, status_of
from apps.console.framework.forms import DecisionForm, OptionalReasonForm
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import column, moment_column
from apps.console.framework.page_actions import Button, CreateAction, EditAction, PanelReader
from apps.console.framework.request_context import actor_of
from apps.console.framework.token_usage import dollars
from apps.governance.actors import Actor
from apps.governance.errors import GovernanceError
from apps.governance.governed_write import may
from apps.governance.policy.policy_table import Act
from apps.runtime.endpoint_check import try_endpoint
from apps.tenants.endpoints.actions import (
    amend_endpoint,
    create_endpoint,
    remove_endpoint,
    rotate_endpoint_key,
    set_price,
    withdraw_price,
)
from apps.tenants.models import Agent, Endpoint, ModelPrice

RATE_FIELDS = (
    *("input_micro_usd", "output_micro_usd"),
    *("cache_read_micro_usd", "cache_write_5m_micro_usd", "cache_write_1h_micro_usd"),
)
RATE_LABELS = ("Input", "Output", "Read from the cache", "Kept for 5 minutes", "Kept for an hour")


class NewKeyForm(DecisionForm):
    """A new API key, which is not shown again."""

    api_key = forms.CharField(
        required=False,
        label="New key",
        help_text="Stored encrypted and never shown again. Empty: the endpoint has none any more.",
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "off"}),
    )


class EndpointTestForm(DecisionForm):
    """The model that the test call is sent to."""

    model = forms.CharField(
        required=False,
        max_length=80,
        label="Model",
        help_text="Empty: the installation's default model.",
        widget=UnfoldAdminTextInputWidget,
    )


def endpoint_panels(endpoint: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the agents that use the endpoint, and the form of its test call."""
    actor = actor_of(request)
    form = getattr(request, "refused_trial", None) or EndpointTestForm(
        initial={"read_at": endpoint.version}, auto_id="trial_%s", label_suffix=""
    )
    return {
        "agents": Agent.objects.visible_to(actor).filter(endpoint=endpoint),
        "trial": form if may(actor, Act.ENDPOINT_TEST, row=endpoint) else None,
        "trial_url": reverse("admin:try_endpoint", args=[endpoint.pk]),
    }


def endpoint_test_page(request: HttpRequest, endpoint_id: int, site: AdminSite) -> HttpResponse:
    """Make one tiny call to the endpoint. This page runs outside the request's transaction: no lock is held during the call."""
    page = reverse("admin:tenants_endpoint_change", args=[endpoint_id])
    if request.method != "POST":
        return HttpResponseRedirect(page)
    form = EndpointTestForm(request.POST, auto_id="trial_%s", label_suffix="")
    if not form.is_valid():
        return _rerender_endpoint(request, endpoint_id, form, 422, site)
    try:
        tried = try_endpoint(endpoint_id, actor=actor_of(request), model=form.cleaned_data["model"])
    except GovernanceError as refusal:
        add_refusal_to_form(form, refusal)
        return _rerender_endpoint(request, endpoint_id, form, status_of(refusal), site)
    tell = messages.success if tried.is_ok else messages.error
    tell(request, tried.detail)
    return HttpResponseRedirect(page, status=303)


def _rerender_endpoint(
    request: HttpRequest, endpoint_id: int, form: EndpointTestForm, status: int, site: AdminSite
) -> HttpResponse:
    request.refused_trial = form  # type: ignore[attr-defined]  # read by endpoint_panels
    return rerender_row_page(request, Endpoint, endpoint_id, status, site)


def _key_message(endpoint: Endpoint) -> str:
    if endpoint.has_key:
        return "The new key is saved. Turns that begin from now on use it."
    return "The endpoint has no key any more."


def _set_price(*, actor: Actor, model: str, valid_from: datetime, **rates: int) -> ModelPrice:
    return set_price(model, valid_from, rates, actor=actor)


def _list_url(row: Endpoint | ModelPrice) -> str:
    return reverse(f"admin:tenants_{row._meta.model_name}_changelist")


class EndpointAdmin(GovernedAdmin):
    """Endpoints that agents can use besides the installation's own."""

    list_display = ("key", "title", "base_url", "key_kept", "updated")
    search_fields = ("key", "title", "base_url")
    search_help_text = "Search key, title or address"
    empty = "No endpoint yet: every agent thinks where the installation says. Add one, give it its key, and try it."
    add_fields = ("key", "title", "base_url")
    fields = ("title", "base_url")
    change_form_template = "console/agents/model_endpoint.html"
    saved = "Saved. Turns that begin from now on use it. If the server changed, its key was removed: enter it again."
    creates = CreateAction(Act.ENDPOINT_CREATE, create_endpoint, add_fields)
    amends = (EditAction(Act.ENDPOINT_AMEND, amend_endpoint),)
    panels = PanelReader(endpoint_panels)
    buttons = (
        Button(
            "key",
            "Rotate the key",
            Act.ENDPOINT_ROTATE_KEY,
            rotate_endpoint_key,
            done=_key_message,
            consequence="Turns that begin from now on use the new key; those under way end with the old one.",
            form=NewKeyForm,
            tone="primary",
        ),
        Button(
            "remove",
            "Remove",
            Act.ENDPOINT_REMOVE,
            remove_endpoint,
            done="Removed, with its key.",
            consequence="The endpoint and its key are gone. No agent may think there any more when it is removed.",
            form=OptionalReasonForm,
            tone="danger",
            leads_to=_list_url,
        ),
    )

    key_kept = column("Key kept", attrgetter("has_key"), boolean=True)


def _rate_column(name: str, label: str) -> Callable[[ModelPrice], str]:
    """Return a column that shows one rate in dollars."""

    @admin.display(description=f"{label}, a million tokens", ordering=name)
    def shown(price: ModelPrice) -> str:
        return dollars(getattr(price, name))

    return shown


class PriceAdmin(GovernedAdmin):
    """Prices of models for this tenant; they take precedence over the product's price list."""

    list_display = ("model", "since", *map(_rate_column, RATE_FIELDS, RATE_LABELS))
    search_fields = ("model",)
    search_help_text = "Search model"
    empty = "No price of your own: the product's price list holds. Add one where your contract says otherwise."
    add_fields = ("model", "valid_from", *RATE_FIELDS)
    fields = ("model", "valid_from", *RATE_FIELDS)
    creates = CreateAction(Act.PRICE_SET, _set_price, add_fields)
    saved = "Saved. Costs that were charged before do not change."
    buttons = (
        Button(
            "withdraw",
            "Withdraw",
            Act.PRICE_WITHDRAW,
            withdraw_price,
            done="Withdrawn. The previous price applies again, or the product's list.",
            consequence="The price before it holds again, or the product's list. What was charged stays as it was.",
            form=OptionalReasonForm,
            tone="danger",
            leads_to=_list_url,
        ),
    )

    since = moment_column("From", "valid_from")
