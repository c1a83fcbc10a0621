"""Saved filters: filters of the inbox under a name, shown above the list, saved and deleted by plain forms."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NoReturn
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ALL_VAR, ERROR_FLAG, ORDER_VAR, PAGE_VAR, SEARCH_VAR
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import URLPattern, path, reverse
from unfold.widgets import UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from apps.console.framework.actor_names import actor_label
from apps.console.framework.change_lists import ALL, TAB, order_by_names
from apps.console.framework.form_errors import add_refusal_to_form, status_of
from apps.console.framework.request_context import actor_of, people_of
from apps.governance.errors import GovernanceError, Invalid
from apps.governance.models import Proposal
from apps.review.models import SavedFilter
from apps.review.proposal_queues import LABELS
from apps.review.rules import QUERY_CHARACTERS
from apps.review.saved_filters import delete_filter, may_be_deleted_by, save_filter

# The position in a list, which is not part of its filters.
POSITION_PARAMETERS: Final = frozenset({PAGE_VAR, ALL_VAR, ERROR_FLAG})
NOT_NARROWED: Final = "The inbox is not filtered. Choose a tab, a filter or words to search first."
TOO_LONG: Final = f"The filters of the inbox take more than {QUERY_CHARACTERS:,} characters. Search for fewer words."
INVALID_FILTER: Final = "The inbox cannot be filtered like that. Choose its filters again."


class SaveFilterForm(forms.Form):
    """A name, and whether all members of the tenant have the filter too."""

    name = forms.CharField(
        label="Name",
        help_text="Up to 60 characters.",
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
    )
    is_shared = forms.BooleanField(
        label="Share it with the tenant",
        required=False,
        help_text="Every member then has it above their inbox; you or an admin may delete it.",
        widget=UnfoldBooleanWidget,
    )
    query = forms.CharField(required=False, strip=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", "auto_id": "saved_%s", **kwargs})


@dataclass(frozen=True, slots=True)
class ShownFilter:
    """One saved filter as the inbox shows it; `sharer` is empty if it is the reader's own."""

    saved: SavedFilter
    sharer: str
    is_chosen: bool
    may_be_deleted: bool


@dataclass(frozen=True, slots=True)
class SavedFilterPanel:
    """The saved filters above the inbox, and the form that saves its present filters."""

    kept: tuple[ShownFilter, ...]
    query: str
    form: SaveFilterForm | None
    is_refused: bool

    @property
    def deletable(self) -> list[ShownFilter]:
        """The filters that the reader may delete."""
        return [each for each in self.kept if each.may_be_deleted]


def canonical_query(asked: QueryDict, columns: Sequence[Any]) -> str:
    """Return the filters of the inbox as a query string: sorted, without the page, and ordered by column names."""
    pairs = {(name, word) for name, words in asked.lists() if name not in POSITION_PARAMETERS for word in words if word}
    named = {(name, order_by_names(word, columns) if name == ORDER_VAR else word) for name, word in pairs}
    return urlencode(sorted(named))


def saved_filter_panel(request: HttpRequest, columns: Sequence[Any]) -> SavedFilterPanel:
    """Return the saved filters for the reader, their own first, and the form to save one."""
    actor, query = actor_of(request), canonical_query(request.GET, columns)
    refused: SaveFilterForm | None = getattr(request, "refused_filter", None)
    unbound = SaveFilterForm(initial={"query": query}) if query and actor.is_person else None
    kept = sorted(_shown_filters(request, query), key=lambda each: (bool(each.sharer), each.saved.name.casefold()))
    return SavedFilterPanel(tuple(kept), query, refused or unbound, is_refused=refused is not None)


def _shown_filters(request: HttpRequest, query: str) -> Iterator[ShownFilter]:
    actor = actor_of(request)
    for saved in SavedFilter.objects.visible_to(actor):
        sharer = "" if saved.user_id == actor.user_id else people_of(request)[actor_label(saved.user_id)]
        yield ShownFilter(saved, sharer, saved.query == query, may_be_deleted_by(saved, actor))


def filter_urls(site: AdminSite) -> list[URLPattern]:
    """Return the URL patterns of the forms above the inbox."""
    return [
        path("inbox/filters/", site.admin_view(partial(save_filter_page, site)), name="save_filter"),
        path("inbox/filters/<int:filter_id>/delete/", site.admin_view(delete_filter_page), name="delete_filter"),
    ]


