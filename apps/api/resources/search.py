"""Search over REST: the console's search, for people, with pages and highlighted excerpts."""

import base64
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, ClassVar, Final

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import ActorView
from apps.api.protocol.pagination import FOREIGN_CURSOR, RowPagination
from apps.api.protocol.query_parameters import reject_unknown_parameters
from apps.conversations.models import Message
from apps.governance.database.full_text_search import SearchHits, rows_with_words
from apps.governance.errors import NotPermitted
from apps.runtime.search import KINDS, MAX_CHARACTERS, MAX_RESULTS, MIN_CHARACTERS, readable_rows
from apps.tenants.tenant_clock import zone_of
from apps.text_analysis.search_excerpts import make_excerpt, query_words

PARAMETERS: Final = frozenset({"q", "kind", "from", "to", "cursor", "page_size"})

# The time, kind and id of a hit, by which lists are sorted, newest first.
HitPosition = tuple[datetime, str, int]


class ExcerptPartSerializer(serializers.Serializer[Any]):
    """A part of an excerpt, and whether it matches the search."""

    text = serializers.CharField()
    is_hit = serializers.BooleanField()


class SearchHitSerializer(serializers.Serializer[Any]):
    """A row that contains the words."""

    kind = serializers.ChoiceField(list(KINDS))
    id = serializers.IntegerField()
    agent_key = serializers.CharField(allow_null=True)
    conversation_id = serializers.IntegerField(allow_null=True, help_text="Of a message: its conversation.")
    profile_id = serializers.IntegerField(
        allow_null=True, help_text="Of a line about a customer: the customer's profile."
    )
    at = serializers.DateTimeField()
    excerpt = ExcerptPartSerializer(
        many=True, help_text="The text around the first word, as plain text without markup."
    )


class SearchPageSerializer(serializers.Serializer[Any]):
    """A page of hits, the newest first."""

    next = serializers.CharField(allow_null=True, help_text="The address of the next page.")
    is_truncated = serializers.BooleanField(help_text="True: there are too many matches, and older ones are missing.")
    results = SearchHitSerializer(many=True)


class SearchView(ActorView):
    """Searches messages, agents' knowledge and behavior, customer profiles and proposals."""

    acts: ClassVar = {}

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "q",
                OpenApiTypes.STR,
                required=True,
                description="Words to search for; words in quotes are matched as a phrase.",
            ),
            OpenApiParameter("kind", OpenApiTypes.STR, enum=list(KINDS), many=True, description="These alone."),
            OpenApiParameter("from", OpenApiTypes.DATE, description="First day, in the tenant's time zone."),
            OpenApiParameter("to", OpenApiTypes.DATE, description="Last day, included."),
            OpenApiParameter("cursor", OpenApiTypes.STR),
            OpenApiParameter("page_size", OpenApiTypes.INT),
        ],
        responses=SearchPageSerializer,
    )
    def get(self, request: Request) -> Response:
        """Search by words, as the console does, in everything you may see that is on the record. People only."""
        if not self.actor.is_person:
            raise NotPermitted("Only people may search. An agent's token cannot.")
        reject_unknown_parameters(request, PARAMETERS)
        asked, size = _read_query(request), RowPagination().get_page_size(request) or RowPagination.page_size
        found = rows_with_words(asked, MAX_RESULTS + 1, *_read_kinds(request))
        placed = _after_cursor(request, self._filter_by_days(request, found))
        page = placed[:size]
        hits = [
            _hit_payload(kind, row, asked)
            for kind, row in readable_rows(self.actor, [(kind, pk) for _, kind, pk in page])
        ]
        more = _next_url(request, page[-1]) if len(placed) > size else None
        is_common = any(of.is_common or len(of.rows) > MAX_RESULTS for of in found.values())
        return Response(SearchPageSerializer({"next": more, "is_truncated": is_common, "results": hits}).data)

    def _filter_by_days(self, request: Request, found: dict[str, SearchHits]) -> list[HitPosition]:
        first, last = _read_day(request, "from"), _read_day(request, "to")
        each = sorted(((at, kind, pk) for kind, of in found.items() for pk, at in of.rows), reverse=True)[:MAX_RESULTS]
        if first is None and last is None:
            return each
        zone = zone_of(self.actor)
        begins = None if first is None else datetime.combine(first, time.min, zone)
        ends = None if last is None else datetime.combine(last + timedelta(days=1), time.min, zone)
        return [hit for hit in each if (begins is None or hit[0] >= begins) and (ends is None or hit[0] < ends)]


def _read_query(request: Request) -> str:
    asked = request.query_params.get("q", "").strip()
    if not MIN_CHARACTERS <= len(asked) <= MAX_CHARACTERS or "\x00" in asked or not query_words(asked):
        raise ValidationError(
            {
                "q": [
                    f"Send {MIN_CHARACTERS} to {MAX_CHARACTERS} characters with at least one word that is not excluded."
                ]
            }
        )
    return asked


def _read_kinds(request: Request) -> Sequence[str]:
    named = [kind for value in request.query_params.getlist("kind") for kind in value.split(",")]
    if set(named) - set(KINDS):
        raise ValidationError({"kind": [f"Choose one of: {', '.join(KINDS)}."]})
    return list(dict.fromkeys(named)) or list(KINDS)


def _read_day(request: Request, name: str) -> date | None:
    value = request.query_params.get(name)
    if value is None:
        return None
    try:
        day = date.fromisoformat(value)
    except ValueError as refusal:
        raise ValidationError({name: ["Send a day, such as 2026-05-31."]}) from refusal
    if not 1970 <= day.year <= 9000:
        raise ValidationError({name: ["Send a day between 1970 and 9000."]})
    return day


def _after_cursor(request: Request, placed: list[HitPosition]) -> list[HitPosition]:
    cursor = request.query_params.get("cursor")
    if cursor is None:
        return placed
    try:
        at, kind, pk = base64.urlsafe_b64decode(cursor.encode()).decode().split(" ")
        last = (datetime.fromisoformat(at), kind, int(pk))
        return [hit for hit in placed if hit < last]
    except (ValueError, TypeError) as refusal:
        raise ValidationError({"cursor": [FOREIGN_CURSOR]}) from refusal


def _next_url(request: Request, last: HitPosition) -> str:
    at, kind, pk = last
    cursor = f"{at.astimezone(timezone.get_default_timezone()).isoformat()} {kind} {pk}"
    query = request.query_params.copy()
    query["cursor"] = base64.urlsafe_b64encode(cursor.encode()).decode()
    return request.build_absolute_uri(f"?{query.urlencode()}")


def _hit_payload(kind: str, row: Any, asked: str) -> dict[str, Any]:
    searched, thread = KINDS[kind], row.conversation if isinstance(row, Message) else None
    agent = thread.agent if thread else getattr(row, "agent", None)
    return {
        "kind": kind,
        "id": row.pk,
        "agent_key": agent.key if agent else None,
        "conversation_id": thread.pk if thread else None,
        "profile_id": getattr(row, "profile_id", None),
        "at": getattr(row, searched.at),
        "excerpt": make_excerpt(searched.text(row), asked),
    }
