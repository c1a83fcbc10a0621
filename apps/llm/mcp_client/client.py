"""Asking a tool server what it offers, and calling one of its tools: one connection for each, either generation of the protocol.

Whatever the client raises becomes one of three: nothing was asked, the server said no, or nobody can tell what happened.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND, CallToolResult, Implementation, TextContent, Tool

from apps.llm.mcp_client.guarded_transport import LimitedTransport, limited_client
from apps.llm.mcp_client.tool_server import (
    CallNotSent,
    CallRefused,
    ListedTool,
    OutcomeUnknown,
    ToolServerAddress,
    ToolServerFailed,
    ToolServerListing,
    ToolServerResult,
)
from apps.outbound.ssrf import PRIVATE_ADDRESS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

# What a server may say of its tools: so many pages and bytes of it.
MAX_PAGES: Final = 20
LISTING_BYTES: Final = 2_000_000
# The frame around a result: escapes of its JSON, and what the protocol says beside it.
FRAME_BYTES: Final = 65_536
ESCAPE_FACTOR: Final = 4
# Where a server that understands it finds what tells this call from every other.
IDEMPOTENCY_META_KEY: Final = "preceptor/idempotency-key"
REFUSAL_CODES: Final = frozenset({INVALID_PARAMS, METHOD_NOT_FOUND})
CLIENT_INFO: Final = Implementation(name="preceptor", version="1")


@dataclass(slots=True)
class _Connection:
    """A connection, and how far it came: `is_asked` once the question itself may have left the house."""

    transport: LimitedTransport
    is_asked: bool = False


async def list_tools(place: ToolServerAddress) -> ToolServerListing:
    """What the server offers, page by page. Raises ToolServerFailed."""
    tools: list[Tool] = []
    async with _connect(place, LISTING_BYTES) as (client, _):
        cursor: str | None = None
        for _page in range(MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            tools += page.tools
            cursor = page.next_cursor
            if cursor is None:
                break
        version = client.protocol_version
    return ToolServerListing(version, tuple(map(_listed_tool, tools)), is_cut=cursor is not None)


async def call_tool(place: ToolServerAddress, name: str, arguments: Mapping[str, Any], key: str) -> ToolServerResult:
    """Make one call, once. Raises NotAsked if it was not made, Lost if it may have been and nobody can tell."""
    async with _connect(place, place.max_result_bytes * ESCAPE_FACTOR + FRAME_BYTES) as (client, connection):
        client.session.validate_tool_result = _skip_result_check  # type: ignore[method-assign]
        connection.is_asked = True
        result = await client.call_tool(name, dict(arguments), meta={IDEMPOTENCY_META_KEY: key})  # type: ignore[arg-type]  # it lets other keys pass
        return _parse_result(result)


async def _skip_result_check(name: str, result: CallToolResult) -> None:
    """In place of the client's own check, which asks for the whole listing after each call and runs the server's patterns here."""


@asynccontextmanager
async def _connect(place: ToolServerAddress, most_bytes: int) -> AsyncIterator[tuple[Client, _Connection]]:
    opened = _Connection(LimitedTransport(place.allowed, most_bytes))
    # What the layers below say when their time is up is not always that; so the one limit around all of them comes first.
    beyond = 2 * place.timeout_seconds
    try:
        async with (
            asyncio.timeout(place.timeout_seconds),
            limited_client(opened.transport, place.headers, beyond) as http,
            Client(
                streamable_http_client(place.url, http_client=http),
                client_info=CLIENT_INFO,
                cache=None,
                read_timeout_seconds=beyond,
            ) as client,
        ):
            yield client, opened
    except ToolServerFailed:
        raise
    except Exception as error:  # noqa: BLE001  # the client raises whatever its tasks met, and groups of it
        raise _translate_failure(error, opened) from None


def _translate_failure(error: Exception, opened: _Connection) -> ToolServerFailed:
    """What to say of a failure. Its own words may quote the server, a customer or a header, and stay out."""
    kind = OutcomeUnknown if opened.is_asked else CallNotSent
    if opened.transport.has_refused:
        return kind(PRIVATE_ADDRESS)
    if opened.transport.is_too_long:
        return kind("The server's answer is longer than was agreed.")
    if isinstance(error, MCPError) and error.code in REFUSAL_CODES and opened.is_asked:
        return CallRefused("The server knows no such tool, or does not take these arguments.")
    if isinstance(error, TimeoutError):
        return kind("The server did not answer in time.")
    if isinstance(error, MCPError) and not opened.is_asked:
        return CallNotSent(f"The server refuses to talk: error {error.code}. Look at its address and its headers.")
    return kind("The server cannot be reached, or does not speak the protocol.")


def _listed_tool(tool: Tool) -> ListedTool:
    hints = tool.annotations
    return ListedTool(
        tool.name,
        tool.description or tool.title or (hints.title if hints else None) or "",
        dict(tool.input_schema),
        is_read_only=bool(hints and hints.read_only_hint),
        is_idempotent=bool(hints and hints.idempotent_hint),
        is_destructive=hints is None or hints.destructive_hint is not False,
    )


def _parse_result(result: CallToolResult) -> ToolServerResult:
    if result.structured_content is not None:
        text = json.dumps(result.structured_content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return ToolServerResult(text, is_error=bool(result.is_error))
    parts = [part.text if isinstance(part, TextContent) else f"[{part.type} left out]" for part in result.content]
    return ToolServerResult("\n".join(parts), is_error=bool(result.is_error))
