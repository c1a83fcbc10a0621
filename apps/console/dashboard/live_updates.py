"""Live counts, which an open list or page polls: whether there is more to decide, and whether somebody else has decided.

The answer holds numbers only; the texts come when the page is loaded again.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from django.contrib.admin import AdminSite
from django.db.models import Count, Max, QuerySet
from django.http import HttpRequest, JsonResponse
from django.urls import URLPattern, path
from django.views.decorators.http import require_safe

from apps.console.framework.request_context import actor_of
from apps.console.review.inbox_filters import waiting_proposals
from apps.desk.models import Draft, Escalation
from apps.desk.queues import waiting_drafts, waiting_escalations, waiting_reports
from apps.desk.reports.models import Report
from apps.governance.actors import Actor
from apps.governance.models import Governed, Proposal
from apps.governance.row_ids import parse_row_id

WATCHED_LISTS: Final[Mapping[type[Governed], Callable[[Actor], QuerySet[Any]]]] = {
    Draft: waiting_drafts,
    Escalation: waiting_escalations,
    Proposal: waiting_proposals,
    Report: waiting_reports,
}


def live_url_name(model: type[Governed]) -> str:
    """Return the URL name of the live counts of a list."""
    return f"live_{model._meta.model_name}"


@require_safe
def live_counts(request: HttpRequest, model: type[Governed]) -> JsonResponse:
    """Return the number of waiting rows, the newest id, and the version of the row that `row` names, null if it is not there."""
    actor = actor_of(request)
    counts = WATCHED_LISTS[model](actor).order_by().aggregate(count=Count("pk"), newest=Max("pk"))
    row_id = parse_row_id(request.GET.get("row", ""))
    if row_id is not None:
        rows: QuerySet[Any] = model.objects.visible_to(actor)
        counts["version"] = rows.filter(pk=row_id).values_list("version", flat=True).first()
    return JsonResponse(counts)


def live_urls(site: AdminSite) -> list[URLPattern]:
    """Return one URL pattern for each list."""
    return [
        path(
            f"live/{model._meta.model_name}/",
            site.admin_view(partial(live_counts, model=model)),
            name=live_url_name(model),
        )
        for model in WATCHED_LISTS
    ]
