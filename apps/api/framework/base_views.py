"""Base classes of the API's views: a request runs as its actor in one transaction, and a list returns pages of visible rows."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final, TypeVar, cast

from django.db.models import Model
from django.urls import reverse
from rest_framework import serializers
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from apps.api.models import IdempotencyRecord
from apps.api.openapi.schema import ProblemSchema
from apps.api.protocol.deprecation import Deprecation, deprecation_headers, deprecations_in
from apps.api.protocol.etag_preconditions import check_if_match, etag_of, matches_if_none_match, version_mismatch
from apps.api.protocol.idempotency import answer_once, answer_once_own_transactions
from apps.api.protocol.pagination import RowPagination
from apps.api.protocol.point_in_time import AGENT_PARAMETER, AS_OF, past_values, records_as_of, row_as_of
from apps.api.protocol.problem_details import NOT_FOUND
from apps.api.protocol.query_parameters import FIELDS, refuse_unknown_fields, reject_unknown_parameters, select_fields
from apps.api.protocol.rate_limits import Quota, enforce_quotas, quota_headers, use_quotas
from apps.api.protocol.request_bodies import BoundedJSONParser
from apps.api.protocol.serializers import WRITE_RESPONSE_FIELDS, RowSerializer, only_needed_columns
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import NotPermitted, Stale
from apps.governance.models import Governed, Proposal
from apps.governance.policy.policy_table import Act

Row = TypeVar("Row", bound=Model)
Handler = Callable[..., Response]
LINES_PENDING_TEXT: Final = "Part of it waits for a person; `Location` is the proposal that holds it."


class ActorView(APIView):
    """Runs each request as its actor, in one transaction. A refused request changes nothing."""

    parser_classes: Sequence[type[BaseParser]] = (BoundedJSONParser,)
    schema = ProblemSchema()
    # Methods whose handlers may wait. They open short transactions of their own.
    waiting: ClassVar[frozenset[str]] = frozenset()
    # The acts that each handler performs, for the policy page and the conformance check.
    acts: ClassVar[Mapping[str, tuple[Act, ...]]] = {}
    # Whether responses to writes may be stored under their idempotency key. False if they contain text of conversations, or
    # links.
    keeps_words: ClassVar[bool] = True
    # Whether the writes of this view handle idempotency keys themselves.
    has_own_keys: ClassVar[bool] = False
    # Deprecated handlers by name (or all handlers), and deprecated query parameters.
    deprecated: ClassVar[Mapping[str, Deprecation]] = {}
    deprecated_parameters: ClassVar[Mapping[str, Deprecation]] = {}
    # The remaining rate limits after this request.
    quotas: tuple[Quota, ...] = ()

    @property
    def actor(self) -> Actor:
        """Return the actor that authentication resolved."""
        return cast("Actor", self.request.auth)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Count the request against the rate limits before anything else; an item of a bulk request was already counted."""
        super().initial(request, *args, **kwargs)
        if not getattr(request._request, "is_counted", False):
            self.count_requests(1)

    def count_requests(self, cost: int) -> None:
        """Count the request against the rate limits, and refuse it if a limit is exceeded."""
        self.quotas = use_quotas(self.actor, cost)
        enforce_quotas(self.quotas)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Add the headers for rate limits and deprecations to every response."""
        answered = super().finalize_response(request, response, *args, **kwargs)
        handler = getattr(self, "action", None) or (request.method or "").lower()
        deprecated = deprecations_in(self, handler, request, getattr(answered, "data", None))
        for name, value in {**quota_headers(self.quotas), **deprecation_headers(deprecated)}.items():
            answered.headers[name] = value
        return answered

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Authenticate outside the transaction, then run the handler and commit inside it."""
        name = (request.method or "").lower()
        handler = getattr(self, name, None)
        if handler and name in self.http_method_names:
            setattr(
                self, name, self._run_own_transactions(handler) if name in self.waiting else self._run_as_actor(handler)
            )
        return super().dispatch(request, *args, **kwargs)

    def shown_again(self, kept: IdempotencyRecord) -> Response:
        """Answer a repeated write under its idempotency key; if the body was not stored, build the answer from the row."""
        return Response(status=kept.status)

    def _run_as_actor(self, handler: Handler) -> Handler:
        def run(request: Request, *args: Any, **kwargs: Any) -> Response:
            with acting_as(self.actor):
                return answer_once(self, request, partial(handler, request, *args, **kwargs))

        return run

    def _run_own_transactions(self, handler: Handler) -> Handler:
        def run(request: Request, *args: Any, **kwargs: Any) -> Response:
            answer = partial(handler, request, *args, **kwargs)
            return answer() if self.has_own_keys else answer_once_own_transactions(self, request, answer)

        return run


