"""Metrics for Prometheus: of the web process at an address of its own, of workers and the beat at a port of theirs."""

import hmac
import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound
from django.views.decorators.http import require_safe

from apps.operations.figures import InstallationFigures
from apps.telemetry.product_metrics import REQUESTS
from apps.telemetry.prometheus import exposition

logger = logging.getLogger(__name__)

# Loaded with the counts of every process.
COUNTS: Final = (REQUESTS,)
PATH: Final = "/metrics"


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """What this web process counts, and what the database says of the installation. Nothing, without the token that is set."""
    if not may_read(request.headers.get("Authorization", "")):
        return HttpResponseNotFound()
    body, content_type = exposition(request.headers.get("Accept", ""), InstallationFigures())
    answer = HttpResponse(body, content_type=content_type)
    answer["Cache-Control"] = "no-store"
    return answer


def may_read(authorization: str) -> bool:
    """Whether this is the token of the setting; where none is set, there are no metrics."""
    scheme, _, token = authorization.partition(" ")
    wanted = settings.METRICS_TOKEN
    return bool(wanted) and scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), wanted.encode())


class _Asked(BaseHTTPRequestHandler):
    """One question to a process that serves nothing else."""

    server_version, sys_version = "Preceptor", ""

    def do_GET(self) -> None:  # the library's own name
        """The metrics; where a token is set, for whoever has it."""
        is_theirs = not settings.METRICS_TOKEN or may_read(self.headers.get("Authorization", ""))
        found = urlsplit(self.path).path == PATH and is_theirs
        body, content_type = exposition(self.headers.get("Accept", "")) if found else (b"", "text/plain")
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's own name
        """Asked every few seconds; that says nothing."""


def serve() -> ThreadingHTTPServer | None:
    """Answer at `METRICS_LISTEN` for as long as the process lives; nothing where it is empty. Where it is taken, that is said."""
    host, _, port = settings.METRICS_LISTEN.rpartition(":")
    if not port:
        return None
    try:
        server = ThreadingHTTPServer((host, int(port)), _Asked)
    except OSError as error:
        logger.warning("metrics are not served", extra={"error": type(error).__name__})
        return None
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server
