"""What of a server's word about its tools may reach a model, under which name, and when a person has to look; pure."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from jsonschema import Draft202012Validator, SchemaError

from apps.llm.mcp_client.tool_server import Listed
from apps.prompt.sanitizer.clean import sanitize

TOOLS_PER_SERVER: Final = 200
TOOLS_PER_AGENT: Final = 200
NAME_CHARACTERS: Final = 64
DESCRIPTION_CHARACTERS: Final = 2_000
WORDS_CHARACTERS: Final = 500
SCHEMA_CHARACTERS: Final = 16_000
SCHEMA_DEPTH: Final = 12
SCHEMA_PARTS: Final = 2_000
HEADERS: Final = 10
HEADER_CHARACTERS: Final = 4_000
# Between the server's key, which has no underscore, and the tool's name.
JOINT: Final = "__"

_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+")
# What the Messages API takes as the name of an argument.
_ARGUMENT: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_WORDS: Final = ("title", "description")
_LISTS: Final = ("anyOf", "oneOf", "allOf")
# A pattern would be run here, by an engine that some of them keep busy for ever; the server checks its own.
_KEPT: Final = (
    *("type", "required", "enum", "const", "default", "format", "additionalProperties", "items"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems"),
)

_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
# Those that the connection and the protocol say themselves.
_OURS: Final = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "expect", "host", "last-event-id"}
    | {"te", "trailer", "transfer-encoding", "upgrade"}
)


class Unfit(Exception):
    """What a server says of a tool cannot be told to a model."""


@dataclass(frozen=True, slots=True)
class Definition:
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
        said = json.dumps(self.stored, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(said.encode()).hexdigest()


def called(server_key: str, name: str) -> str:
    """The name a model calls a tool by. No house tool has one like it, and no other server's, whatever a server calls its tools."""
    joined = f"{server_key}{JOINT}{name}"
    if _PLAIN.fullmatch(name) and len(joined) <= NAME_CHARACTERS:
        return joined
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
    return f"{joined[: len(server_key)]}{JOINT}{plain}"[: NAME_CHARACTERS - 9] + f"-{digest}"


def defined(server_key: str, tool: Listed) -> Definition:
    """The tool as it may be told. Raises Unfit with a sentence where it cannot be."""
    return Definition(
        called(server_key, tool.name),
        sanitize(tool.description, DESCRIPTION_CHARACTERS).text,
        _schema(tool.input_schema),
        tool.is_read_only,
        tool.is_idempotent,
        tool.is_destructive,
    )


@dataclass(slots=True)
class _Whole:
    """What a server says of one tool's arguments, and how much of it may still be read: a few references can mean millions."""

    said: Mapping[str, Any]  # Any: JSON of any shape
    left: int = SCHEMA_PARTS

    def take(self) -> None:
        """Count one part more."""
        self.left -= 1
        if self.left < 0:
            raise Unfit(f"The shape of its arguments has more than {SCHEMA_PARTS} parts.")


def _schema(said: Mapping[str, Any]) -> dict[str, Any]:
    shape = _shape(said, _Whole(said), 0)
    if shape.get("type") != "object":
        raise Unfit("Its arguments are no object.")
    if len(_dumped(shape)) > SCHEMA_CHARACTERS:
        raise Unfit(f"The shape of its arguments is longer than {SCHEMA_CHARACTERS} characters.")
    try:
        Draft202012Validator.check_schema(shape)
    except SchemaError:
        raise Unfit("The shape of its arguments is no JSON Schema.") from None
    return shape


def _dumped(shape: Mapping[str, Any]) -> str:
    try:
        return json.dumps(shape, allow_nan=False)
    except ValueError:
        raise Unfit("The shape of its arguments holds a number that nothing can keep.") from None


