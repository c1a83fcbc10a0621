"""What of a server's word about its tools may reach a model, under which name, and when a person has to look; pure."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from jsonschema import Draft202012Validator, SchemaError

from apps.llm.mcp_client.tool_server import ListedTool
from apps.prompt.sanitizer.clean import sanitize

TOOLS_PER_SERVER: Final = 200
TOOLS_PER_AGENT: Final = 200
NAME_CHARACTERS: Final = 64
DESCRIPTION_CHARACTERS: Final = 2_000
TEXT_CHARACTERS: Final = 500
SCHEMA_CHARACTERS: Final = 16_000
SCHEMA_DEPTH: Final = 12
SCHEMA_PARTS: Final = 2_000
MAX_HEADERS: Final = 10
HEADER_CHARACTERS: Final = 4_000
# Between the server's key, which has no underscore, and the tool's name.
NAME_SEPARATOR: Final = "__"

_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
# What the Messages API takes as the name of an argument.
_ARGUMENT_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TEXT_KEYWORDS: Final = ("title", "description")
_LIST_KEYWORDS: Final = ("anyOf", "oneOf", "allOf")
# A pattern would be run here, by an engine that some of them keep busy for ever; the server checks its own.
_KEPT_KEYWORDS: Final = (
    *("type", "required", "enum", "const", "default", "format", "additionalProperties", "items"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems"),
)

_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
# Those that the connection and the protocol say themselves.
_RESERVED_HEADERS: Final = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "expect", "host", "last-event-id"}
    | {"te", "trailer", "transfer-encoding", "upgrade"}
)


class UnfitToolError(Exception):
    """What a server says of a tool cannot be told to a model."""


@dataclass(frozen=True, slots=True)
class ServerToolDefinition:
    """A tool as a person allows it and a model is told it."""

    name: str
    description: str
    input_schema: dict[str, Any]  # Any: a JSON Schema
    is_read_only: bool = False
    is_idempotent: bool = False
    is_destructive: bool = True

    @property
    def stored(self) -> dict[str, Any]:
        """As rows keep it."""
        return asdict(self)

    @property
    def sha256(self) -> str:
        """What tells it from every other."""
        definition_json = json.dumps(self.stored, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(definition_json.encode()).hexdigest()


def qualified_tool_name(server_key: str, name: str) -> str:
    """The name a model calls a tool by. No house tool has one like it, and no other server's, whatever a server calls its tools."""
    joined = f"{server_key}{NAME_SEPARATOR}{name}"
    if _PLAIN_NAME.fullmatch(name) and len(joined) <= NAME_CHARACTERS:
        return joined
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
    return f"{joined[: len(server_key)]}{NAME_SEPARATOR}{plain}"[: NAME_CHARACTERS - 9] + f"-{digest}"


def define_tool(server_key: str, tool: ListedTool) -> ServerToolDefinition:
    """The tool as it may be told. Raises Unfit with a sentence where it cannot be."""
    return ServerToolDefinition(
        qualified_tool_name(server_key, tool.name),
        sanitize(tool.description, DESCRIPTION_CHARACTERS).text,
        _vet_schema(tool.input_schema),
        tool.is_read_only,
        tool.is_idempotent,
        tool.is_destructive,
    )


@dataclass(slots=True)
class _SchemaBudget:
    """What a server says of one tool's arguments, and how much of it may still be read: a few references can mean millions."""

    said: Mapping[str, Any]  # Any: JSON of any shape
    left: int = SCHEMA_PARTS

    def take(self) -> None:
        """Count one part more."""
        self.left -= 1
        if self.left < 0:
            raise UnfitToolError(f"The shape of its arguments has more than {SCHEMA_PARTS} parts.")


def _vet_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    shape = _copy_schema(schema, _SchemaBudget(schema), 0)
    if shape.get("type") != "object":
        raise UnfitToolError("Its arguments are no object.")
    if len(_dump_schema(shape)) > SCHEMA_CHARACTERS:
        raise UnfitToolError(f"The shape of its arguments is longer than {SCHEMA_CHARACTERS} characters.")
    try:
        Draft202012Validator.check_schema(shape)
    except SchemaError:
        raise UnfitToolError("The shape of its arguments is no JSON Schema.") from None
    return shape


def _dump_schema(shape: Mapping[str, Any]) -> str:
    try:
        return json.dumps(shape, allow_nan=False)
    except ValueError:
        raise UnfitToolError("The shape of its arguments holds a number that nothing can keep.") from None


