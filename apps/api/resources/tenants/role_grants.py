"""Role grants: the permissions of a role in the whole tenant, which replace its template."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import ListField

from apps.api.framework.versions import VersionedViewSet
from apps.api.protocol.filters import ChoiceFilter, FilterSet
from apps.api.protocol.request_bodies import ReasonedDecisionBody, RequestBody, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer
from apps.api.resources.tenants.grants import MAX_PERMISSIONS
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.tenants.actions import withdraw_role_grants, write_role_grants
from apps.tenants.models.grants import RoleGrants

PERMISSIONS_HELP = (
    "Names such as `skill_draft`, one or more. Everything else is withheld from the role in this tenant. The role floor"
    " still applies."
)


class RoleGrantsSerializer(RowSerializer[RoleGrants]):
    """The grants of a role in the tenant, and the grants of its template that the tenant withholds."""

    permissions = ListField(child=StrictTextField(), read_only=True)
    withheld = ListField(
        child=StrictTextField(),
        read_only=True,
        help_text="Permissions of the role's template that the tenant withholds.",
    )

    class Meta:
        model = RoleGrants
        fields = ("id", "role", "permissions", "withheld", *STAMP_FIELDS, "ignored_fields")
        read_only_fields = fields


class CreateRoleGrantsBody(RequestBody):
    """The role, its permissions, and the reason."""

    acts = (Act.ROLE_GRANT_WRITE,)
    shown = frozenset(RoleGrantsSerializer.Meta.fields)

    role = StrictTextField(help_text="`operator` or `agent`. Admins have all permissions.")
    permissions = ListField(child=StrictTextField(), max_length=MAX_PERMISSIONS, help_text=PERMISSIONS_HELP)
    reason = StrictTextField(help_text="The reason, which stays in the history.")


class UpdateRoleGrantsBody(RequestBody):
    """New permissions, which replace the former ones, and the reason."""

    acts = (Act.ROLE_GRANT_WRITE,)
    shown = frozenset(RoleGrantsSerializer.Meta.fields)
    whole = ("permissions",)

    permissions = ListField(
        child=StrictTextField(), max_length=MAX_PERMISSIONS, required=False, help_text=PERMISSIONS_HELP
    )
    version = StrictIntegerField(required=False, help_text="The version of the grants that was read.")
    reason = StrictTextField(required=False, help_text="The reason. A change without one is refused.")


class RoleGrantsFilters(FilterSet):
    """Filter by role."""

    role = ChoiceFilter(choices=[("operator", "Operators"), ("agent", "Agents")])


class RoleGrantsView(VersionedViewSet[RoleGrants]):
    """Grants of roles that differ from the role templates. Admins change them."""

    acts: ClassVar = {
        "create": (Act.ROLE_GRANT_WRITE,),
        "partial_update": (Act.ROLE_GRANT_WRITE,),
        "withdraw": (Act.ROLE_GRANT_WITHDRAW,),
    }
    queryset = RoleGrants.objects.none()
    serializer_class = RoleGrantsSerializer
    filterset_class = RoleGrantsFilters
    for_people = True

    def get_queryset(self) -> QuerySet[RoleGrants]:
        """Return the rows of the tenant."""
        return RoleGrants.objects.visible_to(self.actor)

    @extend_schema(request=CreateRoleGrantsBody, responses={201: RoleGrantsSerializer})
    def create(self, request: Request) -> Response:
        """Set the permissions of a role in the tenant, from the next request on. They replace the role's template."""
        authorize(self.actor, Act.ROLE_GRANT_WRITE, self.actor.tenant_id)
        sent = CreateRoleGrantsBody.read(request, self.actor)
        fresh = RoleGrants(tenant_id=self.actor.tenant_id, role=sent.values["role"])
        grants = write_role_grants(fresh, actor=self.actor, granted=sent.values["permissions"], reason=sent.reason)
        return self.answer(grants.pk, sent.ignored, 201)

    @extend_schema(request=UpdateRoleGrantsBody, responses=RoleGrantsSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change the grants. Permissions that are left out are withdrawn."""
        grants = self.get_object()
        authorize(self.actor, Act.ROLE_GRANT_WRITE, grants.tenant_id)
        sent = UpdateRoleGrantsBody.read(request, self.actor, grants)
        granted = sent.values.get("permissions", grants.permissions)
        write_role_grants(grants, actor=self.actor, granted=granted, reason=sent.reason, read_at=sent.read_at)
        return self.answer(grants.pk, sent.ignored)

    @extend_schema(request=UpdateRoleGrantsBody, responses=RoleGrantsSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Replace the row: send every field."""
        return self.partial_update(request, pk)

    @extend_schema(request=ReasonedDecisionBody, responses={204: None})
    @action(detail=True, methods=["post"])
    def withdraw(self, request: Request, pk: str) -> Response:
        """Return the role to its template. The row is deleted; its history stays in the audit log."""
        grants = self.get_object()
        authorize(self.actor, Act.ROLE_GRANT_WITHDRAW, grants.tenant_id)
        sent = ReasonedDecisionBody.read(request, self.actor, grants)
        withdraw_role_grants(grants, actor=self.actor, reason=sent.reason, read_at=sent.read_at)
        return Response(status=204)
