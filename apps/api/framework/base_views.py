"""The two bases of every view: a request runs as its actor, in one transaction, and lists are pages of visible rows."""

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
LINES_PENDING_TEXT: Final = "Some of it waits for a person; `Location` is the proposal that keeps it."


class ActorView(APIView):
    """Runs what the request asks for as the actor who asks. Whatever is refused leaves nothing behind."""

    parser_classes: Sequence[type[BaseParser]] = (BoundedJSONParser,)
    schema = ProblemSchema()
    # Methods that may wait, and therefore open their own short transactions.
    waiting: ClassVar[frozenset[str]] = frozenset()
    # Which acts each handler performs; the policy's page and its check read them.
    acts: ClassVar[Mapping[str, tuple[Act, ...]]] = {}
    # Whether what is answered to a write may be kept for its key: nothing that words of conversations stand in, or links.
    keeps_words: ClassVar[bool] = True
    # Whether its writes know their keys themselves.
    has_own_keys: ClassVar[bool] = False
    # What of it goes: handlers by their names, or all of them, and parameters behind the question mark.
    deprecated: ClassVar[Mapping[str, Deprecation]] = {}
    deprecated_parameters: ClassVar[Mapping[str, Deprecation]] = {}
    # What the limits have left after this request.
    quotas: tuple[Quota, ...] = ()

    @property
    def actor(self) -> Actor:
        """The actor that authentication found."""
        return cast("Actor", self.request.auth)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Whoever asks is counted before anything is done; an item of a bulk was."""
        super().initial(request, *args, **kwargs)
        if not getattr(request._request, "is_counted", False):
            self.count_requests(1)

    def count_requests(self, cost: int) -> None:
        """Count what is asked for, and refuse it where that is too much."""
        self.quotas = use_quotas(self.actor, cost)
        enforce_quotas(self.quotas)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Every answer says what the limits have left, and whether something of it goes."""
        answered = super().finalize_response(request, response, *args, **kwargs)
        handler = getattr(self, "action", None) or (request.method or "").lower()
        deprecated = deprecations_in(self, handler, request, getattr(answered, "data", None))
        for name, value in {**quota_headers(self.quotas), **deprecation_headers(deprecated)}.items():
            answered.headers[name] = value
        return answered

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Authentication comes first and outside; the handler runs inside, and so does its commit."""
        name = (request.method or "").lower()
        handler = getattr(self, name, None)
        if handler and name in self.http_method_names:
            setattr(
                self, name, self._run_own_transactions(handler) if name in self.waiting else self._run_as_actor(handler)
            )
        return super().dispatch(request, *args, **kwargs)

    def shown_again(self, kept: IdempotencyRecord) -> Response:
        """What a write was answered with, read anew where its words were not kept."""
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
    """Every address that is none."""

    authentication_classes = ()
    permission_classes = ()
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Whatever the method, there is nothing."""
        raise NotFound(NOT_FOUND)


