"""Who may do what, as a page: the policy's own table, and what whoever reads it may."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from apps.console.framework.request_context import actor_of, settings_of
from apps.console.framework.row_titles import grant_label
from apps.governance.actors import Actor, Role
from apps.governance.governed_write import may
from apps.governance.policy.policy_table import POLICY, Act, default_grants
from apps.tenants.grants.guardian_sync import grants_of_tenant
from apps.tenants.models import Tenant
from apps.tenants.models.grants import RoleGrants
from apps.tenants.policy_sync.policy_page import verdict


@dataclass(frozen=True, slots=True)
class ActRow:
    """One act: what each role may, what this reader may, and what it takes."""

    act: str
    verdicts: tuple[tuple[str, str], ...]
    is_open: bool
    risk: str
    reviewers: int
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NounActs:
    """The acts on one kind of thing."""

    title: str
    rows: tuple[ActRow, ...]


def policy_table_page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """It is made of the table that every act asks, so it cannot say anything else."""
    shown = {
        "title": "Policy",
        "roles": [role.value for role in Role],
        "own": actor_of(request).role.value,
        "nouns": list(nouns_with_acts(actor_of(request))),
        "changed": list(changed_roles(actor_of(request), settings_of(request).tenant)),
        "may_change": may(actor_of(request), Act.ROLE_GRANT_WRITE),
    }
    return TemplateResponse(request, "console/tenants/policy.html", {**site.each_context(request), **shown})


@dataclass(frozen=True, slots=True)
class ChangedRole:
    """A role that holds other grants in this tenant than its template has."""

    role: str
    withheld: tuple[str, ...]
    row: RoleGrants | None


def changed_roles(actor: Actor, tenant: Tenant) -> Iterator[ChangedRole]:
    """The tenant's own grants as guardian has them, role by role. Grants that were written outside the console have no row."""
    held = grants_of_tenant(tenant)
    rows = {row.role: row for row in RoleGrants.objects.visible_to(actor)} if held else {}
    for role, names in held.items():
        withheld = sorted(default_grants(role) - names)
        yield ChangedRole(role.value, tuple(grant_label(name) for name in withheld), rows.get(role.value))


def nouns_with_acts(actor: Actor) -> Iterator[NounActs]:
    """Every act under its noun, in the order of their names."""
    for noun, acts in groupby(sorted(POLICY, key=lambda act: act.value), key=lambda act: act.value.partition(".")[0]):
        yield NounActs(noun.replace("_", " ").capitalize(), tuple(_act_row(act, actor) for act in acts))


def _act_row(act: Act, actor: Actor) -> ActRow:
    rule = POLICY[act]
    return ActRow(
        act=act.value.partition(".")[2].replace("_", " "),
        verdicts=tuple((role.value, verdict(rule, role)) for role in Role),
        is_open=may(actor, act),
        risk=rule.risk.value,
        reviewers=rule.reviewers or 0,
        fields=tuple(rule.fields),
    )
