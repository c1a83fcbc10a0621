"""A tool is a REST request in a model's words: which one, what the model gives for it, and what it does to what is there."""

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

# What the database calls an id.
_PLACEHOLDER: Final = re.compile(r"{(\w+)}")


@dataclass(frozen=True, slots=True)
class RestTool:
    """One tool. What is not said here is the address's own business."""

    name: str
    says: str
    method: str
    # Below the API's root; `{id}` is an argument.
    address: str
    # What of the body, or of the list's filters, a model gives; everything else the body knows is stripped there and said.
    takes: tuple[str, ...] = ()
    body: type[RequestBody] | None = None
    # What of the body is the same at every call.
    sets: Mapping[str, Any] = field(default_factory=dict)
    # Required here though the body can do without: what nobody should write who has not read it.
    needs: tuple[str, ...] = ()
    # What an argument means, where the field itself does not say so to a model.
    words: Mapping[str, str] = field(default_factory=dict)
    acts: tuple[Act, ...] = ()
    is_destructive: bool = False
    is_idempotent: bool = False
    # The one row of a list that has at most one.
    is_single: bool = False

    @property
    def reads(self) -> bool:
        """It changes nothing. That an approved skill was fetched is counted, and no content."""
        return self.method == "GET"

    @property
    def places(self) -> tuple[str, ...]:
        """The arguments that stand in the address."""
        return tuple(_PLACEHOLDER.findall(self.address))

    @property
    def view(self) -> tuple[type[ActorView], str]:
        """The view that answers, and what it calls this request."""
        return handler_at(self.method, self.filled(dict.fromkeys(self.places, 1)))

    @property
    def is_paged(self) -> bool:
        """It answers pages of rows."""
        return not self.is_single and self.view[1] == "list"

    def filled(self, given: Mapping[str, Any]) -> str:
        """The address with its arguments in place."""
        return _PLACEHOLDER.sub(lambda found: str(given[found[1]]), self.address)

    def schema(self) -> Schema:
        """What it takes, as JSON Schema."""
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
        """Every argument that has a meaning here, also one that is stripped."""
        beside = frozenset(self.body().fields) | self.body.shown if self.body else frozenset()
        return frozenset((*self.places, *self.takes, *(PAGING_PARAMETERS if self.is_paged else ()))) | beside

    def asked(self, given: Mapping[str, Any]) -> ApiRequest:
        """The request it stands for. The arguments that the address holds are whole numbers by now."""
        rest = {name: value for name, value in given.items() if name not in self.places}
        if self.body is None:
            return ApiRequest(self.method, self.filled(given), rest)
        return ApiRequest(self.method, self.filled(given), {}, {**rest, **self.sets})

    def misuses(self, given: Mapping[str, Any]) -> dict[str, str]:
        """Arguments that no request can be made of, each with the reason."""
        return dict(self._misuses(given))

    def shown(self, answered: ApiResponse, given: Mapping[str, Any]) -> dict[str, Any]:
        """What is told of an answer that is no refusal."""
        return answer_data(answered, is_single=self.is_single)

    def _misuses(self, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        known = self.known() - set(self.sets)
        for name in sorted(set(given) - known):
            yield name, f"There is no such argument. There are: {', '.join(self.schema()['properties'])}."
        for name in self.places:
            value = given.get(name)
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LARGEST_ROW_ID:
                yield name, "This is a whole number from 1, and has to be there."
        # Where more was sent than is offered, the API judges first: an attempt at what is not permitted goes into the books.
        if not set(given) - set(self.schema()["properties"]):
            yield from ((name, "This has to be there.") for name in self.needs if name not in given)
        if self.body is None:
            yield from (
                (name, "This is a text or a number.")
                for name, value in given.items()
                if name in known and not isinstance(value, str | int | bool)
            )
