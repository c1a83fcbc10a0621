"""The address itself: an agent's token on every request, no browser from elsewhere, POST alone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from pydantic import AnyHttpUrl
from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from apps.api.protocol.request_bodies import BODY_BYTES
from apps.mcp_server.asgi_dispatcher import App, Receive, Scope, Send
from apps.mcp_server.server import in_thread, make_server
from apps.telemetry.log_context import add_log_facts
from apps.tenants.authentication.actor_resolution import agent_of_token

PATH: Final = "/mcp"
# The frame around a body: its escapes, and what the protocol says beside it.
FRAME_BYTES: Final = 200_000


class AgentTokenVerifier:
    """Whom a bearer token names, looked up for each request: a token that was revoked opens nothing from then on."""

    async def verify_token(self, token: str) -> AccessToken | None:
        """The agent's actor goes along, with what it may at this moment."""
        actor = await in_thread(lambda: agent_of_token(token))
        if actor is None:
            return None
        add_log_facts(tenant_id=actor.tenant_id, actor=actor.role.value)
        return AccessToken(token=token, client_id=actor.label, scopes=[], claims={"actor": actor})


class McpEndpoint:
    """The protocol's server behind what Django's middleware would refuse, which does not stand before it."""

    def __init__(self) -> None:
        auth = AuthSettings(issuer_url=AnyHttpUrl(settings.CONSOLE_URL), resource_server_url=None)
        server = make_server()
        self._app: App = server.streamable_http_app(
            streamable_http_path=PATH,
            json_response=True,
            stateless_http=True,
            max_request_body_size=BODY_BYTES + FRAME_BYTES,
            # Hosts are compared here, by Django's rules and with Django's setting.
            host="",
            auth=auth,
            token_verifier=AgentTokenVerifier(),
        )
        self._manager = server.session_manager

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """As long as the process serves."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        is_secure = _is_secure(scope)
        refusal = _refusal(scope, is_secure=is_secure)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self._app({**scope, "path": PATH, "scheme": "https" if is_secure else "http"}, receive, send)


def _is_secure(scope: Scope) -> bool:
    name, value = settings.SECURE_PROXY_SSL_HEADER
    header = Headers(scope=scope).get(name.removeprefix("HTTP_").replace("_", "-"), "")
    return scope["scheme"] == "https" or header.split(",")[0].strip() == value


def _refusal(scope: Scope, *, is_secure: bool) -> JSONResponse | None:
    headers = Headers(scope=scope)
    domain, _ = split_domain_port(headers.get("host", ""))
    if not (domain and validate_host(domain, settings.ALLOWED_HOSTS)):
        return _error_response(421, "This server does not answer to that name. ALLOWED_HOSTS says to which it does.")
    if settings.SECURE_SSL_REDIRECT and not is_secure:
        return _error_response(403, "A token is not taken over plain HTTP. Use the address that begins with https.")
    if headers.get("origin", own := _origin(settings.CONSOLE_URL)) != own:
        return _error_response(403, "Pages of other origins do not speak to this address.")
    if scope["method"] != "POST":
        return _error_response(405, "MCP clients send POST. There is nothing to read here by a browser.", Allow="POST")
    return None


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _error_response(status: int, sentence: str, **headers: str) -> JSONResponse:
    return JSONResponse({"error": sentence}, status_code=status, headers=headers)