class RowViewSet(ActorView, GenericViewSet[Row]):
    """Lists and shows the rows of one noun that the actor sees."""

    pagination_class: Any = RowPagination
    lookup_value_regex = "[0-9]+"
    # The serializer of a list, where a list shows less than a single row.
    line_class: ClassVar[type[serializers.BaseSerializer[Any]] | None] = None
    for_people: ClassVar[bool] = False
    # What may be done to many of its rows in one request: `create`, `update`, `delete`, and actions by their names.
    in_bulk: ClassVar[tuple[str, ...]] = ()
    # What a row shows that is counted beside it: another number makes no other tag.
    counted: ClassVar[tuple[str, ...]] = ()
    # The version at which this request has to find its row.
    matched_version: int | None = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Some rows are for reviewers alone."""
        super().initial(request, *args, **kwargs)
        if self.for_people and not self.actor.is_person:
            raise NotPermitted("Only people may read this; an agent's token does not reach it.")

    def get_object(self) -> Row:
        """The row that the address names, if it meets what the request's headers ask of it."""
        row = super().get_object()
        self.matched_version = check_if_match(self.request, row)
        return row

    def handle_exception(self, exc: Exception) -> Response:
        """Whoever named the row in a header, and was overtaken between the look and the lock, is told so in its terms."""
        if isinstance(exc, Stale) and self.matched_version not in (None, exc.current_version):
            exc = version_mismatch(exc.current_version)
        return super().handle_exception(exc)

    def get_serializer_class(self) -> type[serializers.BaseSerializer[Any]]:
        """The lines of a list, or the whole row."""
        return (self.action == "list" and self.line_class) or super().get_serializer_class()

    def filter_queryset(self, queryset: Any) -> Any:
        """Filters narrow lists; a single row is named by its id alone."""
        return super().filter_queryset(queryset) if self.action == "list" else queryset

    def list(self, request: Request) -> Response:
        """A page of rows, or of how they stood then. A parameter nobody knows is refused: a typing error would show everything."""
        if self._asks_for_past(request):
            reject_unknown_parameters(request, {AS_OF, AGENT_PARAMETER, "cursor", "page_size"})
            records: Any = records_as_of(self.get_queryset(), request, self.actor)  # Any: the page is not of the noun
            then = self.paginate_queryset(records.select_related("text")) or ()
            return self.get_paginated_response([past_values(record) for record in then])
        self._refuse_unknown_parameters(request)
        page = self.paginate_queryset(self._narrow_columns(self.filter_queryset(self.get_queryset())))
        lines: Any = self.get_serializer(page, many=True)  # Any: a list's serializer, which has a child
        # To make a serializer's fields takes longer than to read a row: only whoever names some pays for it.
        asks = FIELDS in request.query_params
        named = refuse_unknown_fields(request, set(lines.child.fields) - WRITE_RESPONSE_FIELDS) if asks else None
        return self.get_paginated_response(
            lines.data if named is None else [select_fields(named, line) for line in lines.data]
        )

    def _narrow_columns(self, rows: Any) -> Any:
        kind: Any = (
            self.get_serializer_class()
        )  # Any: one that has fields of a model, where it shows as `RowSerializer` does
        if getattr(kind, "to_representation", None) is not RowSerializer.to_representation:
            return rows
        pages: Any = self.paginator  # Any: one of ours, which knows its order
        order = pages.get_ordering(self.request, rows, self) if pages else ()
        return only_needed_columns(rows, kind, (name.lstrip("-") for name in order))

    def retrieve(self, request: Request, pk: str) -> Response:
        """One row, or how it stood then."""
        row = self.get_object()
        return self.shown(request, row, self.get_serializer(row).data)

    def shown(self, request: Request, row: Row, payload: Any) -> Response:
        """What is said of one row, with its tag; nothing to whoever has it already, and how it stood to whoever asks for that."""
        if self._asks_for_past(request):
            reject_unknown_parameters(request, {AS_OF})
            governed: Any = row  # Any: what has a past is governed
            return Response(row_as_of(self.get_queryset(), governed, request, self.actor))
        payload = select_fields(refuse_unknown_fields(request, set(payload) - WRITE_RESPONSE_FIELDS), payload)
        headers = self.tagged(row, payload)
        is_had_already = bool(headers) and matches_if_none_match(request, headers["ETag"])
        return Response(None if is_had_already else payload, status=304 if is_had_already else 200, headers=headers)

    def tagged(self, row: Row, payload: Any) -> dict[str, str]:
        """The header that tags what is said of a row; rows without versions have none."""
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
        """A written row as it now stands, with what of the body was stripped, and where to find what waits for a person."""
        row = self.get_queryset().get(pk=row_id)
        context = {**self.get_serializer_context(), "ignored_fields": list(ignored), "notice": notice}
        shown = self.serializer_class(row, context=context).data  # type: ignore[misc]
        headers = self.tagged(row, shown)
        if waits is None:
            return Response(shown, status=status, headers=headers)
        where = {"Location": reverse("proposal-detail", args=[waits.pk]), **headers}
        return Response(shown, status=202 if status == 200 else status, headers=where)

    def shown_again(self, kept: IdempotencyRecord) -> Response:
        """The row as it stands now; what was forgotten of it meanwhile stays forgotten."""
        return self.answer(int(self.kwargs.get("pk") or kept.row_id or 0), status=kept.status)

    def waiting_about(self, row: Governed, notice: str) -> Proposal | None:
        """The proposal that keeps what the notice says is not saved yet, if it is one."""
        return Proposal.objects.visible_to(self.actor).open().about(row).first() if notice else None

    @property
    def is_governed(self) -> bool:
        """Only what is governed has a past."""
        rows = cast("Any", self).queryset  # Any: one of the noun's, which the stubs take for a manager's
        return rows is not None and issubclass(rows.model, Governed)

    def _asks_for_past(self, request: Request) -> bool:
        return AS_OF in request.query_params and self.is_governed

    def _refuse_unknown_parameters(self, request: Request) -> None:
        filters = getattr(getattr(self, "filterset_class", None), "base_filters", {})
        known = {*filters, "cursor", "page_size", FIELDS, *(["ordering"] if len(self.filter_backends) > 1 else [])}
        if unknown := sorted(set(request.query_params) - known):
            raise ValidationError(
                {name: [f"There is no such filter. There are: {', '.join(sorted(known))}."] for name in unknown}
            )
