"""Records the route of a request, for the log line and the counters at its end."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from apps.telemetry.request_logging import ROUTE_KEY

GetResponse = Callable[[HttpRequest], Any]


@sync_and_async_middleware
def note_route(get_response: GetResponse) -> GetResponse:
    """Write the route into the ASGI scope, where the server code reads it. A request without an ASGI server has no scope."""
    if asyncio.iscoroutinefunction(get_response):

        async def answered(request: HttpRequest) -> HttpResponseBase:
            waiting: Awaitable[HttpResponseBase] = get_response(request)
            response = await waiting
            _record_route(request)
            return response

        return answered

    def answered_at_once(request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = get_response(request)
        _record_route(request)
        return response

    return answered_at_once


def _record_route(request: HttpRequest) -> None:
    scope: dict[str, Any] | None = getattr(request, "scope", None)
    if scope is not None and request.resolver_match is not None:
        scope[ROUTE_KEY] = request.resolver_match.route
