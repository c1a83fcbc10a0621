"""Who gets in at the MCP endpoint: whoever has an agent's token, over an address of the installation's own."""

import asyncio
from typing import Any

import httpx2
import pytest
from django.test import Client as Browser
from pytest_django import Settings

from apps.mcp_server.asgi_dispatcher import AsgiDispatcher
from apps.tenants.actions import issue_token, revoke_token, rotate_token
from tests.support.database.committing_fixture import committing
from tests.support.drivers.mcp_client import McpTestServer
from tests.support.worlds.world import World, make_world

__all__ = ["committing"]

LIST_TOOLS_REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'


def post_discovery(mcp_server: McpTestServer, token: str, **headers: str) -> httpx2.Response:
    return mcp_server.post(LIST_TOOLS_REQUEST, Authorization=f"Bearer {token}", **headers)


def test_a_token_opens_it(mcp_server: McpTestServer, world: World) -> None:
    answer = post_discovery(mcp_server, world.token)
    assert answer.status_code == 200
    assert answer.json()["result"]["tools"]


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer pcp_unknown", "Basic dXNlcjpwYXNz", "Bearer a b", "pcp_x"])
def test_nobody_is_asked_for_a_token(db: None, mcp_server: McpTestServer, header: str) -> None:
    answer = mcp_server.post(LIST_TOOLS_REQUEST, **({"Authorization": header} if header else {}))
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer ")
    assert answer.json()["error"] == "invalid_token"


def test_a_revoked_token_opens_nothing_from_the_next_request_on(mcp_server: McpTestServer, world: World) -> None:
    issued = issue_token(world.agent, actor=world.admin, name="second")
    assert post_discovery(mcp_server, issued.secret).status_code == 200
    revoke_token(issued.row, actor=world.admin)
    assert post_discovery(mcp_server, issued.secret).status_code == 401


def test_an_expired_token_opens_nothing(mcp_server: McpTestServer, committing: str) -> None:
    world = make_world()
    issued = issue_token(world.agent, actor=world.admin, name="second")
    assert post_discovery(mcp_server, issued.secret).status_code == 200
    rotate_token(issued.row, actor=world.admin, grace_hours=0)
    assert post_discovery(mcp_server, issued.secret).status_code == 401


def test_a_persons_session_does_not_open_it(mcp_server: McpTestServer, world: World) -> None:
    # R015
    browser = Browser()
    browser.force_login(world.admin_user)
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in browser.cookies.items())
    assert "sessionid" in cookies
    assert mcp_server.post(LIST_TOOLS_REQUEST, Cookie=cookies).status_code == 401


def test_it_answers_to_the_installations_names_and_pages_alone(
    mcp_server: McpTestServer, world: World, settings: Settings
) -> None:
    assert post_discovery(mcp_server, world.token, Host="elsewhere.example").status_code == 421
    assert post_discovery(mcp_server, world.token, Origin="https://elsewhere.example").status_code == 403
    assert post_discovery(mcp_server, world.token, Origin=settings.CONSOLE_URL).status_code == 200
    settings.ALLOWED_HOSTS = [".example.com"]
    assert post_discovery(mcp_server, world.token, Host="eu.example.com").status_code == 200
    assert post_discovery(mcp_server, world.token).status_code == 421


def test_a_token_is_not_taken_over_plain_http_where_the_console_is_behind_tls(
    mcp_server: McpTestServer, world: World, settings: Settings
) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert post_discovery(mcp_server, world.token).status_code == 403
    assert post_discovery(mcp_server, world.token, X_Forwarded_Proto="https").status_code == 200


def test_only_post_is_taken_and_not_without_end(mcp_server: McpTestServer, world: World) -> None:
    answer = httpx2.get(mcp_server.url, headers={"Authorization": f"Bearer {world.token}"})
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert mcp_server.post(b" " * 2_000_000, Authorization=f"Bearer {world.token}").status_code == 413


def test_a_trailing_slash_is_welcome(mcp_server: McpTestServer, world: World) -> None:
    assert post_discovery(McpTestServer(f"{mcp_server.url}/", mcp_server.is_idle), world.token).status_code == 200


def test_django_answers_everywhere_else(mcp_server: McpTestServer) -> None:
    assert httpx2.get(mcp_server.url.replace("/mcp", "/healthz")).text == "ok\n"
    assert httpx2.get(mcp_server.url.replace("/mcp", "/mcp2")).status_code == 404


def test_without_its_lifespan_the_process_says_how_to_start_it() -> None:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def nothing() -> None:
        return None

    async def django(*_: Any) -> None:
        raise AssertionError("not asked")

    asyncio.run(AsgiDispatcher(django)({"type": "http", "path": "/mcp", "method": "POST"}, nothing, send))
    assert sent[0]["status"] == 503
    assert b"--lifespan on" in sent[1]["body"]
