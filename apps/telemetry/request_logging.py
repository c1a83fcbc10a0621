"""Around every request of a web process: its id goes in and out, and at its end it is counted and said in one line.

The line names the route and not the address, which may carry what somebody searched for, or a token.
"""

import logging
import re
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, Final

from apps.telemetry.log_context import log_context
from apps.telemetry.product_metrics import REQUEST_SECONDS, REQUESTS

logger = logging.getLogger(__name__)

REQUEST_ID_HEADER: Final = b"x-request-id"
# What somebody else's id may be; anything else is replaced by one of ours.
REQUEST_ID_PATTERN: Final = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
# Where the route is noted once it is known.
ROUTE_KEY: Final = "preceptor.route"
UNMATCHED: Final = "unmatched"
# Asked every few seconds by machines; they are counted and not said.
PROBE_ROUTES: Final = frozenset({"healthz", "readyz", "metrics"})
SURFACES: Final = {"api": "api", "admin": "console", "mcp": "mcp", "files": "files"}

# Any: what the servers' own protocol hands about.
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]


class RequestLogMiddleware:
    """An ASGI application whose requests have ids, lines and counts."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """One request, or the life of the process, which is left alone."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id, recorder, began = request_id_of(scope), ResponseRecorder(send), time.monotonic()
        recorder.request_id = request_id.encode()
        with log_context(request_id=request_id):
            try:
                await self._app(scope, receive, recorder)
            finally:
                log_request(scope, recorder, time.monotonic() - began)


class ResponseRecorder:
    """What is sent back: the status is remembered, and the id goes along."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.request_id = b""
        self.status = 0
        self.is_stream = False

    async def __call__(self, message: Any) -> None:
        """One message."""
        if message["type"] == "http.response.start":
            headers = [header for header in message.get("headers", ()) if header[0].lower() != REQUEST_ID_HEADER]
            self.status = message["status"]
            self.is_stream = (b"content-type", b"text/event-stream") in [(name.lower(), each) for name, each in headers]
            message = {**message, "headers": [*headers, (REQUEST_ID_HEADER, self.request_id)]}
        await self._send(message)

    @property
    def transport(self) -> Any:
        """The server's, for whoever has to hang up."""
        return getattr(getattr(self._send, "__self__", None), "transport", None)


def request_id_of(scope: Any) -> str:
    """The id somebody gave, where it is one, or a new one."""
    given = next((value for name, value in scope["headers"] if name == REQUEST_ID_HEADER), b"").decode("latin-1")
    return given if REQUEST_ID_PATTERN.fullmatch(given) else uuid.uuid4().hex


def log_request(scope: Any, recorder: ResponseRecorder, seconds: float) -> None:
    """Count a request and say it."""
    route = str(scope.get(ROUTE_KEY, UNMATCHED))
    # A client that went away before there was an answer, as proxies count it.
    status, method = recorder.status or 499, scope["method"]
    REQUESTS.labels(method=method, route=route, status=status).inc()
    if not recorder.is_stream:
        surface = SURFACES.get(route.strip("^/").partition("/")[0], "other")
        REQUEST_SECONDS.labels(surface=surface).observe(seconds)
    if route not in PROBE_ROUTES:
        logger.info(
            "request", extra={"method": method, "route": route, "status": status, "milliseconds": round(seconds * 1000)}
        )