def save_filter_page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Save a filter (POST). If it is refused, show the inbox with the form and the reason. A GET shows the inbox."""
    if request.method != "POST":
        return HttpResponseRedirect(_inbox_url(request.GET.urlencode()))
    pages, form = site.get_model_admin(Proposal), SaveFilterForm(request.POST)
    # The list checks the filters, and is shown again if the form is refused.
    request.method, request.GET = "GET", QueryDict(request.POST.get("query", ""))
    try:
        query = checked_query(pages, request)
    except Invalid as refusal:
        request.GET = QueryDict()
        return _rerender_inbox(pages, request, form, refusal)
    if not form.is_valid():
        return _rerender_inbox(pages, request, form)
    values = form.cleaned_data
    try:
        saved = save_filter(actor=actor_of(request), name=values["name"], query=query, is_shared=values["is_shared"])
    except GovernanceError as refusal:
        return _rerender_inbox(pages, request, form, refusal)
    messages.success(request, f"Saved. “{saved.name}” is now above the inbox.")
    return HttpResponseRedirect(_inbox_url(query), status=303)


def _rerender_inbox(
    pages: "ModelAdmin[Any]", request: HttpRequest, form: SaveFilterForm, refusal: GovernanceError | None = None
) -> HttpResponse:
    if refusal is not None:
        add_refusal_to_form(form, refusal)
    request.refused_filter = form  # type: ignore[attr-defined]  # read by saved_filter_panel
    shown: HttpResponse = pages.changelist_view(request)
    shown.status_code = 422 if refusal is None else status_of(refusal)
    return shown


def delete_filter_page(request: HttpRequest, filter_id: int) -> HttpResponse:
    """Delete a filter (POST) and show the inbox as before. A GET deletes nothing."""
    if request.method == "POST":
        actor = actor_of(request)
        saved = SavedFilter.objects.visible_to(actor).filter(pk=filter_id).first()
        if saved is None:
            raise Http404("There is no such filter.")
        delete_filter(saved, actor=actor)
        messages.success(request, f"Deleted “{saved.name}”.")
    return HttpResponseRedirect(_inbox_url(canonical_query(QueryDict(request.POST.get("query", "")), ())), status=303)


def checked_query(pages: "ModelAdmin[Any]", request: HttpRequest) -> str:
    """Return the query of the list, after the list has accepted every part of it; refuse it otherwise."""
    query, columns = canonical_query(request.GET, pages.list_display), {str(name) for name in pages.list_display}
    if not query:
        _refuse(NOT_NARROWED)
    if len(query) > QUERY_CHARACTERS:
        _refuse(TOO_LONG)
    if strange := sorted(set(request.GET) - POSITION_PARAMETERS - set(_known_parameters(pages, request))):
        _refuse(f"The inbox has no filter “{strange[0][:40]}”. Choose its filters again.")
    try:
        listed = pages.get_changelist_instance(request)
    except IncorrectLookupParameters:
        _refuse(INVALID_FILTER)
    tab, order = request.GET.get(TAB, ALL), QueryDict(query).get(ORDER_VAR)
    chosen = (any(choice["selected"] for choice in spec.choices(listed)) for spec in listed.filter_specs)
    if (
        tab not in {*LABELS, ALL}
        or (order and {each.removeprefix("-") for each in order.split(".")} - columns)
        or not all(chosen)
    ):
        _refuse(INVALID_FILTER)
    return query


def _known_parameters(pages: "ModelAdmin[Any]", request: HttpRequest) -> Iterator[str]:
    """Yield the parameter names that the list's own links use."""
    yield from (TAB, SEARCH_VAR, ORDER_VAR)
    for declared in pages.get_list_filter(request):
        named = declared[0] if isinstance(declared, tuple) else declared
        if isinstance(named, str):
            is_relation = pages.model._meta.get_field(named).is_relation
            yield from (f"{named}__id__exact" if is_relation else f"{named}__exact", f"{named}__isnull")
        else:
            yield named.parameter_name  # type: ignore[union-attr]  # all others are of this kind


def _refuse(message: str) -> NoReturn:
    raise Invalid(message, {})


def _inbox_url(query: str = "") -> str:
    return reverse("admin:governance_proposal_changelist") + (f"?{query}" if query else "")
