"""Tool definitions: a tool is a REST request described for a model, with its arguments and effects."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from apps.api.framework.base_views import ActorView
from apps.api.framework.in_process_requests import ApiRequest, ApiResponse
from apps.api.framework.json_schema import PAGING_PARAMETERS, body_schema, filter_schemas, handler_at, required_fields
from apps.api.protocol.request_bodies import RequestBody
from apps.governance.act_schemas import Schema
from apps.governance.policy.policy_table import Act
from apps.governance.row_ids import LARGEST_ROW_ID
from apps.mcp_server.tool_calls import answer_data

# A placeholder in an address for a row's id.
_PLACEHOLDER: Final = re.compile(r"{(\w+)}")


@dataclass(frozen=True, slots=True)
class RestTool:
    """One tool. Everything not declared here is derived from the address."""

    name: str
    says: str
    method: str
    # Address below the API's root; `{id}` is an argument.
    address: str
    # Body fields or list filters that are arguments. Other fields of the body are stripped by the API and named in the response.
    takes: tuple[str, ...] = ()
    body: type[RequestBody] | None = None
    # Fields of the body with the same value in every call.
    sets: Mapping[str, Any] = field(default_factory=dict)
    # Arguments required by the tool but not by the body, such as the version that was read.
    needs: tuple[str, ...] = ()
    # Descriptions of arguments whose fields have no description for a model.
    words: Mapping[str, str] = field(default_factory=dict)
    acts: tuple[Act, ...] = ()
    is_destructive: bool = False
    is_idempotent: bool = False
    # Whether the list has at most one row, which is then returned by itself.
    is_single: bool = False

    @property
    def reads(self) -> bool:
        """Return whether the tool changes nothing. Fetching an approved skill is counted, but changes no content."""
        return self.method == "GET"

    @property
    def places(self) -> tuple[str, ...]:
        """Return the arguments in the address."""
        return tuple(_PLACEHOLDER.findall(self.address))

    @property
    def view(self) -> tuple[type[ActorView], str]:
        """Return the view at the address, and the name of its handler for this request."""
        return handler_at(self.method, self.filled(dict.fromkeys(self.places, 1)))

    @property
    def is_paged(self) -> bool:
        """Return whether the tool returns pages of rows."""
        return not self.is_single and self.view[1] == "list"

    def filled(self, given: Mapping[str, Any]) -> str:
        """Return the address with its arguments filled in."""
        return _PLACEHOLDER.sub(lambda found: str(given[found[1]]), self.address)

    def schema(self) -> Schema:
        """Return the JSON Schema of the arguments."""
        places = {name: {"type": "integer", "minimum": 1} for name in self.places}
        needed = [*self.places, *self.needs]
        if self.body is not None:
            shapes = body_schema(self.body, self.takes)
            needed += [name for name in required_fields(self.body, self.takes) if name not in needed]
        else:
            shapes = filter_schemas(self.view[0], self.takes)
        properties = {**places, **shapes, **(PAGING_PARAMETERS if self.is_paged else {})}
        for name, description in self.words.items():
            properties[name] = {**properties[name], "description": description}
        return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}

    def known(self) -> frozenset[str]:
        """Return every known argument, including arguments that are stripped."""
        beside = frozenset(self.body().fields) | self.body.shown if self.body else frozenset()
        return frozenset((*self.places, *self.takes, *(PAGING_PARAMETERS if self.is_paged else ()))) | beside

    def asked(self, given: Mapping[str, Any]) -> ApiRequest:
        """Return the REST request. The arguments in the address have already been converted to integers."""
        rest = {name: value for name, value in given.items() if name not in self.places}
        if self.body is None:
            return ApiRequest(self.method, self.filled(given), rest)
        return ApiRequest(self.method, self.filled(given), {}, {**rest, **self.sets})

    def misuses(self, given: Mapping[str, Any]) -> dict[str, str]:
        """Return the arguments that cannot be made into a request, each with the reason."""
        return dict(self._misuses(given))

    def shown(self, answered: ApiResponse, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the data of a successful response."""
        return answer_data(answered, is_single=self.is_single)

    def _misuses(self, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        known = self.known() - set(self.sets)
        for name in sorted(set(given) - known):
            yield name, f"There is no such argument. There are: {', '.join(self.schema()['properties'])}."
        for name in self.places:
            value = given.get(name)
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LARGEST_ROW_ID:
                yield name, "This is a whole number from 1, and has to be there."
        # If more was sent than the schema offers, the API decides first, so that an attempt without permission reaches the
        # audit log.
        if not set(given) - set(self.schema()["properties"]):
            yield from ((name, "This has to be there.") for name in self.needs if name not in given)
        if self.body is None:
            yield from (
                (name, "This is a text or a number.")
                for name, value in given.items()
                if name in known and not isinstance(value, str | int | bool)
            )
