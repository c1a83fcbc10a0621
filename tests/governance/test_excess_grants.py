"""A grant that a role could never use is found where it lies, whosever tenant's it is."""

import pytest
from django.contrib.auth.models import Group

from apps.governance.actors import Role
from apps.governance.policy.policy_table import default_grants
from apps.tenants.grants.excess_grants import grants_beyond_floor
from apps.tenants.policy_sync.drift import policy_drift
from tests.governance.database.test_row_security_on_committed_rows import grant_to
from tests.support.worlds.world import make_world

pytestmark = pytest.mark.kernel


@pytest.mark.slow
def test_a_tenants_grant_beyond_the_policy_is_named(committing: str) -> None:
    # R015, R016, R017
    first, second = make_world(), make_world()
    grant_to(Role.OPERATOR, first, ["skill_draft", "skill_approve"])
    assert grants_beyond_floor() == []
    grant_to(Role.OPERATOR, second, ["skill_draft", "grant_sync"])
    [line] = grants_beyond_floor()
    assert line.startswith(f"grants of tenant {second.tenant.pk}: operator holds grant_sync on TenantGroupObject")
    assert policy_drift() == [line]


def test_a_grant_of_a_group_that_is_no_role_is_named(committing: str) -> None:
    # R016
    world = make_world()
    grant_to(Role.OPERATOR, world, ["skill_draft"])
    Group.objects.using("owner").filter(name="operator").update(name="superheroes")
    assert "superheroes holds skill_draft" in grants_beyond_floor()[0]
    assert "skill_draft" in default_grants(Role.OPERATOR)
