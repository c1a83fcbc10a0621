"""Base class of all pages: it turns a declaration into lists, forms, buttons and refusals."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from django.contrib import messages
from django.contrib.admin.utils import quote, unquote
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.db.models import Model, Q, QuerySet, TextField
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from unfold.admin import ModelAdmin

from apps.console.framework.badges import badge
from apps.console.framework.change_lists import TabbedList
from apps.console.framework.form_errors import add_refusal_to_form, record_refused_request, status_of
from apps.console.framework.forms import READ_AT, GovernedForm, VerbatimTextField
from apps.console.framework.list_columns import column, moment_column
from apps.console.framework.page_actions import (
    NO_PANELS,
    Button,
    ButtonForm,
    CreateAction,
    EditAction,
    PanelReader,
    RefusedDecision,
    Tabs,
    button_forms,
    prefilled_values,
)
from apps.console.framework.request_context import actor_of, people_of
from apps.console.framework.row_counts import CountedPaginator
from apps.console.framework.row_titles import title_of
from apps.console.framework.version_history import history_context, version_urls
from apps.governance.errors import GovernanceError, Stale
from apps.governance.models import Governed


class GovernedAdmin(ModelAdmin):
    """Pages of one noun. A subclass declares what they show and which acts they offer."""

    creates: ClassVar[CreateAction | None] = None
    amends: ClassVar[tuple[EditAction, ...]] = ()
    buttons: ClassVar[tuple[Button, ...]] = ()
    tabs: ClassVar[Tabs | None] = None
    panels: ClassVar[PanelReader] = NO_PANELS
    changelist: ClassVar[type[TabbedList]] = TabbedList
    counts: ClassVar[Mapping[str, int]] = {}
    # The rows, among those the actor sees, that these pages are about.
    only: ClassVar[Q] = Q()
    # A noun with one row per tenant has no list: its address leads to the row.
    has_one_row: ClassVar[bool] = False
    empty: ClassVar[str] = "Nothing here yet."
    add_fields: ClassVar[tuple[str, ...]] = ()
    edit_label: ClassVar[str] = ""
    saved: ClassVar[str] = "Saved. Sessions already open keep what they started with."

    form = GovernedForm
    actions = None
    list_per_page = 50
    paginator = CountedPaginator
    show_full_result_count = False
    list_before_template = "console/framework/list_header.html"
    change_form_template = "console/framework/page.html"
    add_form_template = "console/framework/page.html"
    view_on_site = False

    updated = moment_column("Updated", "updated_at")
    state_shown = column("State", lambda row: badge(row.status), ordering="status")
    whose_words = column("Whose words", lambda row: str(row.taint), ordering="taint")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return getattr(request, "actor", None) is not None

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let every member read all rows of the tenant; row security limits them to it."""
        return self.has_module_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.creates is not None and self.creates.is_open_to(actor_of(request))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._edit_action(request, obj) is not None

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: rows are archived, not deleted."""
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        if issubclass(self.model, Governed):
            rows = self.model._default_manager.visible_to(actor_of(request))  # see models/base.py
        else:
            rows = self.model._default_manager.all()
        rows = rows.filter(self.only)
        # Without names Django would join every reference there is.
        related = self.list_select_related or ()
        joined: QuerySet[Any] = rows.select_related(*related) if related else rows
        return joined

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        row = super().get_object(request, object_id, from_field)
        if row is not None:
            row.people = people_of(request)
        return row

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[TabbedList]:
        return self.changelist

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        only = self.get_queryset(request).first() if self.has_one_row else None
        if only is not None:
            return HttpResponseRedirect(self.url_of(only))
        response: HttpResponse = super().changelist_view(request, extra_context)
        listed = (getattr(response, "context_data", None) or {}).get("cl")
        if listed:
            for row in listed.result_list:
                row.people = people_of(request)
            # Our own filters are links above the table; unfold's sheet cannot be opened by keyboard.
            listed.filters_shown = list(listed.filters())
            listed.has_filters = False
        return response

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return prefilled_values(self.creates, super().get_changeform_initial_data(request), request)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.add_fields if obj is None else self.fields or ()

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return ()
        amendment = self._edit_action(request, obj)
        writable = amendment.writable(actor_of(request), obj) if amendment else frozenset()
        if amendment:
            # A form may ask for more than columns, such as the reason. The act receives it with them.
            columns = {field.name for field in self.model._meta.fields}
            writable |= self.form.declared_fields.keys() - columns
        return [name for name in self.get_fields(request, obj) if name not in writable]

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> type[GovernedForm]:
        made = super().get_form(request, obj, change=change, **kwargs)
        refusal = getattr(request, "form_refusal", None)
        named = {"refusal": refusal, "counts": self.counts, "actor": actor_of(request)}
        form = cast("type[GovernedForm]", type(made.__name__, (made,), named))
        for name, sentence in (self.creates.explains(request) if self.creates and obj is None else {}).items():
            form.base_fields[name].help_text = f"{form.base_fields[name].help_text} {sentence}"
        return form

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if isinstance(field.widget, RelatedFieldWidgetWrapper):
            # Related rows are made and changed on their own pages, not in pop-ups.
            field.widget = field.widget.widget
        if isinstance(db_field, TextField):
            return VerbatimTextField(
                required=field.required, label=field.label, help_text=field.help_text, widget=field.widget
            )
        return field

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs["queryset"] = db_field.remote_field.model._default_manager.visible_to(actor_of(request))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: Any, form: GovernedForm, change: bool) -> None:
        actor, values = actor_of(request), form.governed_values
        if change:
            amendment = self._edit_action(request, obj)
            if amendment:
                amendment.call(obj, actor=actor, read_at=form.cleaned_data[READ_AT], **values)
        elif self.creates:
            made = self.creates.call(actor=actor, **values)
            obj.pk, request.made = made.pk, made  # type: ignore[attr-defined]  # read by response_post_save_add

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the form again after a refused save, with the reason and everything that was typed."""
        try:
            shown: HttpResponse = super().changeform_view(request, object_id, form_url, extra_context)
        except GovernanceError as refusal:
            if request.method != "POST":
                raise
            return self._show_refused_form(request, object_id, form_url, extra_context, refusal)
        return shown

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, obj: Any = None, **kwargs: Any
    ) -> HttpResponse:
        context |= {"edit_label": self.edit_label, "show_history": False}
        if obj is not None:
            # A refused form has written the typed values into the row; the rest of the page shows the stored row.
            live = (self.get_object(request, str(obj.pk)) or obj) if request.method == "POST" else obj
            context |= {"original": live, "heading": title_of(live), **self.panels.read(live, request)}
            context |= {
                "decisions": self._button_forms(request, live),
                **history_context(self, live, people_of(request)),
            }
        rendered: HttpResponse = super().render_change_form(request, context, *args, obj=obj, **kwargs)
        return rendered

    def get_urls(self) -> list[URLPattern]:
        decide = self.admin_site.admin_view(self.decide)
        own = path("<path:object_id>/decide/<slug:name>/", decide, name=f"{self._url_stem()}_decide")
        return [own, *version_urls(self), *super().get_urls()]

    def decide(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        """Perform one decision by POST; a GET shows the page and changes nothing."""
        button = next((button for button in self.buttons if button.name == name), None)
        row = self.get_object(request, unquote(object_id))
        if button is None or row is None:
            raise Http404("There is no such decision here.")
        if request.method != "POST":
            return HttpResponseRedirect(self.url_of(row))
        form = button.bound(request.POST)
        status = 422
        if form.is_valid():
            try:
                return self._respond_to_decision(
                    request, row, button, button.perform(row, actor_of(request), form.cleaned_data)
                )
            except GovernanceError as refusal:
                add_refusal_to_form(form, refusal)
                status = status_of(refusal)
        return self._show_refused_decision(request, row, RefusedDecision(row.pk, button, form), status)

    def url_of(self, row: Model) -> str:
        """The row's page."""
        return reverse(f"admin:{self._url_stem()}_change", args=[row.pk])

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str) -> HttpResponse:
        # Django redirects home with a message; a POST to a missing row is recorded as a refusal too.
        record_refused_request(request, Http404())
        home: HttpResponse = super()._get_obj_does_not_exist_redirect(request, opts, object_id)
        return home

    def response_post_save_add(self, request: HttpRequest, obj: Any) -> HttpResponse:
        if self.creates and self.creates.answer_template:
            return self._render_once(request, self.creates.answer_template, request.made, obj, "Done")  # type: ignore[attr-defined]  # set by save_model
        return HttpResponseRedirect(self.url_of(obj))

    def response_post_save_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        return HttpResponseRedirect(self.url_of(obj))

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Redirect to the change records on the row's page, which are its history."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            raise Http404("There is no such row.")
        return HttpResponseRedirect(f"{self.url_of(row)}#changes")

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> None:
        """The change record is the history; Django's log keeps nothing."""

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> None:
        """The change record is the history; Django's log keeps nothing."""

    def message_user(
        self, request: HttpRequest, message: Any, level: int = messages.INFO, *args: Any, **kwargs: Any
    ) -> None:
        """Replace Django's sentence about a save with the page's own."""
        messages.add_message(request, level, self.saved if level == messages.SUCCESS else message)

    def _edit_action(self, request: HttpRequest, obj: Any) -> EditAction | None:
        actor = actor_of(request)
        fitting = (amendment for amendment in self.amends if obj is None or amendment.when(obj))
        return next((amendment for amendment in fitting if amendment.is_open_to(actor, obj)), None)

    def _button_forms(self, request: HttpRequest, obj: Any) -> list[ButtonForm]:
        refused: RefusedDecision | None = getattr(request, "refused_decision", None)
        view = f"admin:{self._url_stem()}_decide"
        return list(button_forms(obj, self.buttons, actor_of(request), view, refused))

    def _respond_to_decision(self, request: HttpRequest, row: Any, button: Button, made: Any) -> HttpResponse:
        if button.answer_template:
            return self._render_once(request, button.answer_template, made, row, button.label)
        messages.success(request, button.said(made))
        return HttpResponseRedirect(button.leads_to(row) if button.leads_to else self.url_of(row), status=303)

    def _render_once(self, request: HttpRequest, template: str, made: Any, row: Any, title: str) -> HttpResponse:
        """Render a page that is shown once: its content cannot be read again."""
        context = {**self.admin_site.each_context(request), "made": made, "row": row, "title": title}
        answer = TemplateResponse(request, template, context)
        answer.headers["Cache-Control"] = "no-store"
        return answer

    def _show_refused_decision(
        self, request: HttpRequest, row: Any, refused: RefusedDecision, status: int
    ) -> HttpResponse:
        # The row's page is shown again around the refused form; Django would take a POST for the edit form.
        request.method = "GET"
        request.refused_decision = refused  # type: ignore[attr-defined]  # read by _button_forms
        response = self.changeform_view(request, quote(str(row.pk)))
        response.status_code = status
        return response

    def _show_refused_form(
        self, request: HttpRequest, object_id: str | None, form_url: str, extra: Any, refusal: GovernanceError
    ) -> HttpResponse:
        request.form_refusal = refusal  # type: ignore[attr-defined]  # read by get_form
        if isinstance(refusal, Stale):
            posted = request.POST.copy()
            posted[READ_AT] = str(refusal.current_version)
            extra = {**(extra or {}), "stale_since": request.POST.get(READ_AT)}
            request.POST = posted  # type: ignore[assignment]  # a mutable copy of the same
        response: HttpResponse = super().changeform_view(request, object_id, form_url, extra)
        response.status_code = status_of(refusal)
        return response

    def _url_stem(self) -> str:
        return f"{self.model._meta.app_label}_{self.model._meta.model_name}"
