"""Role templates and their guardian grants, kept equal to the policy table."""

from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType

from apps.governance.actors import Role
from apps.governance.policy import default_grants
from apps.tenants.models import RoleTemplate, RoleTemplateGroupObjectPermission


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
