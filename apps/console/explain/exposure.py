"""Exposure of a row: the sessions that carried it in their prompt, by version or by exact line."""

from typing import Any, Final

from django import forms
from django.contrib.admin import AdminSite
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.console.framework.request_context import actor_of
from apps.console.framework.row_titles import title_of
from apps.console.framework.row_urls import EXPOSURE_MODELS, url_of_subject
from apps.governance.models import Governed
from apps.learning.lessons.models import LearningVersion
from apps.prompt.memory_lines.line_diff import split_lines, strip_line
from apps.runtime.explain.exposure import MAX_COUNTED, MAX_PARTS_READ, MAX_SHOWN, exposure_of

LINES_OFFERED: Final = 60
LARGEST_VERSION: Final = 2**31 - 1
TEXT_FIELDS: Final = (
    "identity",
    "style",
    "avoid",
    "defaults",
    "goals",
    "text",
    "description",
    "body",
    "preferences",
    "notes",
)


class ExposureForm(forms.Form):
    """Restricts the exposure to one version or one line of the row."""

    version = forms.IntegerField(
        label="Version",
        required=False,
        min_value=1,
        max_value=LARGEST_VERSION,
        help_text="Left out, it is any version.",
        widget=UnfoldAdminTextInputWidget(attrs={"inputmode": "numeric"}),
    )
    line = forms.CharField(
        label="Very line",
        required=False,
        max_length=2000,
        help_text="Exactly as the prompt has it. Left out, it is any of the row's words.",
        widget=UnfoldAdminTextInputWidget,
    )


def exposure_page(request: HttpRequest, record_type: str, record_id: int, site: AdminSite) -> HttpResponse:
    """Show the latest sessions that carried the row; a GET changes nothing."""
    row = _row_or_404(request, record_type, record_id)
    form = ExposureForm(request.GET, label_suffix="")
    context: dict[str, Any] = {
        **site.each_context(request),
        "title": "Who was told this",
        "original": row,
        "heading": title_of(row),
        "row_url": url_of_subject(record_type, record_id),
        "form": form,
        "has_versions": not isinstance(row, LearningVersion),
        "lines": _lines_of(row),
        "limits": {"counted": MAX_COUNTED, "shown": MAX_SHOWN, "parts": MAX_PARTS_READ},
    }
    status = 422
    if form.is_valid():
        asked, status = form.cleaned_data, 200
        context["exposure"] = exposure_of(
            row, actor=actor_of(request), now=timezone.now(), version=asked["version"], line=asked["line"]
        )
    return TemplateResponse(request, "console/explain/exposure.html", context, status=status)


def _row_or_404(request: HttpRequest, record_type: str, record_id: int) -> Governed:
    model: Any = EXPOSURE_MODELS.get(record_type)  # Any: its manager is typed per noun
    row: Governed | None = model.objects.visible_to(actor_of(request)).filter(pk=record_id).first() if model else None
    if row is None:
        raise Http404("There is no such row, or no prompt carries it.")
    return row


def _lines_of(row: Governed) -> list[str]:
    """Return the present lines of the row, to choose from."""
    texts = (str(getattr(row, name, "")) for name in TEXT_FIELDS)
    lines = dict.fromkeys(line for text in texts for each in split_lines(text) if (line := strip_line(each)))
    return list(lines)[:LINES_OFFERED]
