"""The page of a row, shown again with the refusal of something that was posted to an address of its own."""

from typing import Any

from django.contrib.admin import AdminSite
from django.http import Http404, HttpRequest, HttpResponse

from apps.console.requests import actor_of
from apps.governance.database.actor_transaction import acting
from apps.governance.models.base import Governed


def shown_again(request: HttpRequest, model: type[Governed], row_id: int, status: int, site: AdminSite) -> HttpResponse:
    """What was posted is read by the page's panels, from the request."""
    # As a POST Django would take it for the edit form's.
    request.method = "GET"
    page = site.get_model_admin(model)
    with acting(actor_of(request)):
        if not page.get_queryset(request).filter(pk=row_id).exists():
            raise Http404(f"There is no such {model._meta.verbose_name}.")
        response: Any = page.changeform_view(request, str(row_id))
        response.render()
    return HttpResponse(response.content, status=status)
