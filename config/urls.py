"""URLs of the installation."""

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from apps.api.files import signed_file
from apps.console.site import site


def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers; whether it can serve is the readiness of its parts."""
    del request
    return HttpResponse("ok\n", content_type="text/plain")


urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", healthz),
    path("api/v1/", include("apps.api.urls")),
    path("files/<str:token>", signed_file, name="file"),
    path("admin/", site.urls),
    path("", RedirectView.as_view(pattern_name="admin:index")),
]