def _shape(said: object, whole: _Whole, depth: int) -> dict[str, Any]:
    """One schema with what it refers to in its place; what is not known is left out."""
    whole.take()
    if depth > SCHEMA_DEPTH:
        raise Unfit("The shape of its arguments is nested too deeply, or in itself.")
    if not isinstance(said, Mapping):
        raise Unfit("The shape of its arguments is no JSON Schema.")
    if "$ref" in said:
        return _shape(_referred(str(said["$ref"]), whole.said), whole, depth + 1)
    shape: dict[str, Any] = {key: _clean(said[key], whole) for key in _KEPT if key in said}
    shape |= {key: _words(said[key]) for key in _WORDS if isinstance(said.get(key), str)}
    shape |= {
        key: _shape(said[key], whole, depth + 1)
        for key in ("items", "additionalProperties")
        if isinstance(said.get(key), Mapping)
    }
    shape |= {
        key: [_shape(each, whole, depth + 1) for each in said[key]] for key in _LISTS if isinstance(said.get(key), list)
    }
    if "properties" in said:
        shape["properties"] = _properties(said["properties"], whole, depth)
    return shape


def _words(said: str) -> str:
    # Cut before it is cleaned as well: references can have the same long text cleaned many times.
    return sanitize(said[: 4 * WORDS_CHARACTERS], WORDS_CHARACTERS).text


def _properties(said: object, whole: _Whole, depth: int) -> dict[str, Any]:
    if not isinstance(said, Mapping):
        raise Unfit("The shape of its arguments is no JSON Schema.")
    for name in said:
        if not _ARGUMENT.fullmatch(str(name)):
            raise Unfit(
                "It names an argument with characters other than letters, digits, dots, hyphens and underscores."
            )
    return {str(name): _shape(each, whole, depth + 1) for name, each in said.items()}


def _referred(name: str, whole: Mapping[str, Any]) -> object:
    """What a reference within the same schema means. Nothing is fetched from anywhere."""
    root, _, rest = name.partition("/")
    place: object = whole
    for step in rest.split("/"):
        place = place.get(step) if isinstance(place, Mapping) else None
    if root != "#" or not isinstance(place, Mapping):
        raise Unfit("The shape of its arguments refers to what is not in it.")
    return place


def _clean(value: object, whole: _Whole) -> object:
    """A value that has to stay as it is to mean what it does; refused where a model could not be told it so."""
    if any(sanitize(text, WORDS_CHARACTERS).notes for text in _texts(value, whole)):
        raise Unfit("The shape of its arguments holds text that could be taken for instructions, or is too long.")
    return value


def call_sha256(allowance: str, arguments: Mapping[str, Any]) -> str:
    """What tells a call from every other: the tool as it was allowed, and its arguments."""
    said = json.dumps([allowance, arguments], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(said.encode(errors="replace")).hexdigest()


def _texts(value: object, whole: _Whole) -> Iterator[str]:
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


def waits(definition: Definition, *, is_waived: bool) -> bool:
    """Each call waits for a person, unless the server says that it only reads and a person said that it need not wait."""
    return not (definition.is_read_only and is_waived)


def differences(before: Definition, after: Definition) -> tuple[tuple[str, str, str], ...]:
    """What a server says otherwise by now: the field, what was allowed, and what it says."""
    old, new = before.stored, after.stored
    return tuple((name, _shown(old[name]), _shown(new[name])) for name in old if old[name] != new[name])


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def headers_of(lines: str) -> dict[str, str]:
    """Headers as people write them, one to a line. Raises ValueError with a sentence that quotes no value."""
    if len(lines) > HEADER_CHARACTERS:
        raise ValueError(f"These are more than {HEADER_CHARACTERS} characters. Send fewer or shorter headers.")
    headers: dict[str, str] = {}
    for number, line in enumerate(filter(str.strip, lines.splitlines()), 1):
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or not _HEADER.fullmatch(name) or not value.isascii() or not value.isprintable() or not value:
            raise ValueError(f"Line {number} is no header. Write it like Authorization: Bearer and the key.")
        if name.lower() in _OURS or name.lower().startswith("mcp-"):
            raise ValueError(f"Line {number} names a header that the connection says itself. Leave it out.")
        headers[name] = value
    if len(headers) > HEADERS:
        raise ValueError(f"These are more than {HEADERS} headers. Send fewer.")
    return headers
