"""Limits of external servers' tools: what may be shown to a model, under which name, and when calls need approval.

Pure functions.
"""

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
# The separator between the server's key, which has no underscore, and the tool's name.
NAME_SEPARATOR: Final = "__"

_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
# The Messages API's pattern for argument names.
_ARGUMENT_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TEXT_KEYWORDS: Final = ("title", "description")
_LIST_KEYWORDS: Final = ("anyOf", "oneOf", "allOf")
# Regular expressions (`pattern`) are left out: some never finish in a regex engine, and the server checks its own arguments.
_KEPT_KEYWORDS: Final = (
    *("type", "required", "enum", "const", "default", "format", "additionalProperties", "items"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems"),
)

_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
# Headers that the connection and the protocol set themselves.
_RESERVED_HEADERS: Final = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "expect", "host", "last-event-id"}
    | {"te", "trailer", "transfer-encoding", "upgrade"}
)


class UnfitToolError(Exception):
    """Raised when a server's tool may not be shown to a model."""


@dataclass(frozen=True, slots=True)
class ServerToolDefinition:
    """The definition of a tool, which a person allows and a model is shown."""

    name: str
    description: str
    input_schema: dict[str, Any]  # Any: a JSON Schema
    is_read_only: bool = False
    is_idempotent: bool = False
    is_destructive: bool = True

    @property
    def stored(self) -> dict[str, Any]:
        """Return the definition as rows store it."""
        return asdict(self)

    @property
    def sha256(self) -> str:
        """Return the hash that identifies the definition."""
        definition_json = json.dumps(self.stored, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(definition_json.encode()).hexdigest()


def qualified_tool_name(server_key: str, name: str) -> str:
    """Return the name by which a model calls a tool.

    The name is unique across built-in tools and servers, whatever names the servers use.
    """
    joined = f"{server_key}{NAME_SEPARATOR}{name}"
    if _PLAIN_NAME.fullmatch(name) and len(joined) <= NAME_CHARACTERS:
        return joined
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
    return f"{joined[: len(server_key)]}{NAME_SEPARATOR}{plain}"[: NAME_CHARACTERS - 9] + f"-{digest}"


def define_tool(server_key: str, tool: ListedTool) -> ServerToolDefinition:
    """Build the definition to show to a model. Raises `UnfitToolError` with the reason if the tool may not be shown."""
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
    """A tool's argument schema, and how many parts may still be read. A few references can expand to millions of parts."""

    said: Mapping[str, Any]  # Any: JSON of any shape
    left: int = SCHEMA_PARTS

    def take(self) -> None:
        """Count one more part. Raises `UnfitToolError` if there are too many."""
        self.left -= 1
        if self.left < 0:
            raise UnfitToolError(f"The schema of its arguments has more than {SCHEMA_PARTS} parts.")


def _vet_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    shape = _copy_schema(schema, _SchemaBudget(schema), 0)
    if shape.get("type") != "object":
        raise UnfitToolError("The schema of its arguments is not an object.")
    if len(_dump_schema(shape)) > SCHEMA_CHARACTERS:
        raise UnfitToolError(f"The schema of its arguments is longer than {SCHEMA_CHARACTERS} characters.")
    try:
        Draft202012Validator.check_schema(shape)
    except SchemaError:
        raise UnfitToolError("The schema of its arguments is not a valid JSON Schema.") from None
    return shape


def _dump_schema(shape: Mapping[str, Any]) -> str:
    try:
        return json.dumps(shape, allow_nan=False)
    except ValueError:
        raise UnfitToolError("The schema of its arguments contains a number that cannot be stored.") from None


def _copy_schema(schema: object, whole: _SchemaBudget, depth: int) -> dict[str, Any]:
    """Copy a schema with its references resolved and unknown keywords left out."""
    whole.take()
    if depth > SCHEMA_DEPTH:
        raise UnfitToolError("The schema of its arguments is nested too deeply, or refers to itself.")
    if not isinstance(schema, Mapping):
        raise UnfitToolError("The schema of its arguments is not a valid JSON Schema.")
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
    # Cut before sanitizing, because many references may point to the same long text.
    return sanitize(text[: 4 * TEXT_CHARACTERS], TEXT_CHARACTERS).text


def _copy_properties(properties: object, whole: _SchemaBudget, depth: int) -> dict[str, Any]:
    if not isinstance(properties, Mapping):
        raise UnfitToolError("The schema of its arguments is not a valid JSON Schema.")
    for name in properties:
        if not _ARGUMENT_NAME.fullmatch(str(name)):
            raise UnfitToolError(
                "The name of an argument has characters other than letters, digits, dots, hyphens and underscores."
            )
    return {str(name): _copy_schema(each, whole, depth + 1) for name, each in properties.items()}


def _resolve_reference(name: str, whole: Mapping[str, Any]) -> object:
    """Resolve a reference within the same schema. Nothing is fetched from outside."""
    root, _, rest = name.partition("/")
    place: object = whole
    for step in rest.split("/"):
        place = place.get(step) if isinstance(place, Mapping) else None
    if root != "#" or not isinstance(place, Mapping):
        raise UnfitToolError("The schema of its arguments has a reference to a missing part.")
    return place


def _check_value(value: object, whole: _SchemaBudget) -> object:
    """Return a value that must not be altered; refuse it if it may not be shown to a model."""
    if any(sanitize(text, TEXT_CHARACTERS).notes for text in _walk_texts(value, whole)):
        raise UnfitToolError(
            "The schema of its arguments contains text that could be taken for instructions, or is too long."
        )
    return value


def call_sha256(allowance: str, arguments: Mapping[str, Any]) -> str:
    """Return the hash that identifies a call, made of the tool's permission and the arguments."""
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
    """Whether each call of the tool needs a person's approval.

    It does not if the server declares the tool read-only and a person waived the approval.
    """
    return not (definition.is_read_only and is_waived)


def differences(before: ServerToolDefinition, after: ServerToolDefinition) -> tuple[tuple[str, str, str], ...]:
    """Return the differences of two definitions: the field, the allowed value, and the current value."""
    old, new = before.stored, after.stored
    return tuple((name, _format_value(old[name]), _format_value(new[name])) for name in old if old[name] != new[name])


def _format_value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def parse_headers(lines: str) -> dict[str, str]:
    """Parse headers, one per line. Raises ValueError with a message that quotes no value."""
    if len(lines) > HEADER_CHARACTERS:
        raise ValueError(f"The headers have more than {HEADER_CHARACTERS} characters. Send fewer or shorter ones.")
    headers: dict[str, str] = {}
    for number, line in enumerate(filter(str.strip, lines.splitlines()), 1):
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or not _HEADER_NAME.fullmatch(name) or not value.isascii() or not value.isprintable() or not value:
            raise ValueError(
                f"Line {number} is not a header. Write it like “Authorization: Bearer” followed by the key."
            )
        if name.lower() in _RESERVED_HEADERS or name.lower().startswith("mcp-"):
            raise ValueError(f"Line {number} names a header that the connection sets itself. Leave it out.")
        headers[name] = value
    if len(headers) > MAX_HEADERS:
        raise ValueError(f"There are more than {MAX_HEADERS} headers. Send fewer.")
    return headers
