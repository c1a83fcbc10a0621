"""Many writes in one request as a way in: the request of each act as the one item of a bulk."""

import json
from collections.abc import Mapping

from apps.governance.actors import Role
from apps.governance.policy.policy_table import Act
from tests.governance.surfaces.rest import Request, RestSurface
from tests.support.worlds.lawful_acts import Scene

_METHOD_ACTIONS = {"PATCH": "update", "DELETE": "delete"}
OFFERED_ACTS = frozenset(
    {
        *(Act.NOTE_WRITE, Act.NOTE_AMEND, Act.NOTE_FINISH, Act.NOTE_DROP),
        *(Act.SKILL_DRAFT, Act.SKILL_AMEND, Act.SKILL_REVISE, Act.SKILL_PROPOSE),
        *(Act.SKILL_DEPRECATE, Act.SKILL_DISCARD, Act.SKILL_RETAIN),
        *(Act.MEMORY_AMEND, Act.MEMORY_SET_LINE_DATES, Act.BLOCK_WRITE, Act.BLOCK_AMEND, Act.BLOCK_SET_LINE_DATES),
        *(Act.PROFILE_AMEND, Act.PROFILE_SET_LINE_DATES),
        *(Act.RULE_ADD, Act.RULE_AMEND, Act.RULE_RETIRE, Act.RULE_RESTORE, Act.RULE_PROPOSE),
        *(Act.PROPOSAL_REJECT, Act.PROPOSAL_REQUEST_REVISION, Act.PROPOSAL_CLAIM, Act.PROPOSAL_SNOOZE),
        *(Act.PROPOSAL_QUARANTINE, Act.PROPOSAL_RELEASE, Act.PROPOSAL_REOPEN, Act.PROPOSAL_WITHDRAW),
        *(Act.CONTRADICTION_DISMISS, Act.CONTRADICTION_REOPEN, Act.CONTRADICTION_SCAN),
        *(Act.ESCALATION_OPEN, Act.ESCALATION_ANSWER, Act.ESCALATION_DISMISS, Act.DRAFT_DISCARD),
        *(Act.SCHEDULE_DRAFT, Act.SCHEDULE_AMEND, Act.SCHEDULE_PAUSE, Act.SCHEDULE_RESUME, Act.SCHEDULE_DEPRECATE),
    }
)


class BulkSurface(RestSurface):
    """`/api/v1/{noun}/bulk/`: by whom REST is open."""

    name = "REST bulk"

    not_offered: Mapping[Act, str] = {
        **dict.fromkeys(set(Act) - OFFERED_ACTS, "it is asked for by itself"),
        **RestSurface.not_offered,
    }

    def perform(self, scene: Scene, role: Role) -> str:
        """Send it as the one item."""
        noun, item = bulk_item(self.requested[scene.act](scene, scene.subject))
        body = json.dumps({"items": [item]})
        answer = self._client(scene, role).generic("POST", f"/api/v1/{noun}/bulk/", body, "application/json")
        assert answer.status_code == 207, answer.content
        [done] = answer.json()["results"]
        return str(done["problem"]["code"]) if done["problem"] else ""


def bulk_item(request: Request) -> tuple[str, dict[str, object]]:
    """The noun and the item of a bulk that stand for a request."""
    method, path, body = request
    noun, _, rest = path.strip("/").partition("/")
    row_id, _, verb = rest.partition("/")
    does = verb or _METHOD_ACTIONS.get(method, "create")
    return noun, {"action": does, **({"id": int(row_id)} if row_id else {}), "body": body or {}}
