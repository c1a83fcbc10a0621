"""Lists the tools of a tool server and calls one, with one connection per request, in either generation of the protocol.

Every exception of the client becomes one of three: the call was not sent, the server refused it, or its outcome is unknown.
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

# Limits of a tool listing in pages and bytes.
MAX_PAGES: Final = 20
LISTING_BYTES: Final = 2_000_000
# Additional bytes of a result: its JSON escapes, and the protocol's own fields.
FRAME_BYTES: Final = 65_536
ESCAPE_FACTOR: Final = 4
# The metadata key under which a tool server that supports idempotency keys finds the key of the call.
IDEMPOTENCY_META_KEY: Final = "preceptor/idempotency-key"
REFUSAL_CODES: Final = frozenset({INVALID_PARAMS, METHOD_NOT_FOUND})
CLIENT_INFO: Final = Implementation(name="preceptor", version="1")


@dataclass(slots=True)
class _Connection:
    """A connection and its state: `is_asked` is set once the request itself may have been sent."""

    transport: LimitedTransport
    is_asked: bool = False


async def list_tools(place: ToolServerAddress) -> ToolServerListing:
    """Return all tools that the server offers, reading every page. Raises ToolServerFailed."""
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
    """Call a tool once. Raises CallNotSent if the call was not sent, OutcomeUnknown if it may have been executed."""
    async with _connect(place, place.max_result_bytes * ESCAPE_FACTOR + FRAME_BYTES) as (client, connection):
        client.session.validate_tool_result = _skip_result_check  # type: ignore[method-assign]
        connection.is_asked = True
        result = await client.call_tool(name, dict(arguments), meta={IDEMPOTENCY_META_KEY: key})  # type: ignore[arg-type]  # it lets other keys pass
        return _parse_result(result)


async def _skip_result_check(name: str, result: CallToolResult) -> None:
    """Replace the client's own result check, which lists all tools after each call and runs the server's patterns here."""


@asynccontextmanager
async def _connect(place: ToolServerAddress, most_bytes: int) -> AsyncIterator[tuple[Client, _Connection]]:
    opened = _Connection(LimitedTransport(place.allowed, most_bytes))
    # The lower layers do not always raise an error at their timeout, so one shorter timeout covers them all.
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
    """Return the exception for a failure, without the original message, which may quote the server, a customer or a header."""
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
