"""Routing to tools that a prompt does not carry: three tools of the prompt list, describe and call them (R125).

A routed call is checked, journaled and repeated as a call of the tool that it names.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from apps.governance.errors import NotVisible
from apps.llm.model_backend import Json, JsonObject, ToolDefinition, ToolUse
from apps.prompt.builtin_tools import CALL_TOOL, LIST_RESOURCES, ROUTING_TOOLS, USE_RESOURCE
from apps.prompt.rendering.data_fences import canonical_json
from apps.prompt.sanitizer.clean import sanitize
from apps.runtime.tools.builtin_tool import BuiltinTool, ToolContext
from apps.runtime.tools.toolbox import NO_TOOLS, Toolbox

MAX_LISTED = 100
LINE_CHARACTERS = 200


_NAME: Final = "The tool's name, as list_resources tells it."
_LIST_WORDS: Final = (
    f"List further tools, at most {MAX_LISTED}, each with what it is for. Look here before you say that something cannot "
    "be done."
)
_USE_WORDS: Final = "Read how one of the further tools is called: its whole description and the shape of its arguments."
_CALL_WORDS: Final = (
    "Call one of the further tools. Read with use_resource how, before you call one for the first time."
)
_SEARCH_PARAMETERS: Final = {"search": "Only tools whose name or description has this word."}
_CALL_PARAMETERS: Final = {"name": _NAME, "arguments": "Its arguments, in the shape that use_resource shows."}


def routing_tools(routed: Toolbox) -> tuple[BuiltinTool, ...]:
    """The routing tools for these tools, in prompt order. The routing tools themselves only read."""
    tools = (
        BuiltinTool(LIST_RESOURCES, _LIST_WORDS, _SEARCH_PARAMETERS, (), partial(_list_resources, routed)),
        BuiltinTool(USE_RESOURCE, _USE_WORDS, {"name": _NAME}, ("name",), partial(_use_resource, routed)),
        BuiltinTool(CALL_TOOL, _CALL_WORDS, _CALL_PARAMETERS, ("name", "arguments"), partial(_refuse_unrouted, routed)),
    )
    return tuple(replace(tool, keeps=False, learns=False, reads=True) for tool in tools)


def is_routed(frozen: Mapping[str, ToolDefinition]) -> bool:
    """Whether a session with these definitions has routing tools."""
    return frozen.keys() >= ROUTING_TOOLS


def routed_toolbox(toolbox: Toolbox, frozen: Mapping[str, ToolDefinition]) -> Toolbox:
    """The tools that a session with these definitions reaches through routing; none if it carries all tools."""
    if not is_routed(frozen):
        return NO_TOOLS
    return Toolbox({name: tool for name, tool in toolbox.tools.items() if name not in frozen})


def resolve_routed_call(use: ToolUse, routed: Toolbox) -> ToolUse:
    """The call that a routed call names. A call that names no tool is returned unchanged and refused later."""
    name, arguments = use.arguments.get("name"), use.arguments.get("arguments")
    if use.name == CALL_TOOL and name in routed.tools and isinstance(arguments, dict):
        return ToolUse(use.tool_use_id, str(name), arguments)
    return use


def _list_resources(routed: Toolbox, context: ToolContext, arguments: JsonObject) -> str:
    word = str(arguments.get("search", "")).casefold()
    found = [tool for tool in routed.definitions if word in f"{tool.name} {tool.description}".casefold()]
    lines: list[Json] = [{"name": tool.name, "description": _first_line(tool)} for tool in found[:MAX_LISTED]]
    more: JsonObject = {"more": len(found) - MAX_LISTED} if len(found) > MAX_LISTED else {}
    return canonical_json({"tools": lines, **more})


def _first_line(tool: ToolDefinition) -> str:
    return sanitize(tool.description.partition("\n")[0], LINE_CHARACTERS).text


def _use_resource(routed: Toolbox, context: ToolContext, arguments: JsonObject) -> str:
    return canonical_json(_find_routed(routed, arguments).wire)


def _refuse_unrouted(routed: Toolbox, context: ToolContext, arguments: JsonObject) -> str:
    """Answer a routed call with invalid arguments. `resolve_routed_call` has already replaced valid ones by the named call."""
    return f"Nothing was called: {_find_routed(routed, arguments).name} takes an object of arguments."


def _find_routed(routed: Toolbox, arguments: JsonObject) -> ToolDefinition:
    tool = routed.tools.get(str(arguments["name"]))
    if tool is None:
        raise NotVisible("There is no further tool of this name. list_resources tells those there are.")
    return tool.definition


# The definitions that a session freezes. They do not depend on the tools to which they route.
ROUTING_DEFINITIONS: Final = tuple(tool.definition for tool in routing_tools(NO_TOOLS))
