"""The MCP server, built on the official library. It lists tools, skills and the prompt, and passes calls to the API's views."""

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
    """Build a server. Each process builds one, as does each test."""
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
    """List every tool for every agent. The API decides for each call whether the agent may make it."""
    return ListToolsResult(tools=_list_entries(_tool_set_name(context)))


async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
    """Run one tool."""
    tool = TOOL_SETS[_tool_set_name(context)].get(params.name)
    if tool is None:
        raise MCPError(INVALID_PARAMS, f"There is no tool {params.name}. tools/list names those there are.")
    answer = await in_thread(lambda: run_tool(tool, params.arguments or {}, caller_of(context)))
    return CallToolResult(
        content=[TextContent(text=answer.text)], structured_content=answer.data, is_error=answer.is_refusal
    )


async def list_resources(context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
    """List the agent's approved skills, in pages."""
    cursor = params.cursor if params else None
    return await in_thread(lambda: resources_and_prompts.list_skills(cursor, caller_of(context)))


async def list_templates(context: Context, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
    """List the URI template of skills."""
    return ListResourceTemplatesResult(resource_templates=resources_and_prompts.TEMPLATES)


async def read_resource(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    """Return one skill."""
    return await in_thread(lambda: resources_and_prompts.read_skill(params.uri, caller_of(context)))


async def list_prompts(context: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
    """List the one prompt."""
    return ListPromptsResult(prompts=resources_and_prompts.PROMPTS)


async def get_prompt(context: Context, params: GetPromptRequestParams) -> GetPromptResult:
    """Return the prompt of the agent's next session."""
    return await in_thread(
        lambda: resources_and_prompts.get_prompt(params.name, params.arguments or {}, caller_of(context))
    )


def caller_of(context: Context) -> ApiCaller:
    """Return the actor whose token was sent with this request."""
    request = context.request
    if request is None:
        raise MCPError(INVALID_PARAMS, "This server works over HTTP only.")
    access = request.user.access_token
    return ApiCaller(access.claims["actor"], access.token, request.headers["host"], request.url.scheme == "https")


async def in_thread(work: Callable[[], Result]) -> Result:
    """Run database work in a thread that keeps no connection afterwards."""

    def run() -> Result:
        try:
            return work()
        except MCPError:
            raise
        except Exception:
            # The library answers with a generic failure, and its own log is silenced.
            logger.exception("a request by MCP failed")
            raise
        finally:
            # A transaction that is still open belongs to a caller that lent its connection to this thread.
            if not connection.in_atomic_block:
                connection.close()

    return await asyncio.to_thread(run)


def _tool_set_name(context: Context) -> str:
    """Return the set of tool names that the address selects."""
    names = context.request.query_params.get("names", "") if context.request else ""
    if names not in TOOL_SETS:
        raise MCPError(INVALID_PARAMS, "The address has an unknown value of `names`. Leave it out, or send davepi.")
    return names


@cache
def _schemas() -> Mapping[str, Mapping[str, Any]]:
    """Return the tool schemas in the form that the library needs to look for arguments in headers, which no tool has."""
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
