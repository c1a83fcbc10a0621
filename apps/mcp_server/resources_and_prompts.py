"""Approved skills as MCP resources, and the prompt of the agent's next session. Both are read through the API, like tools."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, unquote

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptResult,
    ListResourcesResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)

from apps.api.framework.in_process_requests import ApiCaller, ApiRequest, call_api
from apps.mcp_server.tool_calls import tool_page

SCHEME: Final = "skill://"
MARKDOWN: Final = "text/markdown"
PROMPT_NAME: Final = "session_prefix"
APPROVED_FILTER: Final[Mapping[str, Any]] = {"status": "approved"}

TEMPLATES: Final = [
    ResourceTemplate(
        uri_template=f"{SCHEME}{{name}}",
        name="skill",
        description="An approved skill by its name. Reading it is counted as use.",
        mime_type=MARKDOWN,
    )
]
PROMPTS: Final = [
    Prompt(
        name=PROMPT_NAME,
        description="What your next session is told before anything is said: persona, contract, skills, memory, customer.",
        arguments=[
            PromptArgument(name="end_user_key", description="The customer, such as slack:U12345; left out, nobody.")
        ],
    )
]


def list_skills(cursor: str | None, caller: ApiCaller) -> ListResourcesResult:
    """Return a page of approved skills."""
    query = {**APPROVED_FILTER, "page_size": 100} | ({"cursor": cursor} if cursor else {})
    page = tool_page(_read_api("skills/", query, caller))
    return ListResourcesResult(
        resources=[
            Resource(
                uri=f"{SCHEME}{quote(row['name'])}",
                name=row["name"],
                title=row["title"],
                description=row["description"],
                mime_type=MARKDOWN,
            )
            for row in page["results"]
        ],
        next_cursor=page["next_cursor"],
    )


def read_skill(uri: str, caller: ApiCaller) -> ReadResourceResult:
    """Return the approved text, unchanged."""
    name = unquote(uri.removeprefix(SCHEME)) if uri.startswith(SCHEME) else ""
    found = _read_api("skills/", {**APPROVED_FILTER, "name": name}, caller)["results"] if name else []
    if not found:
        raise MCPError(INVALID_PARAMS, f"There is no approved skill at {uri}. resources/list names those there are.")
    skill = _read_api(f"skills/{found[0]['id']}/", {}, caller)
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=MARKDOWN, text=skill["body"])])


def get_prompt(name: str, given: Mapping[str, str], caller: ApiCaller) -> GetPromptResult:
    """Return the agent's own prompt in the API's form."""
    if name != PROMPT_NAME:
        raise MCPError(INVALID_PARAMS, f"There is no prompt {name}. There is {PROMPT_NAME}.")
    prompt = _read_api(f"agents/{caller.actor.agent_id}/prompt/", given, caller)
    return GetPromptResult(
        description=f"sha256 {prompt['sha256']}",
        messages=[PromptMessage(role="user", content=TextContent(text=prompt["text"]))],
    )


def _read_api(address: str, query: Mapping[str, Any], caller: ApiCaller) -> Any:  # Any: a JSON document
    answered = call_api(ApiRequest("GET", address, query), caller)
    if answered.is_refusal:
        raise MCPError(INVALID_PARAMS, f"{answered.data['title']}. {answered.data['detail']}", answered.data)
    return answered.data