def _copy_schema(schema: object, whole: _SchemaBudget, depth: int) -> dict[str, Any]:
    """One schema with what it refers to in its place; what is not known is left out."""
    whole.take()
    if depth > SCHEMA_DEPTH:
        raise UnfitToolError("The shape of its arguments is nested too deeply, or in itself.")
    if not isinstance(schema, Mapping):
        raise UnfitToolError("The shape of its arguments is no JSON Schema.")
    if "$ref" in schema:
        return _copy_schema(_resolve_reference(str(schema["$ref"]), whole.said), whole, depth + 1)
    shape: dict[str, Any] = {key: _check_value(schema[key], whole) for key in _KEPT_KEYWORDS if key in schema}
    shape |= {key: _clean_text(schema[key]) for key in _TEXT_KEYWORDS if isinstance(schema.get(key), str)}
    shape |= {
        key: _copy_schema(schema[key], whole, depth + 1)
        for key in ("items", "additionalProperties")
        if isinstance(schema.get(key), Mapping)
    }
    shape |= {
        key: [_copy_schema(each, whole, depth + 1) for each in schema[key]]
        for key in _LIST_KEYWORDS
        if isinstance(schema.get(key), list)
    }
    if "properties" in schema:
        shape["properties"] = _copy_properties(schema["properties"], whole, depth)
    return shape


def _clean_text(text: str) -> str:
    # Cut before it is cleaned as well: references can have the same long text cleaned many times.
    return sanitize(text[: 4 * TEXT_CHARACTERS], TEXT_CHARACTERS).text


def _copy_properties(properties: object, whole: _SchemaBudget, depth: int) -> dict[str, Any]:
    if not isinstance(properties, Mapping):
        raise UnfitToolError("The shape of its arguments is no JSON Schema.")
    for name in properties:
        if not _ARGUMENT_NAME.fullmatch(str(name)):
            raise UnfitToolError(
                "It names an argument with characters other than letters, digits, dots, hyphens and underscores."
            )
    return {str(name): _copy_schema(each, whole, depth + 1) for name, each in properties.items()}


def _resolve_reference(name: str, whole: Mapping[str, Any]) -> object:
    """What a reference within the same schema means. Nothing is fetched from anywhere."""
    root, _, rest = name.partition("/")
    place: object = whole
    for step in rest.split("/"):
        place = place.get(step) if isinstance(place, Mapping) else None
    if root != "#" or not isinstance(place, Mapping):
        raise UnfitToolError("The shape of its arguments refers to what is not in it.")
    return place


def _check_value(value: object, whole: _SchemaBudget) -> object:
    """A value that has to stay as it is to mean what it does; refused where a model could not be told it so."""
    if any(sanitize(text, TEXT_CHARACTERS).notes for text in _walk_texts(value, whole)):
        raise UnfitToolError(
            "The shape of its arguments holds text that could be taken for instructions, or is too long."
        )
    return value


def call_sha256(allowance: str, arguments: Mapping[str, Any]) -> str:
    """What tells a call from every other: the tool as it was allowed, and its arguments."""
    call_json = json.dumps([allowance, arguments], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(call_json.encode(errors="replace")).hexdigest()


def _walk_texts(value: object, whole: _SchemaBudget) -> Iterator[str]:
    left = [value]
    while left:
        whole.take()
        match left.pop():
            case str() as text:
                yield text
            case list() as parts:
                left += parts
            case dict() as parts:
                left += [*parts, *parts.values()]


def is_approval_needed(definition: ServerToolDefinition, *, is_waived: bool) -> bool:
    """Each call waits for a person, unless the server says that it only reads and a person said that it need not wait."""
    return not (definition.is_read_only and is_waived)


def differences(before: ServerToolDefinition, after: ServerToolDefinition) -> tuple[tuple[str, str, str], ...]:
    """What a server says otherwise by now: the field, what was allowed, and what it says."""
    old, new = before.stored, after.stored
    return tuple((name, _format_value(old[name]), _format_value(new[name])) for name in old if old[name] != new[name])


def _format_value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def parse_headers(lines: str) -> dict[str, str]:
    """Headers as people write them, one to a line. Raises ValueError with a sentence that quotes no value."""
    if len(lines) > HEADER_CHARACTERS:
        raise ValueError(f"These are more than {HEADER_CHARACTERS} characters. Send fewer or shorter headers.")
    headers: dict[str, str] = {}
    for number, line in enumerate(filter(str.strip, lines.splitlines()), 1):
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or not _HEADER_NAME.fullmatch(name) or not value.isascii() or not value.isprintable() or not value:
            raise ValueError(f"Line {number} is no header. Write it like Authorization: Bearer and the key.")
        if name.lower() in _RESERVED_HEADERS or name.lower().startswith("mcp-"):
            raise ValueError(f"Line {number} names a header that the connection says itself. Leave it out.")
        headers[name] = value
    if len(headers) > MAX_HEADERS:
        raise ValueError(f"These are more than {MAX_HEADERS} headers. Send fewer.")
    return headers
