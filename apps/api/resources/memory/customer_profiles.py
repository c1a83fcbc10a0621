"""REST resource for customer profiles, and the source of each profile line.

A tenant's agents share one profile per end user (R084-R087). Only people may read the sources of the lines (R087).
"""

from typing import ClassVar, Final

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import LINES_PENDING_TEXT
from apps.api.framework.versions import VersionedViewSet
from apps.api.protocol.filters import CharFilter, ChoiceFilter, FilterSet, SearchFilter
from apps.api.protocol.request_bodies import ParsedBody, RequestBody, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer
from apps.api.resources.memory.memory_lines import DUE_CHOICES, DUE_HELP, line_dates_action
from apps.governance.actors import Actor
from apps.governance.errors import NotPermitted
from apps.governance.policy.policy_table import Act
from apps.learning.contradictions.memory_warnings import add_profile_warnings, profile_texts
from apps.memory.actions import amend_profile, create_profile
from apps.memory.line_dates import due_line_filters, set_profile_line_dates
from apps.memory.models import CustomerProfile, ProfileLine
from apps.memory.profile_line_ledger import lines_of_profile

MAX_LINES: Final = 200


class ProfileLineSerializer(RowSerializer[ProfileLine]):
    """One line of a profile, from its first to its last version."""

    conversation_id = serializers.IntegerField(read_only=True, allow_null=True, source="source_conversation_id")
    superseded_by_id = serializers.IntegerField(read_only=True, allow_null=True)

    class Meta:
        model = ProfileLine
        fields = (
            *("id", "field", "text", "sha256", "author", "taint", "conversation_id", "first_version", "last_version"),
            *("status", "valid_until", "review_after", "superseded_by_id", "created_at", "ended_at"),
        )
        read_only_fields = fields


def latest_lines(profile: CustomerProfile, actor: Actor) -> list[ProfileLine]:
    """Return the latest lines of a profile, including those that ended."""
    if not actor.is_person:
        raise NotPermitted("Only people may read the sources of a profile's lines. An agent's token cannot.")
    return list(lines_of_profile(profile)[:MAX_LINES])


PROFILE_TEXTS = ("preferences", "notes")


class CustomerProfileSerializer(RowSerializer[CustomerProfile]):
    """One customer's profile, and its last author."""

    class Meta:
        model = CustomerProfile
        fields = (
            "id",
            "end_user_key",
            *PROFILE_TEXTS,
            "last_seen_at",
            "updated_by",
            *STAMP_FIELDS,
            "ignored_fields",
            "notice",
        )
        read_only_fields = fields


RESPONSE_FIELDS = frozenset(CustomerProfileSerializer.Meta.fields)


class CreateProfileBody(RequestBody):
    """A new profile of a customer."""

    shown = RESPONSE_FIELDS
    acts = (Act.PROFILE_AMEND,)

    end_user_key = StrictTextField()
    preferences = StrictTextField(required=False)
    notes = StrictTextField(required=False)


class UpdateProfileBody(RequestBody):
    """New preferences, new notes, or both."""

    shown = RESPONSE_FIELDS
    acts = (Act.PROFILE_AMEND,)
    whole = PROFILE_TEXTS

    preferences = StrictTextField(required=False)
    notes = StrictTextField(required=False)
    version = StrictIntegerField(required=False)


def _pending_notice(profile: CustomerProfile, sent: ParsedBody) -> str:
    """Return a notice about the fields that await review, if the tenant reviews all memory."""
    held = [name for name, text in sent.only(*PROFILE_TEXTS).items() if getattr(profile, name) != text]
    return f"What you sent for {' and '.join(held)} waits for a person to approve." if held else ""


class ProfileFilters(FilterSet):
    """Filter by the customer's key."""

    end_user_key = CharFilter(help_text="Channel and id, such as slack:U12345.")
    due = ChoiceFilter(choices=DUE_CHOICES, method="by_date", help_text=f"{DUE_HELP} For people.")
    search = SearchFilter("end_user_key", "preferences", "notes")

    def by_date(self, rows: QuerySet[CustomerProfile], name: str, value: str) -> QuerySet[CustomerProfile]:
        """Return the profiles that have a line whose date has come."""
        if not self.request.auth.is_person:
            raise NotPermitted("Only people may filter lines by date. An agent's token cannot.")
        lines = ProfileLine.objects.filter(tenant_id=OuterRef("tenant_id"), profile_id=OuterRef("pk"))
        return rows.filter(Exists(lines.filter(due_line_filters(timezone.now())[value])))


class ProfileView(VersionedViewSet[CustomerProfile]):
    """Profiles of the tenant's customers."""

    acts: ClassVar = {
        "create": (Act.PROFILE_AMEND,),
        "partial_update": (Act.PROFILE_AMEND,),
        "set-line-dates": (Act.PROFILE_SET_LINE_DATES,),
    }
    queryset = CustomerProfile.objects.none()
    in_bulk = ("create", "update", "set-line-dates")
    serializer_class = CustomerProfileSerializer
    filterset_class = ProfileFilters

    def get_queryset(self) -> QuerySet[CustomerProfile]:
        """Return the rows that the actor may see."""
        return CustomerProfile.objects.visible_to(self.actor)

    @extend_schema(request=CreateProfileBody, responses={201: CustomerProfileSerializer})
    def create(self, request: Request) -> Response:
        """Create a profile. Every agent of the tenant sees it from its next session."""
        sent = CreateProfileBody.read(request, self.actor)
        profile = create_profile(sent.values["end_user_key"], actor=self.actor, values=sent.only(*PROFILE_TEXTS))
        notice = _pending_notice(profile, sent)
        waits = self.waiting_about(profile) if notice else None
        return self.answer(profile.pk, sent.ignored, 201, add_profile_warnings(notice, profile, {}), waits)

    @extend_schema(
        request=UpdateProfileBody,
        responses={200: CustomerProfileSerializer, 202: OpenApiResponse(CustomerProfileSerializer, LINES_PENDING_TEXT)},
    )
    def partial_update(self, request: Request, pk: str) -> Response:
        """Write preferences or notes. The customer's last contact is set to now."""
        profile = self.get_object()
        sent = UpdateProfileBody.read(request, self.actor, profile)
        before = profile_texts(profile)
        amend_profile(profile, actor=self.actor, values=sent.only(*PROFILE_TEXTS), read_at=sent.read_at)
        notice = _pending_notice(profile, sent)
        waits = self.waiting_about(profile) if notice else None
        return self.answer(profile.pk, sent.ignored, notice=add_profile_warnings(notice, profile, before), waits=waits)

    @extend_schema(responses=ProfileLineSerializer(many=True), filters=False)
    @action(detail=True, methods=["get"], pagination_class=None)
    def lines(self, request: Request, pk: str) -> Response:
        """List the latest 200 lines with their sources and their state, newest first. People only."""
        return Response(ProfileLineSerializer(latest_lines(self.get_object(), self.actor), many=True).data)

    date_line = line_dates_action(set_profile_line_dates, CustomerProfileSerializer)

    @extend_schema(request=UpdateProfileBody, responses=CustomerProfileSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Replace the row: send both texts."""
        return self.partial_update(request, pk)
