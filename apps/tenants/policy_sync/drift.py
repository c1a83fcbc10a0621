"""All checks for deviations from the policy."""

from apps.governance.database_drift.role_grants import rights_drift
from apps.governance.database_drift.security_catalog import catalog_drift
from apps.governance.policy.surface_conformance import all_policy_violations
from apps.tenants.grants.excess_grants import grants_beyond_floor
from apps.tenants.grants.guardian_sync import template_drift
from apps.tenants.policy_sync.policy_page import page_drift


def policy_drift(using: str = "default") -> list[str]:
    """Return a sentence for each deviation from the policy; empty if there is none."""
    return [
        *_grant_drift(),
        *grants_beyond_floor(),
        *rights_drift(using),
        *catalog_drift(using),
        *all_policy_violations(),
        *page_drift(),
    ]


def _grant_drift() -> list[str]:
    return [
        f"grants of role {role.value}: lacks {sorted(missing)}, holds beyond the policy {sorted(surplus)}"
        for role, (missing, surplus) in template_drift().items()
    ]
