"""URL configuration of the installation."""

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from apps.api.openapi.error_reference import error_reference
from apps.api.resources.skills.skill_attachments import download_attachment
from apps.console.site import site
from apps.operations.metrics import metrics
from apps.operations.readiness import readyz


def healthz(request: HttpRequest) -> HttpResponse:
    """Answer that the process is alive. The database is not checked: its absence is no reason to restart this process."""
    del request
    return HttpResponse("ok\n", content_type="text/plain")


urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", healthz),
    path("readyz", readyz),
    path("metrics", metrics),
    path("api/v1/", include("apps.api.urls")),
    path("files/<str:token>", download_attachment, name="file"),
    path("docs/errors", error_reference, name="error-reference"),
    path("admin/", site.urls),
    path("", RedirectView.as_view(pattern_name="admin:index")),
]