class UnknownAddressView(APIView):
    """Answers every address that does not exist with 404."""

    authentication_classes = ()
    permission_classes = ()
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse every method."""
        raise NotFound(NOT_FOUND)


class RowViewSet(ActorView, GenericViewSet[Row]):
    """Lists and shows those rows of one noun that the actor may see."""

    pagination_class: Any = RowPagination
    lookup_value_regex = "[0-9]+"
    # The serializer of list rows, if a list shows fewer fields than a single row.
    line_class: ClassVar[type[serializers.BaseSerializer[Any]] | None] = None
    for_people: ClassVar[bool] = False
    # Actions that a bulk request may contain: `create`, `update`, `delete`, and row actions by name.
    in_bulk: ClassVar[tuple[str, ...]] = ()
    # Fields computed separately from the row, such as counters. Their changes do not change the ETag.
    counted: ClassVar[tuple[str, ...]] = ()
    # The row version that `If-Match` requires.
    matched_version: int | None = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse agents if the rows are for people only."""
        super().initial(request, *args, **kwargs)
        if self.for_people and not self.actor.is_person:
            raise NotPermitted("Only people may read this. An agent's token cannot.")

    def get_object(self) -> Row:
        """Return the row at this address, if it satisfies the preconditions in the request headers."""
        row = super().get_object()
        self.matched_version = check_if_match(self.request, row)
        return row

    def handle_exception(self, exc: Exception) -> Response:
        """Answer a stale write with status 412 if the request named the row's version in a header."""
        if isinstance(exc, Stale) and self.matched_version not in (None, exc.current_version):
            exc = version_mismatch(exc.current_version)
        return super().handle_exception(exc)

    def get_serializer_class(self) -> type[serializers.BaseSerializer[Any]]:
        """Return the list serializer for lists, and the full one for single rows."""
        return (self.action == "list" and self.line_class) or super().get_serializer_class()

    def filter_queryset(self, queryset: Any) -> Any:
        """Apply filters to lists only; a single row is found by its id alone."""
        return super().filter_queryset(queryset) if self.action == "list" else queryset

    def list(self, request: Request) -> Response:
        """Return a page of rows, or of their versions at a past moment.

        An unknown parameter is refused, since ignoring a typo would show every row.
        """
        if self._asks_for_past(request):
            reject_unknown_parameters(request, {AS_OF, AGENT_PARAMETER, "cursor", "page_size"})
            records: Any = records_as_of(self.get_queryset(), request, self.actor)  # Any: the page is not of the noun
            then = self.paginate_queryset(records.select_related("text")) or ()
            return self.get_paginated_response([past_values(record) for record in then])
        self._refuse_unknown_parameters(request)
        page = self.paginate_queryset(self._narrow_columns(self.filter_queryset(self.get_queryset())))
        lines: Any = self.get_serializer(page, many=True)  # Any: a list's serializer, which has a child
        # Building a serializer's fields takes longer than reading a row, so it is done only if the request names fields.
        asks = FIELDS in request.query_params
        named = refuse_unknown_fields(request, set(lines.child.fields) - WRITE_RESPONSE_FIELDS) if asks else None
        return self.get_paginated_response(
            lines.data if named is None else [select_fields(named, line) for line in lines.data]
        )

    def _narrow_columns(self, rows: Any) -> Any:
        kind: Any = self.get_serializer_class()  # Any: a model serializer that renders like `RowSerializer`
        if getattr(kind, "to_representation", None) is not RowSerializer.to_representation:
            return rows
        pages: Any = self.paginator  # Any: one of our own, which knows its ordering
        order = pages.get_ordering(self.request, rows, self) if pages else ()
        return only_needed_columns(rows, kind, (name.lstrip("-") for name in order))

    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one row, or its version at a past moment."""
        row = self.get_object()
        return self.shown(request, row, self.get_serializer(row).data)

    def shown(self, request: Request, row: Row, payload: Any) -> Response:
        """Return the row with its ETag, 304 if the client already has it, or an earlier version if `as_of` asks for one."""
        if self._asks_for_past(request):
            reject_unknown_parameters(request, {AS_OF})
            governed: Any = row  # Any: only a governed row has past versions
            return Response(row_as_of(self.get_queryset(), governed, request, self.actor))
        payload = select_fields(refuse_unknown_fields(request, set(payload) - WRITE_RESPONSE_FIELDS), payload)
        headers = self.tagged(row, payload)
        is_had_already = bool(headers) and matches_if_none_match(request, headers["ETag"])
        return Response(None if is_had_already else payload, status=304 if is_had_already else 200, headers=headers)

    def tagged(self, row: Row, payload: Any) -> dict[str, str]:
        """Return the ETag header for this representation. Rows without versions have none."""
        version: int | None = getattr(row, "version", None)
        return {} if version is None else {"ETag": etag_of(version, payload, self.counted)}

    def answer(
        self,
        row_id: int,
        ignored: Sequence[str] = (),
        status: int = 200,
        notice: str = "",
        waits: Proposal | None = None,
    ) -> Response:
        """Return a written row in its current state, with the ignored fields and the location of a pending proposal."""
        row = self.get_queryset().get(pk=row_id)
        context = {**self.get_serializer_context(), "ignored_fields": list(ignored), "notice": notice}
        shown = self.serializer_class(row, context=context).data  # type: ignore[misc]
        headers = self.tagged(row, shown)
        if waits is None:
            return Response(shown, status=status, headers=headers)
        where = {"Location": reverse("proposal-detail", args=[waits.pk]), **headers}
        return Response(shown, status=202 if status == 200 else status, headers=where)

    def shown_again(self, kept: IdempotencyRecord) -> Response:
        """Return the row in its current state, so that text erased meanwhile stays erased."""
        return self.answer(int(self.kwargs.get("pk") or kept.row_id or 0), status=kept.status)

    def waiting_about(self, row: Governed) -> Proposal | None:
        """Return the row's open proposal, which has the part of a write that waits."""
        return Proposal.objects.visible_to(self.actor).open().about(row).first()

    @property
    def is_governed(self) -> bool:
        """Return whether the rows of this view are governed, and so have past versions."""
        rows = cast("Any", self).queryset  # Any: the queryset of the noun, which the stubs take for a manager
        return rows is not None and issubclass(rows.model, Governed)

    def _asks_for_past(self, request: Request) -> bool:
        return AS_OF in request.query_params and self.is_governed

    def _refuse_unknown_parameters(self, request: Request) -> None:
        filters = getattr(getattr(self, "filterset_class", None), "base_filters", {})
        known = {*filters, "cursor", "page_size", FIELDS, *(["ordering"] if len(self.filter_backends) > 1 else [])}
        if unknown := sorted(set(request.query_params) - known):
            raise ValidationError(
                {name: [f"There is no such filter. Known filters: {', '.join(sorted(known))}."] for name in unknown}
            )
