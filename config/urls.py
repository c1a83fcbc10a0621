"""URLs of the installation."""

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, include, path


def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers; whether it can serve is the readiness of its parts."""
    del request
    return HttpResponse("ok\n", content_type="text/plain")


urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", healthz),
    path("api/v1/", include("apps.api.urls")),
]
