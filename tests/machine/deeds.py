"""How each act of the policy is tried. An act without an entry fails a test, so that every later one joins."""

from collections.abc import Mapping

from apps.governance.policy.table import Act
from tests.machine.chosen import Deed
from tests.machine.on_comments import COMMENTS
from tests.machine.on_contradictions import CONTRADICTIONS
from tests.machine.on_desk import DESK
from tests.machine.on_elsewhere import ELSEWHERE
from tests.machine.on_endpoints import ENDPOINTS
from tests.machine.on_notes import NOTES
from tests.machine.on_proposals import PROPOSALS
from tests.machine.on_reports import REPORTS
from tests.machine.on_schedules import SCHEDULES
from tests.machine.on_tenants import TENANTS
from tests.machine.on_tiers import TIERS
from tests.machine.on_tools import TOOLS
from tests.machine.on_versions import VERSIONS
from tests.machine.on_webhooks import WEBHOOKS
from tests.machine.on_words import WORDS

DEEDS: Mapping[Act, Deed] = {
    **WORDS,
    **TENANTS,
    **PROPOSALS,
    **DESK,
    **ELSEWHERE,
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
NOT_TRIED: Mapping[Act, str] = {
    Act.GRANT_SYNC: "grants follow the policy by a command of the database's owner",
    Act.TENANT_ENTER: "platform staff belong to no tenant; the tests of their visits play them",
    Act.TENANT_LEAVE: "platform staff belong to no tenant; the tests of their visits play them",
}
