"""API requests made inside the process for a known actor, with the same address, view, refusals and bytes as over HTTP."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any
from urllib.parse import urlencode

from django.core.handlers.wsgi import WSGIRequest
from django.urls import resolve

from apps.api.protocol.idempotency import REPLAYED_HEADER
from apps.governance.actors import Actor

API_ROOT = "/api/v1/"


@dataclass(frozen=True, slots=True)
class ApiCaller:
    """The actor of a request, its token and host. `is_counted` tells whether the enclosing request counted for rate limits."""

    actor: Actor
    token: str
    host: str
    is_secure: bool
    is_counted: bool = False


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One request: an address below the API's root, query parameters, a body, and headers."""

    method: str
    address: str
    query: Mapping[str, Any]
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """A response; `data` is the parsed body. `is_replayed`: an earlier request with the same key got this response."""

    status: int
    data: Any
    location: str
    is_replayed: bool = False

    @property
    def is_refusal(self) -> bool:
        """Return whether the request was refused, so that nothing was shown or done."""
        return self.status >= 400


def call_api(asked: ApiRequest, caller: ApiCaller) -> ApiResponse:
    """Answer the request with the API's own view. A refusal is returned as a response, not raised."""
    request = _wsgi_request(asked, caller)
    found = resolve(request.path_info)
    request.resolver_match = found
    response = found.func(request, *found.args, **found.kwargs)
    content = response.render().content if hasattr(response, "render") else response.content
    data = json.loads(content) if content else None
    is_replayed = REPLAYED_HEADER in response.headers
    return ApiResponse(response.status_code, data, response.headers.get("Location", ""), is_replayed)


def _wsgi_request(asked: ApiRequest, caller: ApiCaller) -> WSGIRequest:
    content = b"" if asked.body is None else json.dumps(asked.body).encode()
    name, _, port = caller.host.rpartition(":") if ":" in caller.host else (caller.host, "", "")
    request = WSGIRequest(
        {
            "REQUEST_METHOD": asked.method,
            "PATH_INFO": f"{API_ROOT}{asked.address}",
            "QUERY_STRING": urlencode(asked.query, doseq=True),
            "CONTENT_TYPE": "application/json" if asked.body is not None else "",
            "CONTENT_LENGTH": str(len(content)),
            "HTTP_HOST": caller.host,
            **_headers(asked, caller),
            "SERVER_NAME": name,
            "SERVER_PORT": port or ("443" if caller.is_secure else "80"),
            "wsgi.url_scheme": "https" if caller.is_secure else "http",
            "wsgi.input": BytesIO(content),
        }
    )
    # The token was just resolved by the same rule; checking it again would cost two statements per call.
    request.known_actor = caller.actor  # type: ignore[attr-defined]  # read by apps.api.protocol.authentication
    request.is_counted = caller.is_counted  # type: ignore[attr-defined]  # read by apps.api.framework.base_views
    return request


def _headers(asked: ApiRequest, caller: ApiCaller) -> dict[str, str]:
    headers = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in asked.headers.items()}
    # People have no token, and their session is not checked again either.
    return {**headers, "HTTP_AUTHORIZATION": f"Bearer {caller.token}"} if caller.token else headers
