"""Tools with dAvePi's names and argument shapes, so that an agent written for dAvePi needs only a different address."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from apps.api.framework.in_process_requests import ApiRequest, ApiResponse
from apps.governance.act_schemas import Schema
from apps.governance.row_ids import MOST_ROW_ID_DIGITS
from apps.mcp_server.tool_calls import answer_data

MAX_ROWS: Final = 100
DEFAULT_ROWS: Final = 20
_SORT: Final = re.compile(r"(\w+):(asc|desc)")
_RECORD_SCHEMA: Final[Schema] = {"type": "object", "additionalProperties": True}
_ID_SCHEMA: Final[Schema] = {"type": "string", "pattern": "^[0-9]{1,18}$", "description": "The _id of the record."}
_LIST_ARGUMENTS: Final[Mapping[str, Schema]] = {
    "filter": {**_RECORD_SCHEMA, "description": "Fields and the values they have to have; no operators."},
    "page": {"type": "integer", "minimum": 1, "maximum": 1, "description": "The first page; narrow it by filter."},
    "perPage": {
        "type": "integer",
        "minimum": 1,
        "maximum": 200,
        "description": f"Left out, {DEFAULT_ROWS}; at most {MAX_ROWS}.",
    },
    "sort": {"type": "string", "description": "field:asc or field:desc, within the page."},
}


@dataclass(frozen=True, slots=True)
class DavepiNoun:
    """One dAvePi schema: its address in this API, its renamed fields, and its search filter."""

    name: str
    address: str
    verbs: tuple[str, ...]
    called: Mapping[str, str] = field(default_factory=dict)
    # The filter for the argument `q`.
    search: str = ""


_COMMON_FIELD_NAMES: Final = {"_id": "id"}
DAVEPI_NOUNS: Final = (
    DavepiNoun("agentPersona", "personas/", ("list", "get", "update")),
    DavepiNoun("agentMemory", "memories/", ("list", "get", "create", "update")),
    DavepiNoun("customerProfile", "profiles/", ("list", "get", "create", "update")),
    DavepiNoun(
        "skill",
        "skills/",
        ("list", "get", "create", "update", "delete"),
        {"name": "title", "slug": "name"},
        search="search",
    ),
    DavepiNoun("conversation", "conversations/", ("list", "get", "update"), {"conversationId": "conversation_key"}),
)
_VERBS: Final[Mapping[str, tuple[str, str, str]]] = {
    "list": ("GET", "", "List {} records, the newest first."),
    "get": ("GET", "{id}/", "Fetch a single {} record by _id."),
    "create": ("POST", "", "Create a new {} record."),
    "update": ("PATCH", "{id}/", "Change fields of a {} record. What you may not write is left as it is and named."),
    "delete": ("DELETE", "{id}/", "Delete a {} record, where that is permitted."),
}


@dataclass(frozen=True, slots=True)
class DavepiTool:
    """One generated tool: a verb on a noun."""

    noun: DavepiNoun
    verb: str

    @property
    def name(self) -> str:
        """Return the tool's name, such as `update_agentMemory`."""
        return f"{self.verb}_{self.noun.name}"

    @property
    def says(self) -> str:
        """Return the tool's description for models."""
        return _VERBS[self.verb][2].format(self.noun.name)

    @property
    def reads(self) -> bool:
        """Return whether the tool changes nothing."""
        return self.verb in {"list", "get"}

    @property
    def is_destructive(self) -> bool:
        """Return whether the tool overwrites or removes existing values."""
        return self.verb in {"update", "delete"}

    @property
    def is_idempotent(self) -> bool:
        """Return whether a second identical call changes nothing more."""
        return self.verb == "update"

    def schema(self) -> Schema:
        """Return the JSON Schema of the arguments."""
        taken: dict[str, Schema] = {}
        if self.verb == "list":
            taken = {**_LIST_ARGUMENTS, **({"q": {"type": "string"}} if self.noun.search else {})}
        if self.verb in {"get", "update", "delete"}:
            taken["id"] = _ID_SCHEMA
        if self.verb in {"create", "update"}:
            taken["record"] = _RECORD_SCHEMA
        needed = [name for name in taken if self.verb != "list"]
        return {"type": "object", "properties": taken, "required": needed, "additionalProperties": False}

    def misuses(self, given: Mapping[str, Any]) -> dict[str, str]:
        """Return the arguments that cannot be made into a request, each with the reason."""
        return dict(self._misuses(given))

    def asked(self, given: Mapping[str, Any]) -> ApiRequest:
        """Return the REST request for these arguments."""
        method, below, _ = _VERBS[self.verb]
        address = f"{self.noun.address}{below.format(id=given.get('id'))}"
        if "record" in given:
            return ApiRequest(
                method, address, {}, {self._own_name(name): value for name, value in given["record"].items()}
            )
        if self.verb != "list":
            return ApiRequest(method, address, {})
        query = {self._own_name(name): value for name, value in given.get("filter", {}).items()}
        query["page_size"] = min(given.get("perPage", DEFAULT_ROWS), MAX_ROWS)
        return ApiRequest(method, address, query | ({self.noun.search: given["q"]} if "q" in given else {}))

    def shown(self, answered: ApiResponse, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the response in dAvePi's shape."""
        found = answer_data(answered)
        if self.verb != "list":
            return self._davepi_row(found)
        rows = [self._davepi_row(row) for row in found["results"]]
        if sort := _SORT.fullmatch(given.get("sort", "")):
            rows.sort(key=lambda row: (row.get(sort[1]) is not None, row.get(sort[1])), reverse=sort[2] == "desc")
        listing = {"results": rows, "page": 1, "perPage": min(given.get("perPage", DEFAULT_ROWS), MAX_ROWS)}
        return listing if found["next_cursor"] else {**listing, "totalResults": len(rows)}

    def _misuses(self, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        schema = self.schema()
        for name in sorted(set(given) - set(schema["properties"])):
            yield name, f"There is no such argument. There are: {', '.join(schema['properties'])}."
        if "id" in schema["required"] and not _is_id(given.get("id")):
            yield "id", "This is the _id of a record, and has to be there."
        for name in ("record", "filter"):
            known = name in schema["required"] or (name in schema["properties"] and name in given)
            if known and not isinstance(given.get(name), Mapping):
                yield name, "This is an object of fields, and has to be there."
        if self.verb == "list":
            yield from self._misuses_of_list(given)

    def _misuses_of_list(self, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        values = given.get("filter", {})
        for name, value in values.items() if isinstance(values, Mapping) else ():
            if not isinstance(value, str | int | bool):
                yield f"filter.{name}", "Give the value itself; operators are not known here."
        if given.get("page", 1) != 1:
            yield "page", "Only the first page is told. Narrow it by filter."
        size = given.get("perPage", DEFAULT_ROWS)
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            yield "perPage", "This is a whole number from 1."
        if "sort" in given and not (isinstance(given["sort"], str) and _SORT.fullmatch(given["sort"])):
            yield "sort", "Say field:asc or field:desc."

    def _own_name(self, name: str) -> str:
        return (
            self.noun.called.get(name)
            or _COMMON_FIELD_NAMES.get(name)
            or re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
        )

    def _davepi_row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        back = {ours: theirs for theirs, ours in {**self.noun.called, **_COMMON_FIELD_NAMES}.items()}
        fields = {back.get(name) or _camel(name): value for name, value in row.items()}
        return fields | ({"_id": str(fields["_id"])} if "_id" in fields else {})


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _is_id(value: object) -> bool:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    is_text = isinstance(value, str) and value.isascii() and value.isdigit()
    return (is_number or is_text) and len(str(value)) <= MOST_ROW_ID_DIGITS and int(str(value)) > 0


DAVEPI_TOOLS: Final = {
    alias.name: alias for noun in DAVEPI_NOUNS for verb in noun.verbs for alias in [DavepiTool(noun, verb)]
}
# Our tools that have a dAvePi alias; a client of dAvePi's names is offered only the alias.
REPLACED_TOOLS: Final = frozenset(
    {"read_persona", "propose_persona_patch", "read_memory", "create_memory", "update_memory", "find_profile"}
    | {"create_profile", "update_profile", "list_skills", "get_skill", "draft_skill", "update_skill"}
    | {"discard_skill_draft", "list_conversations", "get_conversation", "resolve_conversation", "abandon_conversation"}
)
