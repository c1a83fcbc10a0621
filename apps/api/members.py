"""Members of the tenant, read by people; they are decided on in the console."""

from django.db.models import F, QuerySet
from rest_framework.serializers import BooleanField, CharField

from apps.api.filters import BooleanFilter, ChoiceFilter, FilterSet, SearchFilter
from apps.api.rows import STAMPS, Shown
from apps.api.views import Rows
from apps.tenants.models import Membership


class MemberRow(Shown[Membership]):
    """Who belongs to the tenant, as what."""

    username = CharField(read_only=True)
    is_awaited = BooleanField(read_only=True, help_text="True until they used the link they were given.")

    class Meta:
        model = Membership
        fields = ("id", "username", "role", "is_active", "is_awaited", *STAMPS)
        read_only_fields = fields


class MemberFilters(FilterSet):
    """By role and state."""

    role = ChoiceFilter(choices=[("operator", "Operator"), ("admin", "Admin")])
    is_active = BooleanFilter()
    search = SearchFilter("user__username", "user__email")


class MemberView(Rows[Membership]):
    """Members of the tenant, for people."""

    queryset = Membership.objects.none()
    serializer_class = MemberRow
    filterset_class = MemberFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Membership]:
        """With the person's name."""
        return Membership.objects.visible_to(self.actor).annotate(username=F("user__username"))
