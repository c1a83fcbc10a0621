"""Grants that differ from the role templates, for a whole tenant, for an agent, or for a member, and their guardian tables."""

from collections.abc import Iterable
from typing import ClassVar, Final

from django.core.exceptions import ValidationError
from django.db import models
from guardian.models import GroupObjectPermissionBase, UserObjectPermissionBase

from apps.governance.actors import Role
from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet
from apps.governance.policy.policy_table import POLICY, Act, default_grants

NO_GRANT_LEFT: Final = (
    "Grant at least one permission: a role without any would get its template's again. To stop a role altogether, deactivate"
    " its members or use a kill switch."
)


class RoleGrants(Governed):
    """The permissions of a role in the whole tenant, in place of its template. They can never exceed the policy."""

    role = models.CharField(max_length=20, choices=[(Role.OPERATOR.value, "Operators"), (Role.AGENT.value, "Agents")])
    permissions = models.JSONField(default=list, blank=True)

    noun = "role_grant"

    objects = GovernedQuerySet["RoleGrants"].as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["role"]
        verbose_name = "grants of a role"
        verbose_name_plural = "grants of roles"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "role"],
                name="role_has_one_row_of_grants_per_tenant",
                violation_error_message="This role has grants of its own in this tenant already. Change those.",
            ),
            models.CheckConstraint(
                condition=models.Q(role__in=[Role.OPERATOR.value, Role.AGENT.value]),
                name="grants_differ_for_operators_and_agents",
                violation_error_message="Only the grants of operators and agents can be changed. Admins have all permissions.",
            ),
            models.CheckConstraint(
                condition=~models.Q(permissions=[]), name="role_keeps_a_grant", violation_error_message=NO_GRANT_LEFT
            ),
        ]

    def __str__(self) -> str:
        return f"Grants of {self.get_role_display().lower()}"

    @property
    def withheld(self) -> list[str]:
        """The permissions of the role's template that the tenant withholds."""
        return sorted(default_grants(Role(self.role)) - set(self.permissions))

    def clean(self) -> None:
        """Refuse permissions that the role may never have."""
        if self.role in set(Role):
            _refuse_beyond_floor(self.permissions, Role(self.role))


class AgentGrants(Governed):
    """The permissions of a role on the rows of one agent, in place of its other permissions. They can never exceed the policy."""

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="role_grants")
    role = models.CharField(
        max_length=20, choices=[(Role.OPERATOR.value, "Operators"), (Role.AGENT.value, "The agent itself")]
    )
    permissions = models.JSONField(default=list, blank=True)

    noun = "grant"
    named_after = ("agent",)

    objects = GovernedQuerySet["AgentGrants"].as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["agent", "role"]
        verbose_name = "grants on an agent"
        verbose_name_plural = "grants on agents"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "agent", "role"],
                name="agent_has_one_row_of_grants_per_role",
                violation_error_message="This role has grants of its own on that agent already. Change those.",
            ),
            models.CheckConstraint(
                condition=models.Q(role__in=[Role.OPERATOR.value, Role.AGENT.value]),
                name="grants_differ_for_operators_and_agents_only",
                violation_error_message="Only operators and the agent itself have grants on an agent. Admins have all.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_role_display()}{self.of_agent.replace(' of ', ' on ', 1)}"

    def clean(self) -> None:
        """Refuse permissions that the role may never have."""
        if self.role in set(Role):
            _refuse_beyond_floor(self.permissions, Role(self.role))


def _refuse_beyond_floor(names: Iterable[str], role: Role) -> None:
    if unknown := sorted(set(names) - default_grants(role)):
        raise ValidationError(
            {
                "permissions": f"The role floor does not allow these permissions, or they do not exist: {', '.join(unknown)}."
            }
        )


class MemberLimit(Governed):
    """A limit that confines a member's act to some agents. If it names no agent, the member may not perform the act at all."""

    member = models.ForeignKey("tenants.Membership", on_delete=models.PROTECT, related_name="limits")
    limited_act = models.CharField("act", max_length=40)
    agent_ids = models.JSONField("only for these agents", default=list, blank=True)

    noun = "limit"

    objects = GovernedQuerySet["MemberLimit"].as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["member", "limited_act"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "member", "limited_act"],
                name="member_is_limited_once_per_act",
                violation_error_message="This member has a limit for this act already. Change that limit.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.limited_act} of member {self.member_id}"

    def clean(self) -> None:
        """Refuse an act that operators may not perform anyway."""
        if self.limited_act not in {act.value for act in Act if Role.OPERATOR in POLICY[act].allowed}:
            raise ValidationError(
                {"limited_act": f"{self.limited_act} is not an act of operators, so it cannot be limited."}
            )


class RoleTemplateGroupObjectPermission(GroupObjectPermissionBase):
    """Guardian's direct table: a grant on a role template."""

    content_object = models.ForeignKey("tenants.RoleTemplate", on_delete=models.CASCADE)


class TenantGroupObjectPermission(GroupObjectPermissionBase):
    """Guardian's direct table: a tenant's own grant. Every row needs a row of `RoleGrants`."""

    content_object = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE)


class AgentGroupObjectPermission(GroupObjectPermissionBase):
    """Guardian's direct table: a role's grant on one agent.

    It is deleted together with the row of `AgentGrants` that it mirrors.
    """

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    content_object = models.ForeignKey("tenants.Agent", on_delete=models.CASCADE)
    grants = models.ForeignKey(AgentGrants, on_delete=models.CASCADE, related_name="rows")

    def __str__(self) -> str:
        return f"{self.permission_id} on agent {self.content_object_id}"


class AgentUserObjectPermission(UserObjectPermissionBase):
    """Guardian's direct table: one agent in a member's limit. It is deleted together with the limit."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    content_object = models.ForeignKey("tenants.Agent", on_delete=models.CASCADE)
    limit = models.ForeignKey(MemberLimit, on_delete=models.CASCADE, related_name="rows")

    def __str__(self) -> str:
        return f"{self.permission_id} on agent {self.content_object_id}"
