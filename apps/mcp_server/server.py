"""The official library's server: lists tools, skills and the prompt, and hands each call to the API's own views."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, TypeVar

from django.db import connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as Listed
from starlette.requests import Request

from apps.api.framework.in_process_requests import ApiCaller
from apps.mcp_server import resources_and_prompts
from apps.mcp_server.tool_calls import run_tool
from apps.mcp_server.tools.catalog import TOOL_SETS, TOOLS

logger = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Request]
Result = TypeVar("Result")

INSTRUCTIONS: Final = (
    "What you are, know and may do, kept under people's review. Your writes about persona, rules and approved skills are"
    " proposals and change nothing until a person agrees. Before you change a text, read it: a change names the version"
    " you read. A refusal says what to do; asking again in other words does not help."
)


def make_server() -> Server[Any]:
    """A server; each process makes one, and a test one of its own."""
    return Server(
        "preceptor",
        version="1",
        title="Preceptor",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=lambda name: _schemas().get(name),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


async def list_tools(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
    """Every tool, to every agent alike: what it may do with one, the API says when it calls."""
    return ListToolsResult(tools=_list_entries(_tool_set_name(context)))


async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
    """One call."""
    tool = TOOL_SETS[_tool_set_name(context)].get(params.name)
    if tool is None:
        raise MCPError(INVALID_PARAMS, f"There is no tool {params.name}. tools/list names those there are.")
    answer = await in_thread(lambda: run_tool(tool, params.arguments or {}, caller_of(context)))
    return CallToolResult(
        content=[TextContent(text=answer.text)], structured_content=answer.data, is_error=answer.is_refusal
    )


async def list_resources(context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
    """The agent's approved skills, page by page."""
    cursor = params.cursor if params else None
    return await in_thread(lambda: resources_and_prompts.list_skills(cursor, caller_of(context)))


async def list_templates(context: Context, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
    """How a skill's address is made of its name."""
    return ListResourceTemplatesResult(resource_templates=resources_and_prompts.TEMPLATES)


async def read_resource(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    """One skill."""
    return await in_thread(lambda: resources_and_prompts.read_skill(params.uri, caller_of(context)))


async def list_prompts(context: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
    """There is one."""
    return ListPromptsResult(prompts=resources_and_prompts.PROMPTS)


async def get_prompt(context: Context, params: GetPromptRequestParams) -> GetPromptResult:
    """What the agent's next session is told."""
    return await in_thread(
        lambda: resources_and_prompts.get_prompt(params.name, params.arguments or {}, caller_of(context))
    )


def caller_of(context: Context) -> ApiCaller:
    """Whoever the token named when this request came in."""
    request = context.request
    if request is None:
        raise MCPError(INVALID_PARAMS, "This server is spoken to over HTTP.")
    access = request.user.access_token
    return ApiCaller(access.claims["actor"], access.token, request.headers["host"], request.url.scheme == "https")


async def in_thread(work: Callable[[], Result]) -> Result:
    """Something with the database, in a thread that keeps no connection afterwards."""

    def run() -> Result:
        try:
            return work()
        except MCPError:
            raise
        except Exception:
            # The library answers that something failed, and its own log is kept silent.
            logger.exception("a request by MCP failed")
            raise
        finally:
            # A transaction that is still open is somebody else's, who lent the thread their connection.
            if not connection.in_atomic_block:
                connection.close()

    return await asyncio.to_thread(run)


def _tool_set_name(context: Context) -> str:
    """By which names the tools are asked for."""
    names = context.request.query_params.get("names", "") if context.request else ""
    if names not in TOOL_SETS:
        raise MCPError(
            INVALID_PARAMS, "The address asks for names that there are not. Leave `names` out, or say davepi."
        )
    return names


@cache
def _schemas() -> Mapping[str, Mapping[str, Any]]:
    """Asked for headers that stand for arguments, of which no tool has any."""
    return {name: tool.schema() for name, tool in TOOLS.items()}


@cache
def _list_entries(shelf: str) -> list[Listed]:
    return [
        Listed(
            name=tool.name,
            description=tool.says,
            input_schema=tool.schema(),
            annotations=ToolAnnotations(
                read_only_hint=tool.reads,
                destructive_hint=tool.is_destructive,
                idempotent_hint=tool.reads or tool.is_idempotent,
                open_world_hint=False,
            ),
        )
        for tool in TOOL_SETS[shelf].values()
    ]
