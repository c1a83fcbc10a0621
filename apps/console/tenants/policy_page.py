"""The policy as a page: its table of acts and roles, and the permissions of the reader."""

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
    """One act: the verdict for each role, whether it is open to the reader, its risk and its reviewers."""

    act: str
    verdicts: tuple[tuple[str, str], ...]
    is_open: bool
    risk: str
    reviewers: int
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NounActs:
    """The acts on one kind of row."""

    title: str
    rows: tuple[ActRow, ...]


def policy_table_page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Show the policy. The page is made from the table that every act checks, so the two cannot differ."""
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
    """A role whose grants in this tenant differ from its template."""

    role: str
    withheld: tuple[str, ...]
    row: RoleGrants | None


def changed_roles(actor: Actor, tenant: Tenant) -> Iterator[ChangedRole]:
    """Yield the tenant's own grants by role, as guardian stores them. Grants written outside the console have no row."""
    held = grants_of_tenant(tenant)
    rows = {row.role: row for row in RoleGrants.objects.visible_to(actor)} if held else {}
    for role, names in held.items():
        withheld = sorted(default_grants(role) - names)
        yield ChangedRole(role.value, tuple(grant_label(name) for name in withheld), rows.get(role.value))


def nouns_with_acts(actor: Actor) -> Iterator[NounActs]:
    """Yield every act under its noun, sorted by name."""
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
