"""Middleware around every request of a web process: it sets the request id, and counts and logs the request at its end.

The log line names the route instead of the address, since an address may contain a search text or a token.
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
# The format of a valid request id; a caller's id of any other form is replaced.
REQUEST_ID_PATTERN: Final = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
# The scope key of the route, once the route is known.
ROUTE_KEY: Final = "preceptor.route"
UNMATCHED: Final = "unmatched"
# Health checks and scrapes are requested every few seconds, so they are counted but not logged.
PROBE_ROUTES: Final = frozenset({"healthz", "readyz", "metrics"})
SURFACES: Final = {"api": "api", "admin": "console", "mcp": "mcp", "files": "files"}

# Any: the messages of the ASGI protocol.
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]


class RequestLogMiddleware:
    """An ASGI application that adds ids, log lines and counts to requests."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Handle one request. Lifespan and other scopes pass unchanged."""
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
    """The response of a request, which records the status and adds the request id."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.request_id = b""
        self.status = 0
        self.is_stream = False

    async def __call__(self, message: Any) -> None:
        """Send one ASGI message."""
        if message["type"] == "http.response.start":
            headers = [header for header in message.get("headers", ()) if header[0].lower() != REQUEST_ID_HEADER]
            self.status = message["status"]
            self.is_stream = (b"content-type", b"text/event-stream") in [(name.lower(), each) for name, each in headers]
            message = {**message, "headers": [*headers, (REQUEST_ID_HEADER, self.request_id)]}
        await self._send(message)

    @property
    def transport(self) -> Any:
        """Return the server's transport, for callers that have to close the connection."""
        return getattr(getattr(self._send, "__self__", None), "transport", None)


def request_id_of(scope: Any) -> str:
    """Return the caller's request id if it is valid, otherwise a new one."""
    given = next((value for name, value in scope["headers"] if name == REQUEST_ID_HEADER), b"").decode("latin-1")
    return given if REQUEST_ID_PATTERN.fullmatch(given) else uuid.uuid4().hex


def log_request(scope: Any, recorder: ResponseRecorder, seconds: float) -> None:
    """Count a request and log it."""
    route = str(scope.get(ROUTE_KEY, UNMATCHED))
    # 499 for a client that disconnected before the answer, as proxies do.
    status, method = recorder.status or 499, scope["method"]
    REQUESTS.labels(method=method, route=route, status=status).inc()
    if not recorder.is_stream:
        surface = SURFACES.get(route.strip("^/").partition("/")[0], "other")
        REQUEST_SECONDS.labels(surface=surface).observe(seconds)
    if route not in PROBE_ROUTES:
        logger.info(
            "request", extra={"method": method, "route": route, "status": status, "milliseconds": round(seconds * 1000)}
        )
