"""Bulk writes: one request carries many writes of one noun, and each item runs like a separate request.

Each item runs in the noun's own view and in its own commit. A refused item does not stop the others; its result carries the
refusal. Each item's idempotency key is made from the key of the request and the item's position, so a repeated request completes
the missing items and does nothing twice.

Decisions that need an individual review are refused here as in the console's inbox: nobody can approve a hundred texts at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, ClassVar, Final

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import ActorView
from apps.api.framework.in_process_requests import ApiCaller, ApiRequest, ApiResponse, call_api
from apps.api.protocol.authentication import bearer_token
from apps.api.protocol.etag_preconditions import IF_MATCH
from apps.api.protocol.idempotency import KEY_HEADER, REPLAYED_HEADER
from apps.api.protocol.problem_details import problem_response
from apps.api.protocol.request_bodies import RequestBody, StrictIntegerField
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError, Invalid, NotPermitted, NotVisible
from apps.governance.models import Proposal
from apps.review.appliers.registry import target_of
from apps.review.bulk.eligibility import Verb, refuse_ineligible
from apps.skills.models import Skill

_VERBS: Mapping[str, Verb] = {"approve": Verb.APPROVE, "reject": Verb.REJECT, "rebase": Verb.REBASE}


def check_allowed_in_bulk(noun: str, action: str, row_id: int | None, body: Mapping[str, Any], actor: Actor) -> None:
    """Refuse an item that the console's inbox would not allow in a bulk decision either."""
    if noun == "proposals" and action in _VERBS:
        proposal = Proposal.objects.visible_to(actor).filter(pk=row_id or 0).first()
        if proposal is None:
            raise NotVisible("There is no such proposal.")
        refuse_ineligible(proposal, _VERBS[action], target_of(proposal, actor), actor)
        if action == "rebase" and body.get("merge") is not True:
            raise Invalid(
                "A bulk request rebases only what can be merged without a choice. Send `merge` as true.",
                {"merge": ["Send true."]},
            )
    approved = Skill.Status.APPROVED
    if noun == "skills" and approved in (body.get("to"), body.get("status")):
        raise NotPermitted("A skill is approved one at a time, or through its proposal in `proposals/bulk/`.")


MAX_BULK_ITEMS: Final = 100
# The HTTP methods of actions that have no address of their own.
_REQUEST_METHODS: Final[Mapping[str, str]] = {"create": "POST", "update": "PATCH", "delete": "DELETE"}


class BulkItemSerializer(serializers.Serializer[Any]):
    """One write: the action, the row, and the body."""

    action = serializers.CharField(help_text="`create`, `update`, `delete`, or an action of the noun such as `finish`.")
    id = StrictIntegerField(required=False, help_text="Id of the row; `create` has none.")
    body = serializers.DictField(required=False, help_text="The body that the single request takes.")
    if_match = serializers.CharField(required=False, help_text=f"The header {IF_MATCH} of the single request.")


class BulkBody(RequestBody):
    """The writes, in order."""

    items = serializers.ListField(
        child=BulkItemSerializer(),
        allow_empty=False,
        max_length=MAX_BULK_ITEMS,
        help_text=f"At most {MAX_BULK_ITEMS} items.",
    )


class BulkItemResultSerializer(serializers.Serializer[Any]):
    """The result of one item: its row, or the problem document that refused it."""

    position = serializers.IntegerField(help_text="Position in the request, from 0.")
    status = serializers.IntegerField(help_text="HTTP status that the single request would have had.")
    row = serializers.DictField(allow_null=True)
    ignored_fields = serializers.ListField(child=serializers.CharField())
    problem = serializers.DictField(allow_null=True)
    is_replayed = serializers.BooleanField(
        help_text="An earlier request with the same key did the item already; this is its first response."
    )
    location = serializers.CharField(
        allow_blank=True, help_text="The proposal that holds the part that waits for a person."
    )


class BulkResultSerializer(serializers.Serializer[Any]):
    """All results in the order of the request, and how many items were done and refused."""

    done = serializers.IntegerField()
    refused = serializers.IntegerField()
    results = BulkItemResultSerializer(many=True)


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """One item of the request."""

    position: int
    action: str
    row_id: int | None
    body: Mapping[str, Any]
    if_match: str | None


class BulkView(ActorView):
    """Many writes of one noun."""

    # Each item performs the noun's own acts, as governed writes.
    acts: ClassVar = {"post": ()}
    waiting: ClassVar = frozenset({"post"})
    # The idempotency key of the whole request; the keys of its items are derived from it.
    has_own_keys = True
    prefix: ClassVar[str] = ""
    offered: ClassVar[tuple[str, ...]] = ()

    @extend_schema(request=BulkBody, responses={207: BulkResultSerializer})
    def post(self, request: Request) -> Response:
        """Do up to 100 writes, each in its own commit. The response has a result for each item."""
        sent = BulkBody.read(request, self.actor)
        wanted = [_plan_item(place, each, self.offered) for place, each in enumerate(sent.values["items"])]
        self.count_requests(len(wanted) - 1)
        results = [self._run_item(item) for item in wanted]
        refused = sum(result["problem"] is not None for result in results)
        summary = {"done": len(results) - refused, "refused": refused, "results": results}
        response = Response(BulkResultSerializer(summary).data, status=207)
        if all(result["is_replayed"] for result in results):
            response.headers[REPLAYED_HEADER] = "true"
        return response

    def _run_item(self, item: PlannedItem) -> dict[str, Any]:
        try:
            with acting_as(self.actor):
                check_allowed_in_bulk(self.prefix, item.action, item.row_id, item.body, self.actor)
        except GovernanceError as refusal:
            refused = problem_response(refusal, {"request": self.request, "view": self})
            if refused is None:
                raise
            return _item_result(item, ApiResponse(refused.status_code, refused.data, ""))
        return _item_result(item, call_api(self._item_request(item), self._caller()))

    def _item_request(self, item: PlannedItem) -> ApiRequest:
        where = self.prefix if item.row_id is None else f"{self.prefix}/{item.row_id}"
        method, address = (
            (_REQUEST_METHODS[item.action], where)
            if item.action in _REQUEST_METHODS
            else ("POST", f"{where}/{item.action}")
        )
        headers = {} if item.if_match is None else {IF_MATCH: item.if_match}
        if key := self.request.headers.get(KEY_HEADER):
            headers[KEY_HEADER] = sha256(f"{key} {item.position}".encode()).hexdigest()
        return ApiRequest(method, f"{address}/", {}, None if method == "DELETE" else item.body, headers)

    def _caller(self) -> ApiCaller:
        request = self.request
        return ApiCaller(self.actor, bearer_token(request), request.get_host(), request.is_secure(), is_counted=True)


def _plan_item(position: int, item: Mapping[str, Any], offered: tuple[str, ...]) -> PlannedItem:
    action, row_id = item["action"], item.get("id")
    if action not in offered:
        raise ValidationError({f"items.{position}.action": [f"Use one of these actions: {', '.join(offered)}."]})
    if (action == "create") is not (row_id is None):
        raise ValidationError({f"items.{position}.id": ["Send the id of the row; only `create` has none."]})
    return PlannedItem(position, action, row_id, item.get("body", {}), item.get("if_match"))


def _item_result(item: PlannedItem, answered: ApiResponse) -> dict[str, Any]:
    row = None if answered.is_refusal else answered.data
    return {
        "position": item.position,
        "status": answered.status,
        "row": row,
        "ignored_fields": (row or {}).get("ignored_fields", []),
        "problem": answered.data if answered.is_refusal else None,
        "is_replayed": answered.is_replayed,
        "location": answered.location,
    }
