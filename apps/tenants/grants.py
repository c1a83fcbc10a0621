"""Guardian's rows: the role templates, kept equal to the policy, and what differs by agent, kept equal to its governed row."""

from collections.abc import Collection

from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.db.models import QuerySet

from apps.governance.actors import Role
from apps.governance.policy import Act, codename, default_grants
from apps.tenants.grant_models import (
    AgentGrants,
    AgentGroupObjectPermission,
    AgentUserObjectPermission,
    MemberLimit,
    RoleTemplateGroupObjectPermission,
    TenantGroupObjectPermission,
)
from apps.tenants.models import RoleTemplate


def template_drift(using: str = "default") -> dict[Role, tuple[frozenset[str], frozenset[str]]]:
    """Per role, the grants the templates lack and those they hold beyond the policy; empty when they agree."""
    drift = {}
    for role in Role:
        held = frozenset(
            RoleTemplateGroupObjectPermission.objects.using(using)
            .filter(content_object__role=role.value, group__name=role.value)
            .values_list("permission__codename", flat=True)
        )
        wanted = default_grants(role)
        if held != wanted:
            drift[role] = (wanted - held, held - wanted)
    return drift


def sync_templates(using: str) -> int:
    """Write the templates anew from the policy; returns how many grants changed. Runs as the database's owner."""
    kind = ContentType.objects.db_manager(using).get_for_model(RoleTemplate)
    changed = 0
    for role, (missing, surplus) in template_drift(using).items():
        group, _ = Group.objects.using(using).get_or_create(name=role.value)
        template, _ = RoleTemplate.objects.using(using).get_or_create(role=role.value)
        grants = RoleTemplateGroupObjectPermission.objects.using(using)
        grants.filter(group=group, content_object=template, permission__codename__in=surplus).delete()
        wanted = Permission.objects.using(using).filter(content_type=kind, codename__in=missing)
        grants.bulk_create(
            RoleTemplateGroupObjectPermission(group=group, content_object=template, permission=permission)
            for permission in wanted
        )
        changed += len(missing) + len(surplus)
    return changed


def usual_grants(role: Role, tenant_id: int) -> frozenset[str]:
    """What a role holds in a tenant wherever nothing is said of the agent."""
    own = TenantGroupObjectPermission.objects.filter(group__name=role.value, content_object_id=tenant_id)
    names = frozenset(own.values_list("permission__codename", flat=True)) or default_grants(role)
    return names & default_grants(role)


def keep_agent_grants(grants: AgentGrants) -> None:
    """Let guardian's rows be what the governed row says, in the same transaction."""
    AgentGroupObjectPermission.objects.filter(grants=grants).delete()
    group = Group.objects.get(name=grants.role)
    AgentGroupObjectPermission.objects.bulk_create(
        AgentGroupObjectPermission(
            tenant_id=grants.tenant_id,
            group=group,
            permission=permission,
            content_object_id=grants.agent_id,
            grants=grants,
        )
        for permission in _of_agents(grants.permissions)
    )


def keep_limit(limit: MemberLimit) -> None:
    """The same for the agents a member is limited to."""
    AgentUserObjectPermission.objects.filter(limit=limit).delete()
    AgentUserObjectPermission.objects.bulk_create(
        AgentUserObjectPermission(
            tenant_id=limit.tenant_id,
            user_id=limit.member.user_id,
            permission=permission,
            content_object_id=agent_id,
            limit=limit,
        )
        for permission in _of_agents([codename(Act(limit.limited_act))])
        for agent_id in limit.agent_ids
    )


def _of_agents(names: Collection[str]) -> QuerySet[Permission]:
    return Permission.objects.filter(content_type__app_label="tenants", content_type__model="agent", codename__in=names)
