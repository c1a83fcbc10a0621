"""How each act of the policy is tried. An act without an entry fails a test, so that every later one joins."""

from collections.abc import Mapping

from apps.governance.policy.policy_table import Act
from tests.random_acts.act_choice import ActRunner
from tests.random_acts.acts.comments import COMMENTS
from tests.random_acts.acts.contradictions import CONTRADICTIONS
from tests.random_acts.acts.desk import DESK
from tests.random_acts.acts.endpoints import ENDPOINTS
from tests.random_acts.acts.external_agents import EXTERNAL_AGENTS
from tests.random_acts.acts.learning_versions import VERSIONS
from tests.random_acts.acts.memory_tiers import TIERS
from tests.random_acts.acts.notes import NOTES
from tests.random_acts.acts.proposals import PROPOSALS
from tests.random_acts.acts.reports import REPORTS
from tests.random_acts.acts.schedules import SCHEDULES
from tests.random_acts.acts.tenants import TENANTS
from tests.random_acts.acts.texts import TEXT_ACTS
from tests.random_acts.acts.tools import TOOLS
from tests.random_acts.acts.webhooks import WEBHOOKS

ACT_RUNNERS: Mapping[Act, ActRunner] = {
    **TEXT_ACTS,
    **TENANTS,
    **PROPOSALS,
    **DESK,
    **EXTERNAL_AGENTS,
    **ENDPOINTS,
    **SCHEDULES,
    **COMMENTS,
    **REPORTS,
    **NOTES,
    **TOOLS,
    **WEBHOOKS,
    **VERSIONS,
    **CONTRADICTIONS,
    **TIERS,
}
# Acts that nobody who acts for a tenant can try, each with the reason.
UNTRIED_ACTS: Mapping[Act, str] = {
    Act.GRANT_SYNC: "grants follow the policy by a command of the database's owner",
    Act.TENANT_ENTER: "platform staff belong to no tenant; the tests of their visits play them",
    Act.TENANT_LEAVE: "platform staff belong to no tenant; the tests of their visits play them",
}
