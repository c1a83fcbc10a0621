"""What the OpenAPI document says of refusals: which may come of which operation, each a problem document."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from apps.api.kept_answers import KEY_HEADER
from apps.api.moments import AS_OF
from apps.api.preconditions import MATCH
from apps.api.problems import CONTENT_TYPE

# Any: pieces of an OpenAPI document, which are what they are.
Piece = dict[str, Any]

STREAM: Final = "text/event-stream"
# The status, the name that operations refer to, and when it comes.
REFUSALS: Final[Mapping[str, tuple[str, str]]] = {
    "400": ("Invalid", "Something that was sent cannot be taken, or there is no such move."),
    "401": ("NobodyAsks", "Neither a token that stands nor a session."),
    "403": ("NotPermitted", "Whoever asks may not do this, or nothing of it."),
    "404": ("NotFound", "There is no such row, or it is not theirs to see."),
    "406": ("NoSuchFormat", "The header `Accept` names nothing that can be sent."),
    "409": ("Conflict", "It has changed since, or does not go with what is there."),
    "410": ("Erased", "The words of that moment were erased."),
    "412": ("PreconditionFailed", "The row is not what a header of the request names."),
    "413": ("TooLarge", "The body has more bytes than are taken."),
    "415": ("UnsupportedMediaType", "The body is of a type that is not read here."),
    "422": ("KeyReused", f"Another request came with this {KEY_HEADER} before."),
    "429": ("Throttled", "Too much was asked or sent within a minute, or too many streams are open."),
    "503": ("TooManyStreams", "The process has as many streams open as it may."),
}
_AGAIN: Final = {"Retry-After": {"description": "Seconds until it may be asked again.", "schema": {"type": "integer"}}}
_CHALLENGE: Final = {"WWW-Authenticate": {"description": "What is asked for.", "schema": {"type": "string"}}}
_HEADERS: Final[Mapping[str, Piece]] = {"401": _CHALLENGE, "429": _AGAIN, "503": _AGAIN}


def name_refusals(result: Piece, generator: Any, **said: Any) -> Piece:
    """Say them once, and of each operation which it may be answered with."""
    del generator, said
    result["components"]["responses"] = {name: _answer(status) for status, (name, _) in REFUSALS.items()}
    for methods in result["paths"].values():
        for operation in methods.values():
            # What an operation says of its own comes first.
            answers = {status: _named(status) for status in _possible(operation)} | operation["responses"]
            operation["responses"] = dict(sorted(answers.items()))
    return result


def _possible(operation: Piece) -> Iterator[str]:
    asked = {(each["in"], each["name"]) for each in operation["parameters"]}
    yield from ("400", "401", "403", "429")
    # A stream is no view of REST framework, and reads no `Accept`.
    yield "503" if STREAM in operation["responses"].get("200", {}).get("content", {}) else "406"
    if any(where == "path" for where, _ in asked) or ("header", KEY_HEADER) in asked:
        # A write names rows in its body, too.
        yield "404"
    if ("query", AS_OF) in asked:
        yield "410"
    if ("header", MATCH) in asked:
        yield "412"
    if ("header", KEY_HEADER) in asked:
        yield from ("409", "413", "415", "422")


def _named(status: str) -> Piece:
    return {"$ref": f"#/components/responses/{REFUSALS[status][0]}"}


def _answer(status: str) -> Piece:
    problem = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    headers = {"headers": _HEADERS[status]} if status in _HEADERS else {}
    return {"description": REFUSALS[status][1], **headers, "content": problem}
