"""OpenAPI document: operation headers and examples, authentication, the streams, and the refusals each operation can return.

Every refusal is a problem document (RFC 9457).
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.permissions import SAFE_METHODS

from apps.api.models import KEY_CHARACTERS
from apps.api.openapi.body_examples import example_body
from apps.api.protocol.authentication import ActorAuthentication
from apps.api.protocol.deprecation import ALL_HANDLERS, Deprecation
from apps.api.protocol.etag_preconditions import IF_MATCH, IF_NONE_MATCH
from apps.api.protocol.idempotency import KEY_HEADER
from apps.api.protocol.point_in_time import AS_OF
from apps.api.protocol.problem_details import CONTENT_TYPE
from apps.api.protocol.query_parameters import FIELDS


class ProblemSerializer(serializers.Serializer[Any]):
    """RFC 9457, with what helps to put it right."""

    type = serializers.CharField(help_text="Where this code is explained.")
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField(help_text="A sentence for people.")
    code = serializers.CharField(help_text="A word for programs.")
    instance = serializers.CharField()
    errors = serializers.DictField(  # type: ignore[assignment]  # REST framework takes fields off the class
        child=serializers.ListField(child=serializers.CharField()),
        required=False,
        help_text="Reasons by field; what belongs to no field stands under `body`.",
    )
    ignored_fields = serializers.ListField(child=serializers.CharField(), required=False)
    current_version = serializers.IntegerField(required=False, allow_null=True)
    current_sha256 = serializers.CharField(required=False)
    current_content = serializers.JSONField(required=False, help_text="The words behind `current_sha256`.")
    base = serializers.DictField(required=False, help_text="What a proposal was read from.")
    live = serializers.DictField(required=False, help_text="What stands there now.")
    findings = serializers.ListField(child=serializers.CharField(), required=False)
    allowed = serializers.ListField(child=serializers.CharField(), required=False)
    failure_code = serializers.CharField(required=False)


_ANY_OR_NULL: Final = [{}, {"type": "null"}]


def refusal_response(status: int, why: str) -> dict[tuple[int, str], OpenApiResponse]:
    """A refusal of one operation that others of its kind do not have."""
    return {(status, CONTENT_TYPE): OpenApiResponse(ProblemSerializer, why)}


class ProblemSchema(AutoSchema):
    """Adds headers and examples, and the problem document, which `schema_refusals` names for each operation."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        """The operation as drf-spectacular reads it, and what else may come back."""
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation is not None:
            self.resolve_serializer(ProblemSerializer, "response")
            self._add_headers(operation)
            self._add_example(operation)
            deprecated = self._view_deprecations("deprecated_parameters")
            operation["parameters"] = [
                {**each, "deprecated": True} if each["in"] == "query" and each["name"] in deprecated else each
                for each in operation["parameters"]
            ]
        return operation

    def _map_serializer_field(
        self, field: Any, *args: Any, **kwargs: Any
    ) -> Any:  # Any: REST framework's and drf-spectacular's own
        _allow_blank(field)
        shape = super()._map_serializer_field(field, *args, **kwargs)  # type: ignore[no-untyped-call]  # untyped there
        # Anything at all, or null: null would be one of either.
        return {name: value for name, value in shape.items() if value != _ANY_OR_NULL} if shape else shape

    def is_deprecated(self) -> bool:
        """Whether the operation goes."""
        handler = getattr(self.view, "action", None) or self.method.lower()
        return bool({handler, ALL_HANDLERS} & set(self._view_deprecations("deprecated")))

    def _view_deprecations(self, name: str) -> Mapping[str, Deprecation]:
        found: Mapping[str, Deprecation] = getattr(self.view, name, {})
        return found

    def _map_basic_serializer(self, serializer: Any, direction: Any) -> Any:  # Any: drf-spectacular's own
        shape = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]  # untyped there
        for name in getattr(serializer, "deprecated", {}):
            # A field that is a reference to others is deprecated beside it.
            shape["properties"][name] = {**shape["properties"][name], "deprecated": True}
        return shape

    def _add_example(self, operation: dict[str, Any]) -> None:
        if "requestBody" not in operation:
            return
        body: Any = self.get_request_serializer()  # Any: a serializer, its class, or one for each type of content
        shown = next(iter(body.values())) if isinstance(body, dict) else body
        for content in operation["requestBody"]["content"].values():
            content["example"] = example_body(shown() if isinstance(shown, type) else shown)

    def _add_headers(self, operation: dict[str, Any]) -> None:
        asked, is_row = operation.setdefault("parameters", []), bool(getattr(self.view, "detail", False))
        if getattr(self.view, "action", "") in {"list", "retrieve"}:
            asked.append(_FIELDS_PARAMETER)
            asked.extend([_AS_OF_PARAMETER] if getattr(self.view, "is_governed", False) else [])
        if getattr(self.view, "action", "") == "retrieve":
            asked.append(_IF_NONE_MATCH_PARAMETER)
            operation["responses"]["304"] = {"description": "Who asks has exactly this already."}
        # Reads as well: what is read under a row is read only if that is still what the header names.
        asked.extend([_IF_MATCH_PARAMETER] if is_row else [])
        if self.method not in SAFE_METHODS:
            # A message names its key itself.
            asked.extend([] if any(each["name"] == KEY_HEADER for each in asked) else [_KEY_PARAMETER])


def _allow_blank(field: Any) -> None:
    """A choice that nobody made yet is shown as an empty text; REST framework forgets that of what is only read."""
    model = getattr(getattr(field.parent, "Meta", None), "model", None)
    if isinstance(field, serializers.ChoiceField) and field.read_only and model is not None:
        known = {each.name: each for each in model._meta.concrete_fields}
        field.allow_blank = field.allow_blank or getattr(known.get(field.source), "blank", False)


def name_streams(result: dict[str, Any], generator: Any, **details: Any) -> dict[str, Any]:
    """Add the streams: they are no views of REST framework, whose answers are whole."""
    paths = result["paths"]
    at = next(path for path in paths if path.endswith("/conversations/{id}/"))
    row = paths[at]["get"]
    answers = {status: response for status, response in row["responses"].items() if status != "304"}
    for path, words, asked in (
        (f"{at}stream/", _CONVERSATION_STREAM, row["parameters"]),
        (at.replace("conversations/{id}", "review/stream"), _REVIEW_STREAM, []),
    ):
        named = [each for each in asked if each["in"] == "path"]
        overrides = {"parameters": [*named, _LAST_EVENT_ID], "responses": {**answers, "200": _EVENT_STREAM_RESPONSE}}
        paths[path] = {"get": {**row, **words, **overrides}}
    result["paths"] = dict(sorted(paths.items()))
    return result


_FIELDS_PARAMETER: Final = {
    "in": "query",
    "name": FIELDS,
    "schema": {"type": "string"},
    "description": "Names with commas between: nothing else is shown of a row.",
}
_AS_OF_PARAMETER: Final = {
    "in": "query",
    "name": AS_OF,
    "schema": {"type": "string"},
    "description": "A moment of the past, for people: the versions that stood then, as `versions/` shows them.",
}
_KEY_PARAMETER: Final = {
    "in": "header",
    "name": KEY_HEADER,
    "schema": {"type": "string", "maxLength": KEY_CHARACTERS},
    "description": "The same request under the same key is done once, and answered alike.",
}
_IF_MATCH_PARAMETER: Final = {
    "in": "header",
    "name": IF_MATCH,
    "schema": {"type": "string"},
    "description": "An `ETag` that was read: done only if the row is still of that version, else 412.",
}
_IF_NONE_MATCH_PARAMETER: Final = {
    "in": "header",
    "name": IF_NONE_MATCH,
    "schema": {"type": "string"},
    "description": "An `ETag` that is had already: 304 if nothing else is shown.",
}
_CONVERSATION_STREAM: Final = {
    "operationId": "conversations_stream",
    "summary": "Follow a conversation",
    "description": "Server-sent events: `tool`, `reply` and `turn`, each with an id to go on from as `Last-Event-ID` (`0-0-0-` is"
    " the beginning), and `text` while an answer is said. It ends after ten minutes at the latest, with `end`.",
}
_REVIEW_STREAM: Final = {
    "operationId": "review_stream",
    "summary": "Follow what waits for people",
    "description": "Server-sent events without words: `proposal`, `draft` and `escalation` with their `change`, `counts` with how"
    " many there are, each with an id to go on from as `Last-Event-ID`; `resync` where lists have to be read again. It ends after"
    " ten minutes at the latest, with `end`.",
    "tags": ["review"],
}
_LAST_EVENT_ID: Final = {
    "in": "header",
    "name": "Last-Event-ID",
    "schema": {"type": "string"},
    "description": "The id of the last event that was heard; without it the stream begins with what comes next.",
}
_EVENT_STREAM_RESPONSE: Final = {
    "description": "Events, as they happen; the data of each is a JSON object.",
    "content": {"text/event-stream": {"schema": {"type": "string"}}},
}


class ActorAuthenticationSchema(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # drf-spectacular's
    """How the OpenAPI document names the two ways in."""

    target_class = ActorAuthentication
    name = ["agentToken", "consoleSession"]  # noqa: RUF012  # drf-spectacular declares it per instance

    def get_security_requirement(self, auto_schema: AutoSchema) -> list[dict[str, list[Any]]]:
        """Either will do."""
        return [{name: []} for name in self.name]

    def get_security_definition(self, auto_schema: AutoSchema) -> list[dict[str, Any]]:
        """A bearer token, or the session cookie."""
        return [{"type": "http", "scheme": "bearer"}, {"type": "apiKey", "in": "cookie", "name": "sessionid"}]


# Any: pieces of an OpenAPI document, which are what they are.
OpenApiNode = dict[str, Any]

EVENT_STREAM_TYPE: Final = "text/event-stream"
# The status, the name that operations refer to, and when it comes.
REFUSALS: Final[Mapping[str, tuple[str, str]]] = {
    "400": ("Invalid", "Something that was sent cannot be taken, or there is no such move."),
    "401": ("NotSignedIn", "Neither a token that stands nor a session."),
    "403": ("NotPermitted", "Whoever asks may not do this, or nothing of it."),
    "404": ("NotFound", "There is no such row, or it is not theirs to see."),
    "406": ("NoSuchFormat", "The header `Accept` names nothing that can be sent."),
    "409": ("Conflict", "It has changed since, or does not go with what is there."),
    "410": ("TextErased", "The words of that moment were erased."),
    "412": ("PreconditionFailed", "The row is not what a header of the request names."),
    "413": ("TooLarge", "The body has more bytes than are taken."),
    "415": ("UnsupportedMediaType", "The body is of a type that is not read here."),
    "422": ("KeyReused", f"Another request came with this {KEY_HEADER} before."),
    "429": ("Throttled", "Too much was asked or sent within a minute, or too many streams are open."),
    "503": ("TooManyStreams", "The process has as many streams open as it may."),
}
_RETRY_AFTER: Final = {
    "Retry-After": {"description": "Seconds until it may be asked again.", "schema": {"type": "integer"}}
}
_CHALLENGE: Final = {"WWW-Authenticate": {"description": "What is asked for.", "schema": {"type": "string"}}}
_REFUSAL_HEADERS: Final[Mapping[str, OpenApiNode]] = {"401": _CHALLENGE, "429": _RETRY_AFTER, "503": _RETRY_AFTER}


def name_refusals(result: OpenApiNode, generator: Any, **details: Any) -> OpenApiNode:
    """Say them once, and of each operation which it may be answered with."""
    result["components"]["responses"] = {name: _problem_response(status) for status, (name, _) in REFUSALS.items()}
    for methods in result["paths"].values():
        for operation in methods.values():
            # What an operation says of its own comes first.
            answers = {status: _response_reference(status) for status in _possible_statuses(operation)} | operation[
                "responses"
            ]
            operation["responses"] = dict(sorted(answers.items()))
    return result


def _possible_statuses(operation: OpenApiNode) -> Iterator[str]:
    asked = {(each["in"], each["name"]) for each in operation["parameters"]}
    yield from ("400", "401", "403", "429")
    # A stream is no view of REST framework, and reads no `Accept`.
    yield "503" if EVENT_STREAM_TYPE in operation["responses"].get("200", {}).get("content", {}) else "406"
    if any(where == "path" for where, _ in asked) or ("header", KEY_HEADER) in asked:
        # A write names rows in its body, too.
        yield "404"
    if ("query", AS_OF) in asked:
        yield "410"
    if ("header", IF_MATCH) in asked:
        yield "412"
    if ("header", KEY_HEADER) in asked:
        yield from ("409", "413", "415", "422")


def _response_reference(status: str) -> OpenApiNode:
    return {"$ref": f"#/components/responses/{REFUSALS[status][0]}"}


def _problem_response(status: str) -> OpenApiNode:
    problem = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    headers = {"headers": _REFUSAL_HEADERS[status]} if status in _REFUSAL_HEADERS else {}
    return {"description": REFUSALS[status][1], **headers, "content": problem}
