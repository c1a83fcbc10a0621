"""The MCP endpoint: POST only, with an agent's token on every request, and closed to browser pages of other origins."""

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
# Bytes of a body in addition to its content: JSON escapes and members of the protocol.
FRAME_BYTES: Final = 200_000


class AgentTokenVerifier:
    """Resolves the bearer token of each request, so that a revoked token stops working at once."""

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the agent's actor, with its current grants."""
        actor = await in_thread(lambda: agent_of_token(token))
        if actor is None:
            return None
        add_log_facts(tenant_id=actor.tenant_id, actor=actor.role.value)
        return AccessToken(token=token, client_id=actor.label, scopes=[], claims={"actor": actor})


class McpEndpoint:
    """The MCP server with the checks of Django's middleware, which does not run for this server."""

    def __init__(self) -> None:
        auth = AuthSettings(issuer_url=AnyHttpUrl(settings.CONSOLE_URL), resource_server_url=None)
        server = make_server()
        self._app: App = server.streamable_http_app(
            streamable_http_path=PATH,
            json_response=True,
            stateless_http=True,
            max_request_body_size=BODY_BYTES + FRAME_BYTES,
            # An empty host turns off the library's check; hosts are checked here by Django's rules and settings.
            host="",
            auth=auth,
            token_verifier=AgentTokenVerifier(),
        )
        self._manager = server.session_manager

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the session manager while the process serves requests."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
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
        return _error_response(421, "This host name is not in ALLOWED_HOSTS. Use one that is, or add it there.")
    if settings.SECURE_SSL_REDIRECT and not is_secure:
        return _error_response(403, "Tokens are not accepted over plain HTTP. Use the address that begins with https.")
    if headers.get("origin", own := _origin(settings.CONSOLE_URL)) != own:
        return _error_response(403, "Pages of other origins may not use this address.")
    if scope["method"] != "POST":
        return _error_response(405, "Only POST is allowed here. It is for MCP clients, not for browsers.", Allow="POST")
    return None


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _error_response(status: int, sentence: str, **headers: str) -> JSONResponse:
    return JSONResponse({"error": sentence}, status_code=status, headers=headers)
